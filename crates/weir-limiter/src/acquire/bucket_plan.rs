//! The slow path's plan for one bucket: the shards and limits as they were read, and the writes that take from them.
//!
//! A request has one plan, and a second one for the parent if the entity cascades. Planning is a pure function.

use weir_table::{Item, Name, Write};

use super::request::{Amounts, covers};
use crate::bounds::SHARDS_MAX;
use crate::bucket::{self, Bucket, MILLI, Meter, ShardTake};
use crate::config::Resolved;
use crate::error::Result;
use crate::ids::{EntityId, LimitName};
use crate::item::{self, BucketId};
use crate::writes::{self, Cover};

/// A shard as it was read.
#[derive(Debug, Clone)]
pub(crate) enum ShardState {
    /// The item does not exist.
    Missing,
    /// The item has expired and was not deleted yet.
    Expired(Bucket),
    /// The shard is in use.
    Live(Bucket),
    /// The item lacks what makes a bucket: another program refunded to a bucket that was gone.
    Incomplete,
}

impl ShardState {
    /// The state of a shard of bucket `id`.
    ///
    /// # Errors
    /// The item has an attribute that this version does not know.
    pub(crate) fn from_item(id: &BucketId, item: Option<&Item>, now_ms: i64) -> Result<ShardState> {
        let Some(item) = item else { return Ok(ShardState::Missing) };
        if item.i64(item::RF).is_none() {
            return Ok(ShardState::Incomplete);
        }
        let bucket = item::decode(item).known(id)?;
        Ok(if bucket.is_expired(now_ms) {
            ShardState::Expired(bucket)
        } else {
            ShardState::Live(bucket)
        })
    }

    /// The shard, if it is in use.
    pub(crate) fn live(&self) -> Option<&Bucket> {
        match self {
            ShardState::Live(bucket) => Some(bucket),
            ShardState::Missing | ShardState::Incomplete | ShardState::Expired(_) => None,
        }
    }

    pub(crate) fn bucket(&self) -> Option<&Bucket> {
        match self {
            ShardState::Missing | ShardState::Incomplete => None,
            ShardState::Expired(bucket) | ShardState::Live(bucket) => Some(bucket),
        }
    }
}

/// The settings that every plan follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanContext {
    /// Whether shards meter their writes.
    pub(crate) meters_writes: bool,
    /// Whether hot shards are split.
    pub(crate) splits: bool,
    /// Whether the table is shared with zae-limiter, which neither refills the write limit nor makes the shards it counts.
    pub(crate) shared: bool,
    pub(crate) now_ms: i64,
}

/// A bucket that a request takes from.
#[derive(Debug)]
pub(crate) struct BucketPlan {
    pub(crate) id: BucketId,
    /// Millitokens to take of each limit.
    pub(crate) amounts: Amounts,
    /// The version of the cached bucket before the shards were read.
    pub(crate) version: Option<u64>,
    /// How long the lease of the request can be settled, in milliseconds.
    pub(crate) lease_ttl_ms: i64,
    /// The limits that apply.
    pub(crate) resolved: Resolved,
    /// Whether `resolved` was just read from the store.
    pub(crate) is_fresh: bool,
    /// Whether the parent pays too.
    pub(crate) cascade: bool,
    /// The parent entity.
    pub(crate) parent: Option<EntityId>,
    /// All shards, in order.
    pub(crate) shards: Vec<ShardState>,
    /// The shard to try first.
    pub(crate) preferred_shard: u32,
}

/// The decision of the slow path for a bucket.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Take: the writes, the amounts of each shard, all shards combined afterwards, and one shard for the cache.
    Take { writes: Vec<Write>, takes: Vec<ShardTake>, after: Bucket, observed: Bucket },
    /// Refuse: the shards combined, refilled to now, have too little.
    Refuse(Bucket),
    /// Read the config from the store first: the bucket's limits differ from the cached config.
    ReloadConfig,
    /// Split the shards, of which there are this many, first.
    Split(u32),
}

impl BucketPlan {
    fn count(&self) -> u32 {
        u32::try_from(self.shards.len()).unwrap_or(SHARDS_MAX)
    }

    /// Whether a live shard has other limits than those resolved.
    pub(crate) fn limits_differ(&self) -> bool {
        let differs = |state: &ShardState| matches!(state, ShardState::Live(bucket) if !bucket.has_limits(&self.resolved.limits));
        self.shards.iter().any(differs)
    }

    /// All shards refilled to now, with the resolved limits.
    pub(crate) fn current_shards(&self, context: PlanContext) -> Vec<Bucket> {
        let shards = (0..).zip(&self.shards);
        shards.map(|(shard, state)| self.current_shard(state, shard, context)).collect()
    }

    /// Decides what to do with the bucket.
    pub(crate) fn decide(&self, context: PlanContext, table: &Name) -> Decision {
        if !self.is_fresh && self.limits_differ() {
            return Decision::ReloadConfig;
        }
        let now = self.current_shards(context);
        let Some(whole) = bucket::combine(&now) else { return Decision::ReloadConfig };
        let can_pay = |shard: &&Bucket| covers(shard, &self.amounts);
        let preferred = now.iter().find(|shard| shard.shard == self.preferred_shard);
        let takes = match preferred.filter(can_pay).or_else(|| now.iter().find(can_pay)) {
            Some(shard) => {
                let amounts = self.amounts.clone();
                Some(vec![ShardTake { shard: shard.shard, amounts }])
            }
            None => bucket::gather(&now, &self.amounts),
        };
        let Some(takes) = takes else { return Decision::Refuse(whole) };
        let is_hot = |take: &ShardTake| now.get(take.shard as usize).is_some_and(is_out_of_writes);
        if context.splits && self.count() < SHARDS_MAX && takes.iter().any(is_hot) {
            return Decision::Split(self.count());
        }
        self.take(context, table, now, takes)
    }

    fn take(
        &self,
        context: PlanContext,
        table: &Name,
        now: Vec<Bucket>,
        takes: Vec<ShardTake>,
    ) -> Decision {
        let mut after = now;
        let mut writes = Vec::with_capacity(takes.len());
        let mut observed = None;
        for take in &takes {
            let index = take.shard as usize;
            let (Some(shard), Some(state)) = (after.get_mut(index), self.shards.get(index)) else {
                continue;
            };
            let (taken, metered) =
                (&take.amounts, context.meters_writes && !is_out_of_writes(shard));
            // Without a refill the write disturbs nobody else's.
            let mut written = match state {
                ShardState::Live(old) if may_refill_later(old, shard, taken, context) => Bucket {
                    refilled_ms: old.refilled_ms,
                    meters: old.meters.clone(),
                    ..shard.clone()
                },
                _ => shard.clone(),
            };
            for changed in [&mut *shard, &mut written] {
                taken.iter().for_each(|(name, amount)| changed.take(name, *amount));
                if metered {
                    changed.take(&LimitName::wcu(), MILLI);
                }
            }
            let shard = &written;
            writes.push(match state {
                ShardState::Missing => writes::create(table.clone(), &self.id, shard),
                ShardState::Incomplete => {
                    writes::replace_incomplete(table.clone(), &self.id, shard)
                }
                ShardState::Expired(old) | ShardState::Live(old) => {
                    writes::change(table.clone(), &self.id, old, shard, Cover::Required)
                }
            });
            observed = Some(shard.clone());
        }
        match (bucket::combine(&after), observed) {
            (Some(after), Some(observed)) => Decision::Take { writes, takes, after, observed },
            _ => Decision::ReloadConfig,
        }
    }

    /// A shard refilled to now, with the resolved limits.
    fn current_shard(&self, state: &ShardState, shard: u32, context: PlanContext) -> Bucket {
        let (count, now_ms, limits) = (self.count(), context.now_ms, &self.resolved.limits);
        let mut bucket = match state {
            ShardState::Missing | ShardState::Incomplete if context.shared && shard > 0 => {
                // zae-limiter counts shards up without making them: what was never made holds nothing.
                Bucket::full(limits, shard, count, now_ms).emptied()
            }
            ShardState::Missing | ShardState::Incomplete => {
                Bucket::full(limits, shard, count, now_ms)
            }
            ShardState::Expired(old) => Bucket::full(limits, shard, count, now_ms).replacing(old),
            ShardState::Live(old) => {
                // The first shard's count is the newest; this one's may be older.
                let now = Bucket { shard_count: count, ..old.clone() }.refilled(now_ms);
                if now.has_limits(limits) { now } else { now.with_limits(limits) }
            }
        };
        if context.meters_writes {
            bucket = bucket.with_wcu();
            if context.shared && is_low_on_writes(&bucket) {
                bucket.fill_wcu();
            }
        }
        let stays = !self.resolved.expires() || (shard == 0 && count > 1);
        bucket.keep_alive(stays, self.lease_ttl_ms, now_ms);
        bucket.origin = self.resolved.origin();
        bucket.cascade = self.cascade;
        bucket.parent = self.parent.clone();
        bucket
    }
}

/// Whether a take of `amounts` from the shard `old`, which is `now` after a refill, may leave the refill until later.
fn may_refill_later(
    old: &Bucket,
    now: &Bucket,
    amounts: &[(LimitName, i64)],
    context: PlanContext,
) -> bool {
    let covers = |(name, amount): &(LimitName, i64)| {
        old.meter(name).is_some_and(|meter| meter.level.tokens >= *amount)
    };
    let same_limits = old.meters.len() == now.meters.len()
        && old
            .meters
            .iter()
            .zip(&now.meters)
            .all(|(old, now)| (&old.name, old.rate) == (&now.name, now.rate));
    let lacks_writes = if context.shared { is_low_on_writes } else { is_out_of_writes };
    let has_writes = !context.meters_writes || !lacks_writes(old);
    same_limits
        && has_writes
        && !old.has_jumped(context.now_ms)
        && amounts.iter().all(covers)
        && old.may_refill_later(amounts.iter().map(|(name, _)| name), context.now_ms)
}

/// Whether a refilled shard has no write left: it is hot.
pub(crate) fn is_out_of_writes(shard: &Bucket) -> bool {
    shard.meter(&LimitName::wcu()).is_some_and(|meter| meter.level.tokens < MILLI)
}

/// Whether a shard has used up half of its writes. In a shared table they are refilled then, before zae-limiter finds none.
pub(crate) fn is_low_on_writes(shard: &Bucket) -> bool {
    let is_low = |meter: &Meter| meter.level.tokens < meter.rate.capacity / 2;
    shard.meter(&LimitName::wcu()).is_some_and(is_low)
}
