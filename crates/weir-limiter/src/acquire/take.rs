//! What a take writes: one conditional update of one shard that subtracts the amounts, without a read.
//!
//! [`TakeShape`] is the only definition. [`Take::write`] turns it into an update, with further conditions for buckets that
//! cascade or live in a shared table; `prepared` hands the same shape to the store once and later sends only numbers.

use weir_table::expr::{Condition, attr};
use weir_table::{Addition, Durability, Guard, Item, Name, ReturnAttributes, Write};

use super::bucket_cache::CachedBucket;
use super::request::Amounts;
use crate::bucket::{Bucket, MILLI, ShardTake};
use crate::ids::LimitName;
use crate::item::{self, BucketId, CASCADE, Field, PARENT, RF, TTL};
use crate::keys;
use crate::lease::EntityTake;

/// The limits that a take subtracts from, and the cascade flag that it relies on. Takes of one shape differ only in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TakeShape {
    limits: Vec<LimitName>,
    /// The bucket's cascade flag must still be this.
    cascade: Option<bool>,
}

impl TakeShape {
    pub(super) fn new<'a>(
        limits: impl Iterator<Item = &'a LimitName>,
        cascade: Option<bool>,
    ) -> TakeShape {
        TakeShape { limits: limits.cloned().collect(), cascade }
    }

    /// Whether [`TakeShape::new`] would make this shape, without making it.
    pub(super) fn is<'a>(
        &self,
        limits: impl Iterator<Item = &'a LimitName>,
        cascade: Option<bool>,
    ) -> bool {
        self.cascade == cascade && self.limits.iter().eq(limits)
    }

    /// Subtracts from the balances and adds to the consumption counters, if every balance suffices and the bucket lives.
    pub(super) fn addition(&self, table: Name) -> Addition {
        let adds =
            self.limits.iter().flat_map(|name| [Field::Tokens.of(name), Field::Consumed.of(name)]);
        let enough = self.limits.iter().map(|name| Guard::AtLeast(Field::Tokens.of(name)));
        let lives = Guard::AbsentOrOver(TTL.into());
        let cascade = self.cascade.map(|cascade| Guard::Is(CASCADE.into(), cascade.into()));
        Addition {
            table,
            adds: adds.collect(),
            guards: enough.chain([lives]).chain(cascade).collect(),
            durability: Durability::Flushed,
            returned: ReturnAttributes(item::is_decoded),
        }
    }
}

/// The numbers of one take, in the order of the shape's additions and comparisons.
#[derive(Debug)]
pub(super) struct TakeNumbers {
    pub(super) add: Vec<i64>,
    pub(super) compare: Vec<i64>,
}

impl TakeNumbers {
    pub(super) fn new(amounts: impl Iterator<Item = i64> + Clone, now_ms: i64) -> TakeNumbers {
        TakeNumbers {
            add: amounts.clone().flat_map(|amount| [-amount, amount]).collect(),
            compare: amounts.chain([now_ms / MILLI]).collect(),
        }
    }
}

/// Whether a take is metered as a write of its shard (one write capacity unit).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wcu {
    /// Writes are not metered: the store is embedded.
    None,
    /// The write is metered, and one must be left.
    Charged,
    /// The bucket has the most shards it can have, so an empty write limit no longer refuses.
    Unmetered,
}

/// A take from one shard of one bucket.
#[derive(Debug)]
pub(crate) struct Take<'a> {
    pub(crate) id: &'a BucketId,
    pub(crate) shard: u32,
    pub(crate) amounts: &'a Amounts,
    pub(crate) wcu: Wcu,
    /// The bucket as this process remembers it.
    pub(crate) cached: Option<&'a CachedBucket>,
    /// Whether the bucket must still have the cached parent and cascade flag.
    pub(crate) same_cascade: bool,
    /// Limits requested of the child that this bucket is believed not to have.
    pub(crate) absent_limits: &'a [LimitName],
    /// Whether the table is shared with a program that leaves incomplete items.
    pub(crate) shared: bool,
    pub(crate) now_ms: i64,
}

impl Take<'_> {
    /// Decodes the shard from an item, which may come without its key.
    pub(super) fn decode(&self, item: &Item) -> Bucket {
        Bucket { shard: self.shard, ..item::decode(item) }
    }

    /// The take as part of a grant.
    pub(super) fn entity_take(&self) -> EntityTake {
        let amounts = self.amounts.iter().cloned().collect();
        let shards = vec![ShardTake { shard: self.shard, amounts }];
        EntityTake { entity: self.id.entity.clone(), shards }
    }

    /// The take as a conditional update.
    pub(crate) fn write(&self, table: Name) -> Write {
        let wcu = (self.wcu == Wcu::Charged).then(|| (LimitName::wcu(), MILLI));
        let amounts = self.amounts.iter().chain(&wcu);
        let expected = self.cached.filter(|_| self.same_cascade);
        let shape = TakeShape::new(
            amounts.clone().map(|(name, _)| name),
            expected.map(|cached| cached.cascade),
        );
        let numbers = TakeNumbers::new(amounts.map(|(_, amount)| *amount), self.now_ms);
        let addition = shape.addition(table.clone());
        let (mut update, mut conditions) = addition.expressions(&numbers.add, &numbers.compare);
        if self.shared {
            conditions.push(attr(RF).exists());
        }
        conditions
            .extend(self.absent_limits.iter().map(|name| attr(Field::Tokens.of(name)).absent()));
        let parent =
            expected.filter(|cached| cached.cascade).and_then(|cached| cached.parent.as_ref());
        conditions.extend(parent.map(|parent| attr(PARENT).eq(parent.as_str())));
        if let Some(expires) =
            self.cached.and_then(|cached| cached.new_expiry(self.shard, self.now_ms))
        {
            update = update.set(TTL, expires);
        }
        let key = keys::bucket(&self.id.ns, &self.id.entity, &self.id.resource, self.shard);
        let write = Write::update(table, key, update).when(Condition::And(conditions));
        Write { durability: addition.durability, returned: Some(addition.returned), ..write }
    }
}
