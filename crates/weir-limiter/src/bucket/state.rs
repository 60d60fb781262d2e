//! A bucket, or one shard of it: a meter for each limit, all refilled at the same moments.

use super::rate::{Level, Rate};
use super::{Limit, MILLI};
use crate::bounds::{EXPIRY_FILLS, EXPIRY_STEP_SECONDS};
use crate::ids::{EntityId, LimitName};

/// One limit of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meter {
    /// The name of the limit.
    pub name: LimitName,
    /// The whole limit, whatever the number of shards.
    pub rate: Rate,
    /// The level of this shard.
    pub level: Level,
    /// Millitokens consumed so far, refunds subtracted.
    pub consumed: i64,
}

/// A shard of a bucket. With one shard it is the bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// The number of the shard.
    pub shard: u32,
    /// Number of shards.
    pub shard_count: u32,
    /// When all meters were last refilled, in milliseconds since 1970.
    pub refilled_ms: i64,
    /// The limits, sorted by name.
    pub meters: Vec<Meter>,
    /// When the bucket expires, in seconds since 1970.
    pub expires: Option<i64>,
    /// Whether the parent pays too.
    pub cascade: bool,
    /// The parent entity.
    pub parent: Option<EntityId>,
}

/// A limit that does not cover a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// The name of the limit.
    pub name: LimitName,
    /// When it will, in milliseconds from now; none if never.
    pub wait_ms: Option<i64>,
}

impl Bucket {
    /// A full shard of a bucket with these limits.
    #[must_use]
    pub fn full(limits: &[Limit], shard: u32, shard_count: u32, now_ms: i64) -> Bucket {
        let mut bucket = Bucket {
            shard,
            shard_count,
            refilled_ms: now_ms,
            meters: limits.iter().map(|limit| Meter::full(limit, shard, shard_count)).collect(),
            expires: None,
            cascade: false,
            parent: None,
        };
        bucket.meters.sort_by(|a, b| a.name.cmp(&b.name));
        bucket
    }

    /// The meter of a limit.
    #[must_use]
    pub fn meter(&self, name: &LimitName) -> Option<&Meter> {
        self.meters.iter().find(|meter| meter.name == *name)
    }

    /// This shard's share of a limit. The write limit is never divided.
    #[must_use]
    pub fn share(&self, meter: &Meter) -> Rate {
        meter.share(self.shard, self.shard_count)
    }

    /// The limits, without the write limit.
    #[must_use]
    pub fn limits(&self) -> Vec<Limit> {
        let meters = self.meters.iter().filter(|meter| !meter.name.is_wcu());
        meters.map(|meter| Limit::from_rate(meter.name.clone(), meter.rate)).collect()
    }

    /// Whether the bucket has expired.
    #[must_use]
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now_ms / MILLI)
    }

    /// The bucket refilled to `now_ms`. Never goes back in time.
    #[must_use]
    pub fn refilled(&self, now_ms: i64) -> Bucket {
        let mut bucket = self.clone();
        bucket.refill(now_ms);
        bucket
    }

    /// Refills in place.
    pub(crate) fn refill(&mut self, now_ms: i64) {
        let elapsed = now_ms.saturating_sub(self.refilled_ms);
        for meter in &mut self.meters {
            meter.level = meter.level.refilled(meter.share(self.shard, self.shard_count), elapsed);
        }
        self.refilled_ms = self.refilled_ms.max(now_ms);
    }

    /// The bucket with new limits. Balances stay, up to the new capacity: a change of capacity never mints. A limit that is new
    /// starts full.
    ///
    /// Refill first, so that the time until now is refilled at the old rate.
    #[must_use]
    pub fn with_limits(&self, limits: &[Limit]) -> Bucket {
        let mut bucket = Bucket::full(limits, self.shard, self.shard_count, self.refilled_ms);
        for meter in &mut bucket.meters {
            if let Some(old) = self.meter(&meter.name) {
                let share = meter.share(self.shard, self.shard_count);
                // A remainder is a fraction of its period, so it means nothing in another one.
                let remainder = if old.rate.period_ms == meter.rate.period_ms {
                    old.level.remainder
                } else {
                    0
                };
                let tokens = old.level.tokens.min(share.capacity);
                let remainder = if tokens == share.capacity { 0 } else { remainder };
                meter.level = Level { tokens, remainder };
                meter.consumed = old.consumed;
            }
        }
        // The write limit is not part of the config, so the config cannot remove it.
        bucket.meters.extend(self.meters.iter().filter(|meter| meter.name.is_wcu()).cloned());
        bucket.meters.sort_by(|a, b| a.name.cmp(&b.name));
        Bucket {
            expires: self.expires,
            cascade: self.cascade,
            parent: self.parent.clone(),
            ..bucket
        }
    }

    /// This full bucket in place of an expired one: the counters continue, and time does not go back.
    pub(crate) fn replacing(mut self, expired: &Bucket) -> Bucket {
        for meter in &mut self.meters {
            meter.consumed = expired.meter(&meter.name).map_or(0, |old| old.consumed);
        }
        self.refilled_ms = self.refilled_ms.max(expired.refilled_ms);
        self
    }

    /// Whether the bucket has exactly these limits.
    #[must_use]
    pub fn has_limits(&self, limits: &[Limit]) -> bool {
        self.meters.iter().filter(|meter| !meter.name.is_wcu()).count() == limits.len()
            && limits.iter().all(|limit| {
                self.meter(&limit.name).is_some_and(|meter| meter.rate == limit.rate())
            })
    }

    /// The limits that do not cover `amounts`, in millitokens. Empty means that the take succeeds.
    ///
    /// A limit that the bucket does not have never covers anything.
    #[must_use]
    pub fn shortfalls<'a>(
        &self,
        amounts: impl IntoIterator<Item = (&'a LimitName, i64)>,
    ) -> Vec<Shortfall> {
        amounts
            .into_iter()
            .filter_map(|(name, amount)| {
                let Some(meter) = self.meter(name) else {
                    return Some(Shortfall { name: name.clone(), wait_ms: None });
                };
                let wait_ms = meter.level.wait_ms(self.share(meter), amount);
                (meter.level.tokens < amount).then(|| Shortfall { name: name.clone(), wait_ms })
            })
            .collect()
    }

    /// Takes `amount` millitokens, also below zero. A negative amount is a refund, which stops at the capacity. The counter of
    /// consumed tokens changes by the whole amount either way.
    pub fn take(&mut self, name: &LimitName, amount: i64) {
        let (shard, count) = (self.shard, self.shard_count);
        if let Some(meter) = self.meters.iter_mut().find(|meter| meter.name == *name) {
            let ceiling = meter.share(shard, count).capacity.max(meter.level.tokens);
            meter.level.tokens = meter.level.tokens.saturating_sub(amount);
            if amount < 0 {
                meter.level.tokens = meter.level.tokens.min(ceiling);
            }
            meter.consumed = meter.consumed.saturating_add(amount);
        }
    }

    /// Refills the write limit completely.
    pub(crate) fn fill_wcu(&mut self) {
        for meter in self.meters.iter_mut().filter(|meter| meter.name.is_wcu()) {
            meter.level = meter.rate.full();
        }
    }

    /// Adds the write limit, if it is missing.
    pub(crate) fn with_wcu(mut self) -> Bucket {
        let wcu = Limit::wcu();
        if self.meter(&wcu.name).is_none() {
            self.meters.push(Meter::full(&wcu, self.shard, self.shard_count));
            self.meters.sort_by(|a, b| a.name.cmp(&b.name));
        }
        self
    }
}

impl Meter {
    fn full(limit: &Limit, shard: u32, shard_count: u32) -> Meter {
        let mut meter = Meter {
            name: limit.name.clone(),
            rate: limit.rate(),
            level: Level::default(),
            consumed: 0,
        };
        meter.level = meter.share(shard, shard_count).full();
        meter
    }

    /// The share of shard `shard` of `count`. The write limit is never divided.
    #[must_use]
    pub fn share(&self, shard: u32, count: u32) -> Rate {
        if self.name.is_wcu() { self.rate } else { self.rate.share(shard, count) }
    }
}

/// When a bucket with default limits that is used at `now_ms` expires, in seconds since 1970: a multiple of its slowest
/// fill time later, rounded up so that it rarely changes.
#[must_use]
pub fn expiry_seconds(limits: &[Limit], now_ms: i64) -> i64 {
    let slowest_ms = limits.iter().map(|limit| limit.rate().fill_ms()).max().unwrap_or_default();
    expiry_after(slowest_ms.saturating_mul(EXPIRY_FILLS), now_ms)
}

/// When a bucket that lives `lifetime_ms` unused and is used at `now_ms` expires.
#[must_use]
pub fn expiry_after(lifetime_ms: i64, now_ms: i64) -> i64 {
    let steps = now_ms.saturating_add(lifetime_ms).div_euclid(EXPIRY_STEP_SECONDS * MILLI);
    (steps + 1).saturating_mul(EXPIRY_STEP_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(name: &str, amount: u64) -> Limit {
        Limit::per_minute(LimitName::new(name).unwrap(), amount)
    }

    fn name(text: &str) -> LimitName {
        LimitName::new(text).unwrap()
    }

    #[test]
    fn a_change_of_limits_keeps_balances_and_mints_nothing() {
        let mut bucket = Bucket::full(&[limit("rpm", 100), limit("tpm", 1000)], 0, 1, 5);
        bucket.take(&name("rpm"), 30_000);
        let raised = bucket.with_limits(&[limit("rpm", 500), limit("new", 7)]);
        assert_eq!(raised.meter(&name("rpm")).unwrap().level.tokens, 70_000);
        assert_eq!(raised.meter(&name("rpm")).unwrap().consumed, 30_000);
        assert_eq!(raised.meter(&name("new")).unwrap().level.tokens, 7_000);
        assert!(raised.meter(&name("tpm")).is_none());
        let lowered = bucket.with_limits(&[limit("rpm", 50)]);
        assert_eq!(lowered.meter(&name("rpm")).unwrap().level.tokens, 50_000);
    }

    #[test]
    fn a_refund_stops_at_the_capacity_and_is_recorded_whole() {
        let mut bucket = Bucket::full(&[limit("rpm", 10)], 0, 1, 0);
        bucket.take(&name("rpm"), 3_000);
        bucket.take(&name("rpm"), -5_000);
        let meter = bucket.meter(&name("rpm")).unwrap();
        assert_eq!((meter.level.tokens, meter.consumed), (10_000, -2_000));
    }

    #[test]
    fn expiry_moves_in_steps() {
        let limits = [limit("rpm", 60), Limit { refill_amount: 1, ..limit("slow", 60) }];
        // The slow one takes an hour: seven hours, rounded up to the next five minutes.
        assert_eq!(expiry_seconds(&limits, 0), 25_200 + 300);
        assert_eq!(expiry_seconds(&limits, 299_999), 25_200 + 300);
        assert_eq!(expiry_seconds(&limits, 300_000), 25_200 + 600);
    }
}
