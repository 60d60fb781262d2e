//! Rolls back leases that expire unsettled. Such a lease is stored by its acquire, and indexed by its expiry.
//!
//! Any number of instances may do this at once: each rollback is conditional on the lease as it was read, so each lease is
//! rolled back once.

use weir_table::{Backend, Get, KeyValue, Query, SortRange, Write};

use super::record::Record;
use super::settle_request::SettleRequest;
use super::{Grant, LeaseState};
use crate::error::Result;
use crate::keys::{self, LEASE_PARTITIONS};
use crate::limiter::{Limiter, Namespace};
use crate::table::GSI2;

/// Leases per page of the index.
const PAGE: u64 = 100;

impl<B: Backend> Namespace<B> {
    /// The write that stores an open lease, for the transaction that takes its tokens.
    pub(crate) fn open_lease_write(&self, grant: &Grant) -> Write {
        Record::from_grant(grant).write(self.limiter.table())
    }
}

impl<B: Backend> Limiter<B> {
    /// Rolls back up to `max` leases that expired unsettled and roll back on expiry. Returns how many, and whether there are
    /// more.
    ///
    /// # Errors
    /// The store fails.
    pub async fn roll_back_expired(&self, max: u64) -> Result<(u64, bool)> {
        let now_ms = self.now_ms();
        let (mut rolled_back, mut budget, mut more) = (0, max, false);
        // Instances that run at the same time start at different partitions.
        let first = fastrand::u8(0..LEASE_PARTITIONS);
        for step in 0..LEASE_PARTITIONS {
            let partition = (first + step) % LEASE_PARTITIONS;
            let mut cursor = None;
            loop {
                if budget == 0 {
                    return Ok((rolled_back, true));
                }
                let limit = u32::try_from(budget.min(PAGE)).unwrap_or(1);
                let mut query = self.expired_leases_query(partition, now_ms).limit(limit);
                query.cursor = cursor;
                let page = self.store().query(&query).await?;
                for item in &page.items {
                    budget = budget.saturating_sub(1);
                    if let Some(pk) = item.s("PK") {
                        match self.roll_back_one(pk, now_ms).await {
                            Ok(done) => rolled_back += u64::from(done),
                            Err(error) if error.is_unavailable() => return Err(error),
                            Err(error) => {
                                more = true;
                                tracing::warn!(lease = pk, %error, "an expired lease could not be rolled back");
                            }
                        }
                    }
                }
                cursor = page.cursor;
                if cursor.is_none() {
                    break;
                }
            }
        }
        Ok((rolled_back, more))
    }

    /// Rolls back one lease from the index, unless it was settled meanwhile. Returns whether it did.
    async fn roll_back_one(&self, pk: &str, now_ms: i64) -> Result<bool> {
        let Some((ns, id)) = keys::parse_lease(pk) else { return Ok(false) };
        let found = self.store().get(&Get::new(self.table(), keys::lease(&ns, id))).await?;
        let Some(record) = found.as_ref().and_then(Record::decode) else { return Ok(false) };
        if record.state != LeaseState::Open || now_ms < record.expires_ms {
            return Ok(false);
        }
        let outcome = self.settle_record(record, &SettleRequest::expire(), now_ms).await?;
        Ok(outcome.is_some_and(|outcome| outcome.changed))
    }

    /// Counts the stored open leases, which roll back on expiry.
    ///
    /// # Errors
    /// The store fails.
    pub async fn open_leases(&self) -> Result<u64> {
        let mut count = 0;
        for partition in 0..LEASE_PARTITIONS {
            let mut query = self.open_leases_query(partition).count_only();
            loop {
                let page = self.store().query(&query).await?;
                count += page.count;
                query.cursor = page.cursor;
                if query.cursor.is_none() {
                    break;
                }
            }
        }
        Ok(count)
    }

    fn open_leases_query(&self, partition: u8) -> Query {
        Query::partition(self.table(), keys::gsi2_expiring_leases(partition)).index(GSI2)
    }

    fn expired_leases_query(&self, partition: u8, now_ms: i64) -> Query {
        let after = keys::gsi2_expiring_lease(now_ms.saturating_add(1), "");
        self.open_leases_query(partition).sort(SortRange::Lt(KeyValue::from(after)))
    }
}
