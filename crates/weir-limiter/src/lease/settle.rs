//! Settling: read the lease and its buckets, decide, write both in one transaction; again when others were faster.
//!
//! An answer of the store that was lost may have been a yes. Then the lease's item says so: the next reading finds the
//! call noted, or the lease ended by it, and answers as if nothing had happened.

use std::collections::BTreeSet;

use weir_table::{Backend, Get, Item, Write};

use super::call::{Call, Verb};
use super::plan::{Change, Images, Plan, answered, plan};
use super::record::Record;
use super::{Grant, LeaseState, OnExpiry, Settle, Settled};
use crate::acquire::Slot;
use crate::bounds::TRIES_MAX;
use crate::bucket::MILLI;
use crate::error::{Error, Result};
use crate::item::BucketId;
use crate::limiter::{Limiter, Namespace};
use crate::retry::pause;
use crate::{keys, writes};

/// A lease after a settle, and whether this call was the one that changed it.
pub(super) struct Outcome {
    pub(super) settled: Settled,
    pub(super) changed: bool,
}

impl<B: Backend> Namespace<B> {
    pub(super) async fn settle_grant(
        &self,
        grant: &Grant,
        settle: &Settle,
        key: Option<&str>,
    ) -> Result<Settled> {
        if grant.ns != self.id {
            return Err(Error::NotALease);
        }
        let call = Call::new(settle, key)?;
        let record = Record::of(grant);
        // Without the store, or in a dry run: there is nothing to settle.
        if grant.degraded || grant.takes.is_empty() {
            return Ok(Settled { degraded: grant.degraded, ..as_if(&record, &call) });
        }
        let now_ms = self.limiter.now_ms();
        let outcome = self.limiter.settle_record(record, &call, now_ms).await?;
        outcome.map(|outcome| outcome.settled).ok_or(Error::NotALease)
    }
}

impl<B: Backend> Limiter<B> {
    /// Settles a lease. Nothing, if `known` was read from the store and is no longer there.
    pub(super) async fn settle_record(
        &self,
        known: Record,
        call: &Call,
        now_ms: i64,
    ) -> Result<Option<Outcome>> {
        let mut shards: BTreeSet<(usize, u32)> =
            if call.is_commit() { BTreeSet::new() } else { known.shards().collect() };
        // The first commit of a lease that nobody has settled finds nothing, so it need not look.
        let mut look = !call.is_commit()
            || known.on_expiry == OnExpiry::Rollback
            || now_ms >= known.expires_ms;
        for tries in 0..TRIES_MAX {
            let (record, images) = if std::mem::replace(&mut look, true) {
                self.read_lease(&known, &shards, now_ms).await?
            } else {
                (Some(known.clone()), Images::new())
            };
            let Some(record) = record else { return Ok(None) };
            if let Some(settled) = answered(&record, call, now_ms)? {
                return Ok(Some(Outcome { settled, changed: false }));
            }
            let change = match plan(&record, call, &images, now_ms)? {
                Plan::Change(change) => change,
                Plan::Refuse(refused) => {
                    let settled = Settled { refused: Some(refused), ..record.settled() };
                    return Ok(Some(Outcome { settled, changed: false }));
                }
                Plan::Look(more) => {
                    shards.extend(more);
                    continue;
                }
            };
            let settled = change.record.settled();
            if self.write_change(change).await? {
                return Ok(Some(Outcome { settled, changed: true }));
            }
            pause(tries + 1).await;
        }
        Err(Error::Contended)
    }

    /// The lease as it is stored (or `known`, if it is not and never was) and shards of its buckets.
    async fn read_lease(
        &self,
        known: &Record,
        shards: &BTreeSet<(usize, u32)>,
        now_ms: i64,
    ) -> Result<(Option<Record>, Images)> {
        let get = |key| Get::new(self.table(), key);
        let bucket = |(place, shard): &(usize, u32)| {
            let entity = &known.holds.get(*place)?.entity;
            Some(get(keys::bucket(&known.ns, entity, &known.resource, *shard)))
        };
        let gets: Vec<Get> =
            std::iter::once(get(known.key())).chain(shards.iter().filter_map(bucket)).collect();
        let mut found = self.store().batch_get(&gets).await?.into_iter();
        let record = match found.next().flatten() {
            Some(item) => Some(Record::decode(&item).ok_or(Error::NotALease)?),
            None => (known.version == 0).then(|| known.clone()),
        };
        let live = |item: Option<Item>| match Slot::of(item.as_ref(), now_ms) {
            Slot::Live(bucket) => Some(bucket),
            Slot::Absent | Slot::Expired(_) | Slot::Bare => None,
        };
        Ok((record, shards.iter().copied().zip(found.map(live)).collect()))
    }

    /// Writes a change. Not done when others were faster, and perhaps done when the store did not answer.
    async fn write_change(&self, change: Change) -> Result<bool> {
        let Change { record, buckets, cover, gives } = change;
        let gave: Vec<BucketId> = if gives { ids(&record).collect() } else { Vec::new() };
        let mut all: Vec<Write> = Vec::with_capacity(buckets.len() + 1);
        for (place, old, new) in &buckets {
            if let Some(id) = ids(&record).nth(*place) {
                all.push(writes::change(self.table(), &id, old, new, cover));
            }
        }
        let lease = record.write(self.table());
        let done = if all.is_empty() {
            self.try_write(lease).await
        } else {
            all.push(lease);
            self.try_transact(all).await
        };
        for BucketId { ns, entity, resource } in &gave {
            self.inner.known.given_back(ns, entity, resource);
        }
        match done {
            Err(Error::Store(weir_table::Error::Unavailable(_))) => Ok(false),
            done => done,
        }
    }
}

/// Whose buckets a lease was taken from.
fn ids(record: &Record) -> impl Iterator<Item = BucketId> {
    record.holds.iter().map(|hold| BucketId {
        ns: record.ns.clone(),
        entity: hold.entity.clone(),
        resource: record.resource.clone(),
    })
}

/// What settling a lease that took nothing is answered.
fn as_if(record: &Record, call: &Call) -> Settled {
    let mut settled = record.settled();
    match call.verb {
        Verb::End(state) => {
            settled.state = state;
            if state != LeaseState::Committed {
                settled.net.values_mut().for_each(|tokens| *tokens = 0);
            }
        }
        Verb::Adjust | Verb::Consume | Verb::Release => {
            for (name, want) in &call.wants {
                let tokens = settled.net.entry(name.clone()).or_default();
                *tokens = tokens.saturating_add(want / MILLI).max(0);
            }
        }
    }
    settled
}
