//! Leases that are rolled back when nobody settles them: written at the acquire already, found by when they expire.
//!
//! Any number of instances may roll back at once. Each rolling back is a settle of its own, on condition of the lease as it was read, so
//! each lease is rolled back once.

use weir_table::{Backend, Get, KeyValue, Query, SortRange, Write};

use super::call::Call;
use super::record::Record;
use super::{Grant, LeaseState};
use crate::error::Result;
use crate::keys::{self, LEASE_PARTITIONS};
use crate::limiter::{Limiter, Namespace};
use crate::table::GSI2;

/// Leases looked at for one page of the index.
const PAGE: u64 = 100;

impl<B: Backend> Namespace<B> {
    /// Writes the open lease of a grant that is rolled back when nobody settles it; stands in the transaction that
    /// takes its tokens.
    pub(crate) fn held_write(&self, grant: &Grant) -> Write {
        Record::of(grant).write(self.limiter.table())
    }
}

impl<B: Backend> Limiter<B> {
    pub(super) async fn roll_back(&self, max: u64, now_ms: i64) -> Result<(u64, bool)> {
        let (mut rolled_back, mut left, mut more) = (0, max, false);
        // Instances that do this at the same time begin at different places.
        let first = fastrand::u8(0..LEASE_PARTITIONS);
        for step in 0..LEASE_PARTITIONS {
            let partition = (first + step) % LEASE_PARTITIONS;
            let mut cursor = None;
            loop {
                if left == 0 {
                    return Ok((rolled_back, true));
                }
                let limit = u32::try_from(left.min(PAGE)).unwrap_or(1);
                let mut query = self.expired(partition, now_ms).limit(limit);
                query.cursor = cursor;
                let page = self.store().query(&query).await?;
                for item in &page.items {
                    left = left.saturating_sub(1);
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

    /// Rolls back one lease that the index named, unless somebody settled it meanwhile. Tells whether it did.
    async fn roll_back_one(&self, pk: &str, now_ms: i64) -> Result<bool> {
        let Some((ns, id)) = keys::parse_lease(pk) else { return Ok(false) };
        let found = self.store().get(&Get::new(self.table(), keys::lease(&ns, id))).await?;
        let Some(record) = found.as_ref().and_then(Record::decode) else { return Ok(false) };
        if record.state != LeaseState::Open || now_ms < record.expires_ms {
            return Ok(false);
        }
        let outcome = self.settle_record(record, &Call::expire(), now_ms).await?;
        Ok(outcome.is_some_and(|outcome| outcome.changed))
    }

    pub(super) async fn count_held(&self) -> Result<u64> {
        let mut count = 0;
        for partition in 0..LEASE_PARTITIONS {
            let mut query = self.held(partition).count_only();
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

    fn held(&self, partition: u8) -> Query {
        Query::partition(self.table(), keys::gsi2_held_leases(partition)).index(GSI2)
    }

    fn expired(&self, partition: u8, now_ms: i64) -> Query {
        let after = keys::gsi2_held_lease(now_ms.saturating_add(1), "");
        self.held(partition).sort(SortRange::Lt(KeyValue::from(after)))
    }
}
