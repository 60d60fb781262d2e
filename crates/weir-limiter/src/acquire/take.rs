//! What a take writes: one conditional update of one shard, computed from the shard as it was last observed, without a read.
//!
//! A bucket drops what exceeds its capacity at every moment. So a take refills first, unless none of its limits can have been
//! full since the last refill; then the refill can wait, and takes of several processes do not disturb each other.
//!
//! [`TakeShape`] is the only definition. [`Take::write`] turns it into an update, with further conditions for buckets that
//! cascade or live in a shared table; `prepared` hands the same shape to the store once and later sends only numbers.

use weir_table::expr::{Condition, attr};
use weir_table::{Addition, Durability, Guard, Item, Name, ReturnAttributes, Write};

use super::bucket_plan::{is_low_on_writes, is_out_of_writes};
use super::request::{Amounts, covers};
use crate::bounds::CLOCK_AHEAD_MAX_MS;
use crate::bucket::{Bucket, MILLI, Meter, Origin, ShardTake, expiry_after};
use crate::faults::{self, Fault};
use crate::ids::LimitName;
use crate::item::{
    self, BucketId, CASCADE, Field, GRANTED_UNTIL, ORIGIN, PARENT, RF, SHARD_COUNT, TTL,
};
use crate::keys;
use crate::lease::EntityTake;

/// The attributes that a take changes and those it relies on. Takes of one shape differ only in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TakeShape {
    /// The limits it takes from.
    limits: Vec<LimitName>,
    /// All limits of the bucket, if it refills first.
    refilled: Vec<LimitName>,
    /// The bucket's cascade flag must still be this.
    cascade: Option<bool>,
    /// The limits must still come from the caller; otherwise, from the config.
    from_caller: bool,
}

impl TakeShape {
    /// Whether `take` has this shape, without making its own.
    pub(super) fn is_of(&self, take: &Take<'_>) -> bool {
        self.from_caller == take.is_from_caller()
            && self.cascade == take.cascade()
            && self.limits.iter().eq(take.taken().map(|(name, _)| name))
            && self.refilled.iter().eq(take.refilled().map(|meter| &meter.name))
    }

    /// Changes the balances and the counters, if every balance suffices, the bucket lives and nothing else has changed.
    pub(super) fn addition(&self, table: Name) -> Addition {
        let taken = self.limits.iter();
        let (mut adds, mut guards) = (Vec::new(), Vec::new());
        if self.refilled.is_empty() {
            guards.extend([Guard::AtLeast(RF.into()), Guard::AtMost(RF.into())]);
            adds.extend(taken.clone().map(|name| Field::Tokens.of(name)));
            guards.extend(taken.clone().map(|name| Guard::AtMost(Field::Tokens.of(name))));
            taken.clone().for_each(|name| guards.extend(same_rate(name)));
        } else {
            adds.push(RF.into());
            guards.push(Guard::Equals(RF.into()));
            guards.push(Guard::Absent(GRANTED_UNTIL.into()));
            for name in &self.refilled {
                adds.extend([Field::Tokens.of(name), Field::Remainder.of(name)]);
                guards.push(Guard::AtMost(Field::Tokens.of(name)));
                guards.push(Guard::AtLeast(Field::Tokens.of(name)));
                guards.push(Guard::AbsentOrEquals(Field::Remainder.of(name)));
                guards.extend(same_rate(name));
            }
        }
        adds.extend(taken.clone().map(|name| Field::Consumed.of(name)));
        // A limit that is refilled has one lower bound for both.
        let others = taken.filter(|name| !self.refilled.contains(name));
        guards.extend(others.map(|name| Guard::AtLeast(Field::Tokens.of(name))));
        guards.push(Guard::AbsentOrOver(TTL.into()));
        guards.extend(self.cascade.map(|cascade| Guard::Is(CASCADE.into(), cascade.into())));
        let caller = item::origin_text(Origin::Caller).filter(|_| self.from_caller);
        guards.push(match caller {
            Some(caller) => Guard::Is(ORIGIN.into(), caller.into()),
            None => Guard::Absent(ORIGIN.into()),
        });
        Addition {
            table,
            adds,
            guards,
            durability: Durability::Flushed,
            returned: ReturnAttributes(item::is_decoded),
        }
    }
}

/// When a refill at `now_ms` would be; none if that is the last refill, after which there is nothing to refill.
fn refill_time(image: &Bucket, now_ms: i64) -> Option<i64> {
    Some(image.refill_time(now_ms)).filter(|time| *time != image.refilled_ms)
}

fn same_rate(name: &LimitName) -> [Guard; 3] {
    [Field::Capacity, Field::Refill, Field::Period].map(|field| Guard::Equals(field.of(name)))
}

fn rate_numbers(meter: &Meter) -> [i64; 3] {
    [meter.rate.capacity, meter.rate.refill, meter.rate.period_ms]
}

/// The numbers of one take, in the order of the shape's additions and comparisons.
#[derive(Debug)]
pub(super) struct TakeNumbers {
    pub(super) add: Vec<i64>,
    pub(super) compare: Vec<i64>,
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
    pub(super) id: &'a BucketId,
    /// The shard as this process last observed it.
    pub(super) image: &'a Bucket,
    /// When the shard is refilled, if the take refills first.
    pub(super) refilled_ms: Option<i64>,
    pub(super) amounts: &'a Amounts,
    pub(super) wcu: Option<(LimitName, i64)>,
    pub(super) now_ms: i64,
    /// The version of the cached bucket that has the image.
    pub(super) version: Option<u64>,
    /// How long the lease of the request can be settled, in milliseconds.
    pub(crate) lease_ttl_ms: i64,
    /// Whether the bucket must still have the observed parent and cascade flag.
    pub(crate) same_cascade: bool,
    /// Limits requested of the child that this bucket is believed not to have.
    pub(crate) absent_limits: &'a [LimitName],
    /// Whether the table is shared with a program that leaves incomplete items.
    pub(crate) shared: bool,
    /// Whether the bucket may have several shards.
    pub(crate) sharded: bool,
}

impl<'a> Take<'a> {
    pub(crate) fn new(
        id: &'a BucketId,
        image: &'a Bucket,
        amounts: &'a Amounts,
        wcu: Wcu,
        now_ms: i64,
    ) -> Take<'a> {
        // The write limit only shows how hot a shard is: it need not be exact.
        let names = amounts.iter().map(|(name, _)| name);
        let is_short = !covers(image, amounts) || (wcu == Wcu::Charged && is_out_of_writes(image));
        let refills = is_short || !image.may_refill_later(names, now_ms);
        Take {
            id,
            image,
            refilled_ms: refills.then(|| refill_time(image, now_ms)).flatten(),
            amounts,
            wcu: (wcu == Wcu::Charged).then(|| (LimitName::wcu(), MILLI)),
            now_ms,
            version: None,
            lease_ttl_ms: 0,
            same_cascade: false,
            absent_limits: &[],
            shared: false,
            sharded: wcu != Wcu::None,
        }
    }

    /// The take from a table that is shared with zae-limiter or not. There it refills before the write limit is empty:
    /// zae-limiter never refills it, and counts the shards up when it finds it empty.
    pub(super) fn in_table(mut self, shared: bool) -> Take<'a> {
        self.shared = shared;
        if shared && !self.refills() && is_low_on_writes(self.image) {
            self.refilled_ms = refill_time(self.image, self.now_ms);
        }
        self
    }

    /// In the millisecond of the last refill, the take that refills once more, by nothing. A busy bucket that is refilled every
    /// millisecond then has takes of one shape, and the store finds their numbers where it left them.
    pub(super) fn in_one_shape(mut self) -> Take<'a> {
        let Bucket { refilled_ms, granted_until_ms, .. } = *self.image;
        if refilled_ms == self.now_ms && granted_until_ms.is_none() {
            self.refilled_ms = Some(refilled_ms);
        }
        self
    }

    pub(crate) fn shard(&self) -> u32 {
        self.image.shard
    }

    /// Whether the take charges the shard's write limit.
    pub(crate) fn is_metered(&self) -> bool {
        self.wcu.is_some()
    }

    /// The parent and cascade flag that the bucket must still have.
    pub(crate) fn expected(&self) -> Option<&'a Bucket> {
        self.same_cascade.then_some(self.image)
    }

    /// Whether the take refills first.
    pub(super) fn refills(&self) -> bool {
        self.refilled_ms.is_some()
    }

    fn is_from_caller(&self) -> bool {
        self.image.origin == Origin::Caller
    }

    fn cascade(&self) -> Option<bool> {
        self.same_cascade.then_some(self.image.cascade)
    }

    /// Millitokens to take of each limit, the write limit included.
    fn taken(&self) -> impl Iterator<Item = &(LimitName, i64)> + Clone {
        self.amounts.iter().chain(&self.wcu)
    }

    /// The limits that are refilled first: all or none.
    fn refilled(&self) -> impl Iterator<Item = &Meter> {
        let meters = self.refills().then_some(&self.image.meters);
        meters.into_iter().flatten()
    }

    pub(super) fn shape(&self) -> TakeShape {
        TakeShape {
            limits: self.taken().map(|(name, _)| name.clone()).collect(),
            refilled: self.refilled().map(|meter| meter.name.clone()).collect(),
            cascade: self.cascade(),
            from_caller: self.is_from_caller(),
        }
    }

    pub(super) fn numbers(&self) -> TakeNumbers {
        let (mut add, mut compare) = (Vec::with_capacity(16), Vec::with_capacity(24));
        compare.push(self.image.refilled_ms);
        match self.refilled_ms {
            None => {
                // A last refill further in the future has to be set back.
                compare.push(self.now_ms.saturating_add(CLOCK_AHEAD_MAX_MS));
                add.extend(self.taken().map(|(_, amount)| -amount));
                let most = |meter| {
                    let most = self.image.most_without_refill(meter, self.now_ms);
                    most.filter(|_| !faults::is(Fault::DoubleBurst))
                };
                let meters = || self.taken().map(|(name, _)| self.image.meter(name));
                compare.extend(meters().map(|meter| match meter {
                    Some(meter) if !meter.name.is_wcu() => most(meter).unwrap_or(i64::MAX),
                    _ => i64::MAX,
                }));
                compare.extend(meters().flat_map(|meter| meter.map_or([0; 3], rate_numbers)));
            }
            Some(refilled_ms) => {
                add.push(refilled_ms.saturating_sub(self.image.refilled_ms));
                for before in &self.image.meters {
                    let after = self.image.level_at(before, self.now_ms);
                    let growth = after.tokens.saturating_sub(before.level.tokens);
                    let amount = self.amount(&before.name);
                    add.push(growth.saturating_sub(amount));
                    add.push(after.remainder - before.level.remainder);
                    // A refill that stops at the capacity depends on the exact balance. The write limit need not be exact, and
                    // every take of others changes it.
                    let is_full = after.tokens >= self.image.share(before).capacity;
                    let is_cut = is_full && !before.name.is_wcu();
                    let exact = if is_cut { before.level.tokens } else { i64::MIN };
                    let enough = if amount > 0 { amount.saturating_sub(growth) } else { i64::MIN };
                    let least = exact.max(enough);
                    compare.extend([before.level.tokens, least, before.level.remainder]);
                    compare.extend(rate_numbers(before));
                }
            }
        }
        add.extend(self.taken().map(|(_, amount)| *amount));
        let others =
            self.taken().filter(|(name, _)| !self.refills() || self.image.meter(name).is_none());
        compare.extend(others.map(|(_, amount)| *amount));
        compare.push(self.now_ms / MILLI);
        TakeNumbers { add, compare }
    }

    fn amount(&self, name: &LimitName) -> i64 {
        self.taken().find(|(taken, _)| taken == name).map_or(0, |(_, amount)| *amount)
    }

    /// The expiry that the use gives the shard, if it is later than the one it has.
    pub(super) fn new_expiry(&self) -> Option<i64> {
        let image = self.image;
        // The first of several shards stores their number, so it never expires.
        let expires = image.expires.filter(|_| image.shard_count == 1 || image.shard > 0)?;
        // A take makes no debt, and the bucket lives long enough for those that it has.
        let lifetime_ms = image.idle_lifetime_ms().max(self.lease_ttl_ms);
        let needed = expiry_after(lifetime_ms, self.now_ms.max(image.refilled_ms));
        let is_lowered = needed < expires && faults::is(Fault::ExpiryLowered);
        (needed > expires || is_lowered).then_some(needed)
    }

    /// Decodes the shard from an item, which may come without its key.
    pub(super) fn decode(&self, item: &Item) -> Bucket {
        Bucket { shard: self.image.shard, ..item::decode(item) }
    }

    /// The take as part of a grant.
    pub(super) fn entity_take(&self) -> EntityTake {
        let amounts = self.amounts.clone();
        let shards = vec![ShardTake { shard: self.image.shard, amounts }];
        EntityTake { entity: self.id.entity.clone(), shards }
    }

    /// The take as a conditional update.
    pub(crate) fn write(&self, table: Name) -> Write {
        let numbers = self.numbers();
        let addition = self.shape().addition(table.clone());
        let (mut update, mut conditions) = addition.expressions(&numbers.add, &numbers.compare);
        if self.shared {
            conditions.push(attr(RF).exists());
            conditions.extend(item::LATER_ZAE.map(|name| attr(name).absent()));
            let limits = self.amounts.iter().flat_map(|(name, _)| item::later_zae_limit(name));
            conditions.extend(limits.map(|name| attr(name).absent()));
        }
        if self.sharded {
            conditions.push(attr(SHARD_COUNT).eq(self.image.shard_count));
        }
        conditions
            .extend(self.absent_limits.iter().map(|name| attr(Field::Tokens.of(name)).absent()));
        let parent = self.expected().filter(|image| image.cascade);
        let parent = parent.and_then(|image| image.parent.as_ref());
        conditions.extend(parent.map(|parent| attr(PARENT).eq(parent.as_str())));
        if let Some(expires) = self.new_expiry() {
            update = update.set(TTL, expires);
            if !faults::is(Fault::ExpiryLowered) {
                conditions.push(attr(TTL).le(expires));
            }
        }
        let key = keys::bucket(&self.id.ns, &self.id.entity, &self.id.resource, self.shard());
        let write = Write::update(table, key, update).when(Condition::And(conditions));
        Write { durability: addition.durability, returned: Some(addition.returned), ..write }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Limit;
    use crate::ids::{EntityId, NamespaceId, Resource};

    #[test]
    fn takes_of_a_busy_bucket_have_one_shape() {
        let id = BucketId {
            ns: NamespaceId::new("abcdefghijk").unwrap(),
            entity: EntityId::new("e").unwrap(),
            resource: Resource::new("r").unwrap(),
        };
        let name = LimitName::new("rpm").unwrap();
        let image = Bucket::full(&[Limit::per_minute(name.clone(), 60_000)], 0, 1, 1_000_000);
        let amounts = vec![(name, MILLI)];
        let take = |now_ms| Take::new(&id, &image, &amounts, Wcu::None, now_ms);
        let (at_once, later) = (take(1_000_000), take(1_000_001));
        assert!(!at_once.refills() && later.refills());
        let again = at_once.in_one_shape();
        assert_eq!(again.shape(), later.in_one_shape().shape());
        assert_eq!(again.numbers().add, [0, -MILLI, 0, MILLI]);
        // Time that was granted before is not refilled so simply.
        let jumped = Bucket { granted_until_ms: Some(2_000_000), ..image.clone() };
        let take = Take::new(&id, &jumped, &amounts, Wcu::None, 1_000_000);
        assert_eq!(take.refills(), take.in_one_shape().refills());
    }
}
