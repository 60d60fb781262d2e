//! One bucket of a request as the slow path reads it, and what to write to it.
//!
//! A request has one seat, and one more for the parent if it cascades. A plan is a plain function of what was read.

use std::collections::BTreeMap;

use weir_table::{Item, Name, Write};

use super::ask::{Amounts, is_covered};
use crate::bounds::SHARDS_MAX;
use crate::bucket::{self, Bucket, MILLI, ShardTake};
use crate::config::Resolved;
use crate::ids::{EntityId, LimitName};
use crate::item::{self, BucketId};
use crate::writes::{self, Cover};

/// A shard as it was found.
#[derive(Debug, Clone)]
pub(crate) enum Slot {
    /// There is none.
    Absent,
    /// It can be forgotten, but is still there.
    Expired(Bucket),
    /// It is in use.
    Live(Bucket),
    /// An item without what makes a bucket; a give-back of another program to a bucket that was gone leaves it.
    Bare,
}

impl Slot {
    pub(crate) fn of(item: Option<&Item>, now_ms: i64) -> Slot {
        let Some(item) = item else { return Slot::Absent };
        if item.i64(item::RF).is_none() {
            return Slot::Bare;
        }
        let bucket = item::decode(item);
        if bucket.is_expired(now_ms) { Slot::Expired(bucket) } else { Slot::Live(bucket) }
    }

    pub(crate) fn bucket(&self) -> Option<&Bucket> {
        match self {
            Slot::Absent | Slot::Bare => None,
            Slot::Expired(bucket) | Slot::Live(bucket) => Some(bucket),
        }
    }
}

/// What holds for everybody at the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct House {
    /// Whether writes of a shard are counted.
    pub(crate) counts_writes: bool,
    /// Whether a hot shard is split.
    pub(crate) splits: bool,
    /// Whether the table is shared with zae-limiter, which refills the limit of writes badly.
    pub(crate) shared: bool,
    pub(crate) now_ms: i64,
}

/// A bucket that is asked to pay.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) id: BucketId,
    /// What it is asked for.
    pub(crate) amounts: Amounts,
    pub(crate) resolved: Resolved,
    /// Whether `resolved` was read from the store just now.
    pub(crate) is_fresh: bool,
    /// The family of the entity.
    pub(crate) cascade: bool,
    pub(crate) parent: Option<EntityId>,
    /// All its shards, in order.
    pub(crate) slots: Vec<Slot>,
    /// The shard to try first.
    pub(crate) prefer: u32,
}

/// What to do with a seat.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Take: these writes, these amounts, and how the bucket is then, all shards together.
    Take { writes: Vec<Write>, takes: Vec<ShardTake>, after: Bucket, seen: Bucket },
    /// It is not there. The bucket now, all shards together.
    Refuse(Bucket),
    /// Read the config from the store first: the bucket has other limits than the config that is remembered.
    ReadConfig,
    /// Split the shards first.
    Double(u32),
}

impl Seat {
    fn count(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(SHARDS_MAX)
    }

    /// Whether the bucket has other limits than those that hold, as far as they are known.
    pub(crate) fn has_other_limits(&self) -> bool {
        let other =
            |slot: &Slot| matches!(slot, Slot::Live(b) if !b.has_limits(&self.resolved.limits));
        self.slots.iter().any(other)
    }

    /// All shards as they are now, with the limits that hold.
    pub(crate) fn now_all(&self, house: House) -> Vec<Bucket> {
        (0..).zip(&self.slots).map(|(shard, slot)| self.now(slot, shard, house)).collect()
    }

    /// What to do.
    pub(crate) fn plan(&self, house: House, table: &Name) -> Plan {
        if !self.is_fresh && self.has_other_limits() {
            return Plan::ReadConfig;
        }
        let now = self.now_all(house);
        let Some(whole) = bucket::together(&now) else { return Plan::ReadConfig };
        let asked: BTreeMap<LimitName, i64> = self.amounts.iter().cloned().collect();
        let can = |shard: &&Bucket| is_covered(shard, &self.amounts);
        let first = now.iter().find(|shard| shard.shard == self.prefer).filter(can);
        let takes = match first.or_else(|| now.iter().find(can)) {
            Some(shard) => Some(vec![ShardTake { shard: shard.shard, amounts: asked }]),
            None => bucket::gather(&now, &asked),
        };
        let Some(takes) = takes else { return Plan::Refuse(whole) };
        let is_hot = |take: &ShardTake| now.get(take.shard as usize).is_some_and(is_out_of_writes);
        if house.splits && self.count() < SHARDS_MAX && takes.iter().any(is_hot) {
            return Plan::Double(self.count());
        }
        self.take(house, table, now, takes)
    }

    fn take(&self, house: House, table: &Name, now: Vec<Bucket>, takes: Vec<ShardTake>) -> Plan {
        let mut after = now;
        let mut writes = Vec::with_capacity(takes.len());
        let mut seen = None;
        for take in &takes {
            let place = take.shard as usize;
            let (Some(shard), Some(slot)) = (after.get_mut(place), self.slots.get(place)) else {
                continue;
            };
            for (name, amount) in &take.amounts {
                shard.take(name, *amount);
            }
            if house.counts_writes && !is_out_of_writes(shard) {
                shard.take(&LimitName::wcu(), MILLI);
            }
            writes.push(match slot {
                Slot::Absent => writes::create(table.clone(), &self.id, shard),
                Slot::Bare => writes::replace_bare(table.clone(), &self.id, shard),
                Slot::Expired(old) => writes::revive(table.clone(), &self.id, old, shard),
                Slot::Live(old) => {
                    writes::change(table.clone(), &self.id, old, shard, Cover::Needed)
                }
            });
            seen = Some(shard.clone());
        }
        match (bucket::together(&after), seen) {
            (Some(after), Some(seen)) => Plan::Take { writes, takes, after, seen },
            _ => Plan::ReadConfig,
        }
    }

    /// A shard as it is now, with the limits that hold.
    fn now(&self, slot: &Slot, shard: u32, house: House) -> Bucket {
        let (count, now_ms, limits) = (self.count(), house.now_ms, &self.resolved.limits);
        let mut bucket = match slot {
            Slot::Absent | Slot::Bare => Bucket::full(limits, shard, count, now_ms),
            Slot::Expired(old) => {
                let mut full = Bucket::full(limits, shard, count, now_ms.max(old.refilled_ms));
                for meter in &mut full.meters {
                    meter.consumed = old.meter(&meter.name).map_or(0, |old| old.consumed);
                }
                full
            }
            Slot::Live(old) => {
                // Its count may be older than that of the first shard.
                let now = Bucket { shard_count: count, ..old.clone() }.refilled(now_ms);
                if now.has_limits(limits) { now } else { now.with_limits(limits) }
            }
        };
        if house.counts_writes {
            bucket = bucket.with_wcu();
            if house.shared && is_out_of_writes(&bucket) {
                bucket.fill_wcu();
            }
        }
        let keeps = !self.resolved.expires() || (shard == 0 && count > 1);
        bucket.expires = (!keeps).then(|| bucket::expiry_seconds(limits, now_ms));
        bucket.cascade = self.cascade;
        bucket.parent = self.parent.clone();
        bucket
    }
}

/// Whether a shard has no write left, refilled as it is: it is hot.
pub(crate) fn is_out_of_writes(shard: &Bucket) -> bool {
    shard.meter(&LimitName::wcu()).is_some_and(|meter| meter.level.tokens < MILLI)
}
