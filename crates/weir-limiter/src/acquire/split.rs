//! Splits the shards of a bucket that takes more writes than one partition serves.

use weir_table::{Backend, Transacted, Transaction, Write};

use super::bucket_plan::ShardState;
use crate::bounds::{SHARDS_MAX, TRIES_MAX};
use crate::bucket::{self, Bucket};
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::item::BucketId;
use crate::limiter::Namespace;
use crate::retry::pause;
use crate::writes::{self, Cover};

impl<B: Backend> Namespace<B> {
    /// Doubles the shards of a bucket that was observed with `observed` of them, in one transaction. Returns the new
    /// count, also when somebody else doubled them before.
    ///
    /// # Errors
    /// Too many others write the bucket, or the store fails.
    pub(crate) async fn double_shards(
        &self,
        entity: &EntityId,
        resource: &Resource,
        observed: u32,
    ) -> Result<u32> {
        let id = self.bucket_id(entity, resource);
        let cache = &self.limiter.inner.bucket_cache;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let now_ms = self.limiter.now_ms();
            let shards = self.read_shard_states(&id, observed, now_ms).await?;
            let count = u32::try_from(shards.len()).unwrap_or(SHARDS_MAX);
            let Some(first) = shards.first().and_then(ShardState::bucket) else { return Ok(1) };
            if count > observed || count >= SHARDS_MAX {
                cache.observe(&id, first.clone());
                return Ok(count);
            }
            let leftover = self.read_shard_range(&id, count, count * 2, now_ms).await?;
            let doubled = doubled(&shards, first, now_ms);
            let writes = self.split_writes(&id, &shards, &leftover, &doubled);
            match self.limiter.store().transact(Transaction::new(writes)).await {
                Ok(Transacted::Applied) => {
                    doubled.into_iter().for_each(|shard| cache.observe(&id, shard));
                    tracing::info!(entity.id = %id.entity, resource = %id.resource, shards = count * 2, "a hot bucket was split");
                    return Ok(count * 2);
                }
                Ok(Transacted::Refused(_)) | Err(weir_table::Error::Conflict) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended)
    }

    /// The writes that double the shards.
    ///
    /// `leftover` are items at the keys of the new shards, from a bucket that was removed before.
    fn split_writes(
        &self,
        id: &BucketId,
        shards: &[ShardState],
        leftover: &[ShardState],
        doubled: &[Bucket],
    ) -> Vec<Write> {
        let table = self.limiter.table();
        let is_old = |new: &Bucket| (new.shard as usize) < shards.len();
        let write = |new: &Bucket| match shards.iter().chain(leftover).nth(new.shard as usize) {
            Some(ShardState::Live(old)) if is_old(new) => {
                writes::change(table.clone(), id, old, new, Cover::Required)
            }
            Some(ShardState::Expired(old) | ShardState::Live(old)) => {
                let new = new.clone().replacing(old);
                writes::change(table.clone(), id, old, &new, Cover::NotRequired)
            }
            Some(ShardState::Incomplete) => writes::replace_incomplete(table.clone(), id, new),
            Some(ShardState::Missing) | None => writes::create(table.clone(), id, new),
        };
        doubled.iter().map(write).collect()
    }
}

/// Twice as many shards, after all were refilled to the same moment.
fn doubled(shards: &[ShardState], first: &Bucket, now_ms: i64) -> Vec<Bucket> {
    let count = u32::try_from(shards.len()).unwrap_or(SHARDS_MAX);
    let limits = first.limits();
    let full = |shard| Bucket {
        origin: first.origin,
        expires: first.expires,
        cascade: first.cascade,
        parent: first.parent.clone(),
        ..Bucket::full(&limits, shard, count, now_ms).with_wcu()
    };
    let now: Vec<Bucket> = (0..)
        .zip(shards)
        .map(|(shard, state)| match state {
            ShardState::Live(bucket) => Bucket { shard_count: count, ..bucket.refilled(now_ms) },
            ShardState::Expired(old) => full(shard).replacing(old),
            ShardState::Missing | ShardState::Incomplete => full(shard),
        })
        .collect();
    bucket::double(&now)
}
