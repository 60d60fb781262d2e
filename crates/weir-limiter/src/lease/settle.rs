//! Settles a lease: reads the lease and its buckets, decides, and writes both in one transaction; retries if others were
//! faster.
//!
//! A lost response of the store may have been a success. Then the next read finds the operation recorded, or the lease ended
//! by it, and returns the same result.

use std::collections::BTreeSet;

use weir_table::{Backend, Get, Write};

use super::plan::{Change, Plan, ShardImages, plan, replay};
use super::record::Record;
use super::settle_request::{SettleKind, SettleRequest};
use super::{Grant, LeaseState, OnExpiry, Settle, Settled};
use crate::acquire::ShardState;
use crate::bounds::TRIES_MAX;
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::item::BucketId;
use crate::limiter::{Limiter, Namespace};
use crate::retry::pause;
use crate::{keys, writes};

/// The result of a request, and whether it was this call that changed the lease.
pub(super) struct Outcome {
    pub(super) settled: Settled,
    pub(super) changed: bool,
}

impl<B: Backend> Namespace<B> {
    /// Settles a lease. With an idempotency `key`, a repeated call changes nothing and returns the same result; without one,
    /// ending a lease the same way again changes nothing, and every adjustment takes effect.
    ///
    /// # Errors
    /// The lease has expired or was ended differently, the key was used for another call, an amount is invalid or exceeds what
    /// the lease holds, or the store fails.
    pub async fn settle(
        &self,
        grant: &Grant,
        settle: &Settle,
        key: Option<&str>,
    ) -> Result<Settled> {
        if grant.ns != self.id {
            return Err(Error::NotALease);
        }
        let request = SettleRequest::new(settle, key)?;
        let record = Record::from_grant(grant);
        // Granted without the store, or by a dry run: there is nothing to settle.
        if grant.degraded || grant.takes.is_empty() {
            return Ok(Settled { degraded: grant.degraded, ..without_buckets(&record, &request) });
        }
        let now_ms = self.limiter.now_ms();
        let outcome = self.limiter.settle_record(record, &request, now_ms).await?;
        outcome.map(|outcome| outcome.settled).ok_or(Error::NotALease)
    }
}

impl<B: Backend> Limiter<B> {
    /// Settles a lease. None, if `known` was read from the store and no longer exists.
    pub(super) async fn settle_record(
        &self,
        known: Record,
        request: &SettleRequest,
        now_ms: i64,
    ) -> Result<Option<Outcome>> {
        let mut shards: BTreeSet<(usize, u32)> =
            if request.keeps_tokens() { BTreeSet::new() } else { known.shards().collect() };
        // A first commit finds nothing stored, so it need not read.
        let mut read_first = !request.keeps_tokens()
            || known.on_expiry == OnExpiry::Rollback
            || now_ms >= known.expires_ms;
        for attempt in 0..TRIES_MAX {
            let (record, images) = if std::mem::replace(&mut read_first, true) {
                self.read_lease(&known, &shards, now_ms).await?
            } else {
                (Some(known.clone()), ShardImages::new())
            };
            let Some(record) = record else { return Ok(None) };
            // If the machine slept since, the lease is over, and with it the record of what the last attempt did.
            let latest_ms = if attempt == 0 { now_ms } else { self.now_ms().max(now_ms) };
            if let Some(settled) = replay(&record, request, latest_ms)? {
                return Ok(Some(Outcome { settled, changed: false }));
            }
            let change = match plan(&record, request, &images, now_ms)? {
                Plan::Change(change) => change,
                Plan::Refuse(refused) => {
                    let settled = Settled { refused: Some(refused), ..record.settled() };
                    return Ok(Some(Outcome { settled, changed: false }));
                }
                Plan::ReadShards(more) => {
                    shards.extend(more);
                    continue;
                }
            };
            let settled = change.record.settled();
            if self.write_change(change).await? {
                return Ok(Some(Outcome { settled, changed: true }));
            }
            pause(attempt + 1).await;
        }
        Err(Error::Contended)
    }

    /// Reads the lease (`known`, if it was never stored) and shards of its buckets.
    async fn read_lease(
        &self,
        known: &Record,
        shards: &BTreeSet<(usize, u32)>,
        now_ms: i64,
    ) -> Result<(Option<Record>, ShardImages)> {
        let get = |key| Get::new(self.table(), key);
        let bucket = |(payer, shard): &(usize, u32)| {
            let entity = &known.holdings.get(*payer)?.entity;
            Some(get(keys::bucket(&known.ns, entity, &known.resource, *shard)))
        };
        let gets: Vec<Get> =
            std::iter::once(get(known.key())).chain(shards.iter().filter_map(bucket)).collect();
        let mut found = self.store().batch_get(&gets).await?.into_iter();
        let record = match found.next().flatten() {
            Some(item) => Some(Record::decode(&item).ok_or(Error::NotALease)?),
            None => (known.version == 0).then(|| known.clone()),
        };
        let mut images = ShardImages::new();
        for ((payer, shard), item) in shards.iter().copied().zip(found) {
            let Some(id) = bucket_ids(known).nth(payer) else { continue };
            let image = match ShardState::from_item(&id, item.as_ref(), now_ms)?.bucket() {
                Some(bucket) => Some(self.whole_shard(&id, bucket.clone()).await?),
                None => None,
            };
            images.insert((payer, shard), image);
        }
        Ok((record, images))
    }

    /// Writes a change. Returns false if others were faster, or if the store did not respond and it may have happened.
    async fn write_change(&self, change: Change) -> Result<bool> {
        let Change { record, buckets, cover } = change;
        let mut all: Vec<Write> = Vec::with_capacity(buckets.len() + 1);
        for (payer, old, new) in &buckets {
            if let Some(id) = bucket_ids(&record).nth(*payer) {
                all.push(writes::change(self.table(), &id, old, new, cover));
            }
        }
        let ids: Vec<BucketId> = bucket_ids(&record).collect();
        let lease = record.write(self.table()).essential();
        let written = if all.is_empty() {
            self.try_write(lease).await
        } else {
            all.push(lease);
            self.try_transact(all).await
        };
        for (payer, _, new) in buckets {
            match (ids.get(payer), &written) {
                (Some(id), Ok(true)) => self.inner.bucket_cache.observe(id, new),
                (Some(id), _) => self.inner.bucket_cache.changed(id),
                (None, _) => {}
            }
        }
        match written {
            Err(Error::Store(weir_table::Error::Unavailable(_))) => Ok(false),
            written => written,
        }
    }
}

/// The buckets that paid for a lease.
fn bucket_ids(record: &Record) -> impl Iterator<Item = BucketId> {
    record.holdings.iter().map(|holding| BucketId {
        ns: record.ns.clone(),
        entity: holding.entity.clone(),
        resource: record.resource.clone(),
    })
}

/// The result of settling a lease that took nothing.
fn without_buckets(record: &Record, request: &SettleRequest) -> Settled {
    let mut settled = record.settled();
    match request.kind {
        SettleKind::End(state) => {
            settled.state = state;
            if state != LeaseState::Committed {
                settled.net.values_mut().for_each(|tokens| *tokens = 0);
            }
            let actual = request.actual.iter();
            settled.net.extend(actual.map(|(name, total)| (name.clone(), total / MILLI)));
        }
        SettleKind::Adjust | SettleKind::Consume | SettleKind::Release => {
            for (name, delta) in &request.deltas {
                let tokens = settled.net.entry(name.clone()).or_default();
                *tokens = tokens.saturating_add(delta / MILLI).max(0);
            }
        }
    }
    settled
}
