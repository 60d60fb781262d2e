//! Compares every write of a bucket with the model bucket.

use std::collections::BTreeMap;

use weir_limiter::bucket::{Bucket as Stored, Limit, Meter as StoredMeter, Rate};
use weir_limiter::ids::{EntityId, LimitName, Resource};
use weir_limiter::{item, keys};
use weir_table::{Item, Key, Value};

use crate::check::{Check, Violation};
use crate::model::bucket::{Bucket, Meter};

/// A refill time so far ahead of a writer's clock is set back.
const AHEAD_MAX_MS: i64 = 60_000;

/// An entity and a resource.
pub(super) type BucketName = (EntityId, Resource);

/// Millitokens taken of each limit, or given back where negative.
pub(super) type Deltas = BTreeMap<LimitName, i64>;

/// Why a bucket was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    /// An acquire took, or gave back what it had taken.
    Acquire(Deltas),
    /// A lease was settled.
    Settle(Deltas),
    /// An operator filled the bucket.
    Reset,
    /// An operator added tokens.
    TopUp(Deltas),
    /// A refill ahead of need, or a change of config or parent.
    Upkeep,
}

impl Cause {
    fn deltas(&self) -> Option<&Deltas> {
        match self {
            Cause::Acquire(deltas) | Cause::Settle(deltas) => Some(deltas),
            Cause::Reset | Cause::TopUp(_) | Cause::Upkeep => None,
        }
    }
}

/// All buckets of the model.
#[derive(Debug, Clone, Default)]
pub(super) struct Buckets {
    buckets: BTreeMap<BucketName, Bucket>,
    /// Millitokens consumed of each limit since the beginning, also by buckets that are gone.
    pub(super) consumed: BTreeMap<(BucketName, LimitName), i64>,
}

/// The bucket that a key names.
#[must_use]
pub(super) fn bucket_name(key: &Key) -> Option<BucketName> {
    let (pk, sk) = (key.partition.to_value(), key.sort.as_ref()?.to_value());
    let (Value::S(pk), Value::S(sk)) = (pk, sk) else { return None };
    if !keys::is_bucket_sort(&sk) {
        return None;
    }
    keys::parse_bucket(&pk).map(|(_, entity, resource, _)| (entity, resource))
}

/// Whether a limit is the one that meters the writes of a shard.
fn is_wcu(name: &LimitName) -> bool {
    name.as_str() == "wcu"
}

/// The limits of a stored bucket.
#[must_use]
pub(super) fn rates(stored: &Stored) -> BTreeMap<LimitName, Rate> {
    let meters = stored.meters.iter().filter(|meter| !is_wcu(&meter.name));
    meters.map(|meter| (meter.name.clone(), meter.rate)).collect()
}

/// The limits of a list.
#[must_use]
pub(super) fn rates_of(limits: &[Limit]) -> BTreeMap<LimitName, Rate> {
    limits.iter().map(|limit| (limit.name.clone(), limit.rate())).collect()
}

/// What a write of a bucket consumed, as its counters show.
#[must_use]
pub(super) fn consumption(old: Option<&Item>, new: &Item) -> Deltas {
    let old = old.map(|old| counters(&item::decode(old))).unwrap_or_default();
    let before = |name: &LimitName| old.get(name).copied().unwrap_or_default();
    let grown = counters(&item::decode(new)).into_iter().map(|(name, now)| {
        let by = now - before(&name);
        (name, by)
    });
    grown.filter(|(_, by)| *by != 0).collect()
}

/// The counters of a bucket, also of limits that were removed.
fn counters(stored: &Stored) -> Deltas {
    let removed = stored.retired.iter().map(|retired| &retired.meter);
    let meters = stored.meters.iter().chain(removed).filter(|meter| !is_wcu(&meter.name));
    meters.map(|meter| (meter.name.clone(), meter.consumed)).collect()
}

impl Buckets {
    /// The model of a bucket; none if it is full.
    #[must_use]
    pub(super) fn get(&self, name: &BucketName) -> Option<&Bucket> {
        self.buckets.get(name)
    }

    /// The expiry removed a bucket by this clock.
    pub(super) fn swept(&mut self, name: &BucketName, now_ms: i64) -> Vec<Violation> {
        let Some(bucket) = self.buckets.remove(name) else { return Vec::new() };
        if bucket.is_full_at(now_ms) {
            return Vec::new();
        }
        let found = format!("{} was removed at {now_ms} and is not full: {bucket:?}", say(name));
        vec![Violation::new(Check::ExpiryForgets, found)]
    }

    /// A bucket was written by a request that began at `now_ms`. Returns the broken rules; the model follows the store then.
    pub(super) fn written(
        &mut self,
        name: &BucketName,
        (old, new): (Option<&Item>, &Item),
        now_ms: i64,
        cause: &Cause,
    ) -> Vec<Violation> {
        let stored = item::decode(new);
        let before = old.map(item::decode);
        let mut found = Findings { name, now_ms, cause, all: Vec::new() };
        let mut model = match (&before, self.buckets.remove(name)) {
            (Some(before), Some(mut model)) => {
                if before.is_expired(now_ms) && matches!(cause, Cause::Acquire(_)) {
                    found.expect(model.is_full_at(now_ms), Check::ExpiryForgets, &model);
                    let is_now = stored.refilled_ms == now_ms.max(before.refilled_ms);
                    found.expect(is_now, Check::Level, &("made again at", stored.refilled_ms));
                    model = model.made_again(&rates(&stored), stored.refilled_ms);
                } else {
                    found.refill(&mut model, before, &stored);
                    found.limits(&mut model, &stored);
                }
                model
            }
            _ => Bucket::full(&rates(&stored), stored.refilled_ms),
        };
        found.take(&mut model);
        found.compare(&model, &stored);
        found.expiry(before.as_ref(), &stored, &model);
        for (limit, by) in cause.deltas().into_iter().flatten() {
            if model.knows(limit) {
                *self.consumed.entry((name.clone(), limit.clone())).or_default() += by;
            }
        }
        let Findings { mut all, .. } = found;
        if !all.is_empty() || *cause == Cause::Reset {
            follow(&mut model, &stored);
        }
        self.buckets.insert(name.clone(), model);
        // The first one is the cause of the others.
        all.truncate(1);
        all
    }
}

/// Takes the state of a bucket over from the store.
fn follow(model: &mut Bucket, stored: &Stored) {
    let adopt = |meter: &StoredMeter| {
        let parts = i128::from(meter.level.tokens) * i128::from(meter.rate.period_ms)
            + i128::from(meter.level.remainder);
        (meter.name.clone(), Meter { rate: meter.rate, parts, consumed: meter.consumed })
    };
    model.refilled_ms = stored.refilled_ms;
    model.granted_until_ms = stored.granted_until_ms.unwrap_or_default();
    model.meters = stored.meters.iter().filter(|meter| !is_wcu(&meter.name)).map(adopt).collect();
    let removed = stored.retired.iter().map(|retired| {
        let (name, meter) = adopt(&retired.meter);
        (name, (meter, retired.refilled_ms))
    });
    model.removed = removed.collect();
}

fn say((entity, resource): &BucketName) -> String {
    format!("bucket {entity} on {resource}")
}

/// The broken rules of one write.
struct Findings<'a> {
    name: &'a BucketName,
    now_ms: i64,
    cause: &'a Cause,
    all: Vec<Violation>,
}

impl Findings<'_> {
    fn expect(&mut self, is_right: bool, check: Check, found: &dyn std::fmt::Debug) {
        if !is_right {
            let (name, now_ms, cause) = (say(self.name), self.now_ms, self.cause);
            let found = format!("{name}, written at {now_ms} by {cause:?}: {found:?}");
            self.all.push(Violation::new(check, found));
        }
    }

    /// Moves the time of the model's last refill as the store did, and refills for it.
    fn refill(&mut self, model: &mut Bucket, before: &Stored, stored: &Stored) {
        let (was_ms, is_ms, now_ms) = (before.refilled_ms, stored.refilled_ms, self.now_ms);
        if was_ms > now_ms + AHEAD_MAX_MS && self.cause.deltas().is_some() {
            let found = format!("the refill time {was_ms} stays ahead at {is_ms}");
            self.expect(is_ms == now_ms, Check::ClockAhead, &found);
        }
        if is_ms < was_ms {
            let found = format!("the refill time went back from {was_ms} to {is_ms}");
            self.expect(was_ms > now_ms + AHEAD_MAX_MS && is_ms == now_ms, Check::Level, &found);
            model.set_back(is_ms);
            return;
        }
        self.expect(is_ms <= was_ms.max(now_ms), Check::Level, &("refilled ahead of time", is_ms));
        if is_ms == was_ms {
            let takes =
                self.cause.deltas().into_iter().flatten().filter(|(_, amount)| **amount > 0);
            let is_cut = takes.clone().any(|(name, _)| {
                let meter = model.meters.get(name);
                let elapsed_ms = model.elapsed_ms(now_ms);
                meter.is_some_and(|meter| elapsed_ms > 0 && meter.is_full_after(elapsed_ms))
            });
            self.expect(!is_cut, Check::Ceiling, &("a take without a refill", &*model));
        }
        model.refill(is_ms);
    }

    /// Changes the model's limits to those of the store.
    fn limits(&mut self, model: &mut Bucket, stored: &Stored) {
        let now: BTreeMap<LimitName, Rate> = rates(stored);
        let known = model.meters.iter().map(|(name, meter)| (name.clone(), meter.rate));
        if known.collect::<BTreeMap<_, _>>() == now {
            return;
        }
        let again: Vec<LimitName> =
            now.keys().filter(|name| model.removed.contains_key(*name)).cloned().collect();
        model.conform(&now, stored.refilled_ms);
        for name in again {
            let level = stored.meter(&name).map_or(0, |meter| meter.level.tokens);
            let Some(meter) = model.meters.get(&name) else { continue };
            let taken = self.cause.deltas().and_then(|all| all.get(&name)).copied();
            let most = meter.millitokens() - taken.unwrap_or_default();
            self.expect(level <= most, Check::LimitAgain, &(name, level, most));
        }
    }

    /// Takes from the model, or gives back to it.
    fn take(&mut self, model: &mut Bucket) {
        let now_ms = self.now_ms;
        match self.cause {
            Cause::Acquire(deltas) => {
                for (name, amount) in deltas {
                    let has = model.available(name, now_ms);
                    let covers = *amount < 0 || has.is_none_or(|has| has >= *amount);
                    self.expect(covers, Check::Overdraft, &(name, amount, has));
                }
            }
            Cause::Reset => {
                for meter in model.meters.values_mut() {
                    meter.parts = Meter::full(meter.rate).parts;
                }
            }
            Cause::TopUp(amounts) => {
                for (name, amount) in amounts {
                    let Some(meter) = model.meters.get_mut(name) else { continue };
                    let consumed = meter.consumed;
                    meter.take(-amount);
                    meter.consumed = consumed;
                }
            }
            Cause::Settle(_) | Cause::Upkeep => {}
        }
        for (name, amount) in self.cause.deltas().into_iter().flatten() {
            model.take(name, *amount);
        }
    }

    fn compare(&mut self, model: &Bucket, stored: &Stored) {
        for meter in stored.meters.iter().filter(|meter| !is_wcu(&meter.name)) {
            let Some(expected) = model.meters.get(&meter.name) else { continue };
            let period = i128::from(meter.rate.period_ms);
            let parts = i128::from(meter.level.tokens) * period + i128::from(meter.level.remainder);
            let found = (&meter.name, meter.level, "the model has", expected);
            // A full bucket that got tokens back has no fraction of a millitoken on top.
            let check = match parts - expected.parts {
                more if (1..period).contains(&more) => Check::Fraction,
                less if less < 0 => Check::Lost,
                _ => Check::Level,
            };
            // What others take while an operator fills the bucket counts as taken afterwards.
            let is_right =
                parts == expected.parts || (check == Check::Lost && *self.cause == Cause::Reset);
            self.expect(is_right, check, &found);
            let found = (&meter.name, meter.consumed, "the model has", expected.consumed);
            self.expect(meter.consumed == expected.consumed, Check::Consumption, &found);
        }
    }

    fn expiry(&mut self, before: Option<&Stored>, stored: &Stored, model: &Bucket) {
        let Some(expires) = stored.expires else { return };
        let was = before.and_then(|before| before.expires);
        self.expect(was.is_none_or(|was| was <= expires), Check::ExpiryLowered, &(was, expires));
        let full_ms = model.full_at_ms();
        let found = ("it expires at", expires.saturating_mul(1000), "and is full at", full_ms);
        self.expect(expires.saturating_mul(1000) >= full_ms, Check::ExpiryCovers, &found);
    }
}
