//! Splitting the shards of a bucket that takes more writes than a partition serves.

use weir_table::{Backend, Transacted, Transaction, Write};

use super::seat::Slot;
use crate::bounds::{SHARDS_MAX, TRIES_MAX};
use crate::bucket::{self, Bucket};
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::item::BucketId;
use crate::limiter::Namespace;
use crate::retry::pause;
use crate::writes::{self, Cover};

impl<B: Backend> Namespace<B> {
    /// Doubles the shards of a bucket that is known to have `seen` of them, in one transaction over all. Returns how
    /// many there are then; somebody else may have doubled them before.
    ///
    /// # Errors
    /// Too many write the bucket at once, or the store fails.
    pub(crate) async fn double_shards(
        &self,
        entity: &EntityId,
        resource: &Resource,
        seen: u32,
    ) -> Result<u32> {
        let (ns, entity, resource) = (self.id.clone(), entity.clone(), resource.clone());
        let id = BucketId { ns, entity, resource };
        for tried in 0..TRIES_MAX {
            pause(tried).await;
            let now_ms = self.limiter.now_ms();
            let slots = self.slots(&id, seen, now_ms).await?;
            let count = u32::try_from(slots.len()).unwrap_or(SHARDS_MAX);
            let Some(first) = slots.first().and_then(Slot::bucket) else { return Ok(1) };
            if count > seen || count >= SHARDS_MAX {
                self.limiter.inner.known.saw(&id, None, first);
                return Ok(count);
            }
            let beyond = self.slots_from(&id, count, count * 2, now_ms).await?;
            let writes = self.doubling(&id, &slots, &beyond, first, now_ms);
            match self.limiter.store().transact(Transaction::new(writes)).await {
                Ok(Transacted::Applied) => {
                    self.limiter.inner.known.forget(&id.ns, &id.entity, Some(&id.resource));
                    tracing::info!(entity.id = %id.entity, resource = %id.resource, shards = count * 2, "a hot bucket was split");
                    return Ok(count * 2);
                }
                Ok(Transacted::Refused(_)) | Err(weir_table::Error::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended)
    }

    /// The writes that double the shards: all of them refilled to the same moment, then split.
    ///
    /// `beyond` is what is left in the places of the new shards from a bucket that was removed before.
    fn doubling(
        &self,
        id: &BucketId,
        slots: &[Slot],
        beyond: &[Slot],
        first: &Bucket,
        now_ms: i64,
    ) -> Vec<Write> {
        let count = u32::try_from(slots.len()).unwrap_or(SHARDS_MAX);
        let limits = first.limits();
        let full = |shard| Bucket {
            expires: first.expires,
            cascade: first.cascade,
            parent: first.parent.clone(),
            ..Bucket::full(&limits, shard, count, now_ms).with_wcu()
        };
        let now: Vec<Bucket> = (0..)
            .zip(slots)
            .map(|(shard, slot)| match slot {
                Slot::Live(bucket) => Bucket { shard_count: count, ..bucket.refilled(now_ms) },
                Slot::Expired(old) => revived(old, full(shard)),
                Slot::Absent | Slot::Bare => full(shard),
            })
            .collect();
        let table = self.limiter.table();
        let is_old = |new: &Bucket| (new.shard as usize) < slots.len();
        let write = |new: &Bucket| match slots.iter().chain(beyond).nth(new.shard as usize) {
            Some(Slot::Live(old)) if is_old(new) => {
                writes::change(table.clone(), id, old, new, Cover::Needed)
            }
            Some(Slot::Expired(old) | Slot::Live(old)) => {
                writes::revive(table.clone(), id, old, &revived(old, new.clone()))
            }
            Some(Slot::Bare) => writes::replace_bare(table.clone(), id, new),
            Some(Slot::Absent) | None => writes::create(table.clone(), id, new),
        };
        bucket::double(&now).iter().map(write).collect()
    }
}

/// A shard in the place of one that no longer counts: its counters go on.
fn revived(old: &Bucket, mut full: Bucket) -> Bucket {
    for meter in &mut full.meters {
        meter.consumed = old.meter(&meter.name).map_or(0, |old| old.consumed);
    }
    full.refilled_ms = full.refilled_ms.max(old.refilled_ms);
    full
}
