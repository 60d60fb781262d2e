//! A bucket, or one shard of it: a meter for each limit, all refilled at the same moments.

use weir_table::Name;

use super::rate::{Level, Rate};
use super::{Limit, MILLI};
use crate::bounds::{CLOCK_AHEAD_MAX_MS, EXPIRY_FILLS, EXPIRY_STEP_SECONDS, LIMITS_MAX};
use crate::faults::{self, Fault};
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

/// A limit that the bucket had once. When it is added again, its balance and its counter continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retired {
    /// The limit as it was removed.
    pub meter: Meter,
    /// When it was last refilled, in milliseconds since 1970.
    pub refilled_ms: i64,
}

/// Where the limits of a bucket come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// A level of the config.
    #[default]
    Config,
    /// The request that was last granted.
    Caller,
    /// The config had them and has none any more.
    Nowhere,
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
    /// The time until which refills were granted, if it is later: a clock went back since.
    pub granted_until_ms: Option<i64>,
    /// The limits, sorted by name.
    pub meters: Vec<Meter>,
    /// Limits that were removed, sorted by name.
    pub retired: Vec<Retired>,
    /// Where the limits come from.
    pub origin: Origin,
    /// When the bucket expires, in seconds since 1970.
    pub expires: Option<i64>,
    /// Whether the parent pays too.
    pub cascade: bool,
    /// The parent entity.
    pub parent: Option<EntityId>,
    /// An attribute of the item that this version does not know.
    pub unknown: Option<Name>,
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
            granted_until_ms: None,
            meters: limits.iter().map(|limit| Meter::full(limit, shard, shard_count)).collect(),
            retired: Vec::new(),
            origin: Origin::Config,
            expires: None,
            cascade: false,
            parent: None,
            unknown: None,
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

    /// Refills in place. If the last refill is further in the future than clocks differ, a clock was ahead or went back: the
    /// last refill is set back to now, and the time until then is noted as granted.
    pub(crate) fn refill(&mut self, now_ms: i64) {
        if self.is_expired(now_ms) {
            return self.renew(now_ms);
        }
        if self.is_ahead(now_ms) {
            let granted = self.granted_until_ms.unwrap_or(self.refilled_ms);
            self.granted_until_ms = Some(granted.max(self.refilled_ms));
            self.refilled_ms = now_ms;
            return;
        }
        let elapsed = self.elapsed_ms(now_ms);
        for meter in &mut self.meters {
            meter.level = meter.level.refilled(meter.share(self.shard, self.shard_count), elapsed);
        }
        self.refilled_ms = self.refilled_ms.max(now_ms);
        self.granted_until_ms = self.granted_until_ms.filter(|until| *until > self.refilled_ms);
    }

    /// The time of a refill at `now_ms`: the refilled bucket's, without making one.
    pub(crate) fn refill_time(&self, now_ms: i64) -> i64 {
        let is_set_back = self.is_ahead(now_ms) && !self.is_expired(now_ms);
        if is_set_back { now_ms } else { self.refilled_ms.max(now_ms) }
    }

    /// The level of a meter at `now_ms`: that of the refilled bucket, without making one.
    pub(crate) fn level_at(&self, meter: &Meter, now_ms: i64) -> Level {
        if self.is_expired(now_ms) {
            return self.share(meter).full();
        }
        if self.refilled_ms == now_ms || self.is_ahead(now_ms) {
            return meter.level;
        }
        meter.level.refilled(self.share(meter), self.elapsed_ms(now_ms))
    }

    /// Fills an expired bucket: it has been full.
    fn renew(&mut self, now_ms: i64) {
        for meter in &mut self.meters {
            meter.level = meter.share(self.shard, self.shard_count).full();
        }
        self.refilled_ms = self.refilled_ms.max(now_ms);
        self.granted_until_ms = self.granted_until_ms.filter(|until| *until > self.refilled_ms);
    }

    /// Refills if a limit of these may have been full since the last refill: a debt made before the refill would vanish in
    /// it, and what is refunded to a full bucket is dropped. Otherwise the order does not matter, and a change that leaves
    /// the last refill alone conflicts with nobody.
    pub(crate) fn refilled_if_full<'a>(
        &self,
        names: impl Iterator<Item = &'a LimitName>,
        now_ms: i64,
    ) -> Bucket {
        if self.may_refill_later(names, now_ms) { self.clone() } else { self.refilled(now_ms) }
    }

    /// Whether a clock went back since: the time until `granted_until_ms` was granted, or the last refill is in the future.
    pub(crate) fn has_jumped(&self, now_ms: i64) -> bool {
        self.granted_until_ms.is_some() || self.is_ahead(now_ms)
    }

    /// When a limit that lacks `wait_ms` of refills is to be asked again, in milliseconds from now. Time that was granted
    /// before is granted again in small steps only, so then the next step is due sooner.
    pub(crate) fn retry_ms(&self, wait_ms: i64, now_ms: i64) -> i64 {
        let until = self.granted_until_ms.unwrap_or(self.refilled_ms);
        let again = until.saturating_sub(self.refilled_ms).min(wait_ms);
        let wait = if again > CLOCK_AHEAD_MAX_MS { CLOCK_AHEAD_MAX_MS } else { wait_ms };
        wait.saturating_add(self.refilled_ms.saturating_sub(now_ms).max(0))
    }

    /// Whether the last refill is further in the future than clocks differ.
    pub(crate) fn is_ahead(&self, now_ms: i64) -> bool {
        self.refilled_ms.saturating_sub(now_ms) > CLOCK_AHEAD_MAX_MS
    }

    /// The time since the last refill for which a refill is due. Time that was granted before is granted again in small steps
    /// only: that is how a corrected clock goes on, while one that went back and returns jumps.
    fn elapsed_ms(&self, now_ms: i64) -> i64 {
        let elapsed = now_ms.saturating_sub(self.refilled_ms);
        let until = self.granted_until_ms.unwrap_or(i64::MIN).min(now_ms);
        let again = until.saturating_sub(self.refilled_ms);
        if again > CLOCK_AHEAD_MAX_MS { elapsed - again } else { elapsed }
    }

    /// The bucket with new limits. Balances stay, up to the new capacity: a change of capacity never mints. A limit that the
    /// bucket had once continues; one that is new starts full.
    ///
    /// Refill first, so that the time until now is refilled at the old rate.
    #[must_use]
    pub fn with_limits(&self, limits: &[Limit]) -> Bucket {
        let mut bucket = Bucket::full(limits, self.shard, self.shard_count, self.refilled_ms);
        for meter in &mut bucket.meters {
            let share = meter.share(self.shard, self.shard_count);
            if let Some(old) = self.meter(&meter.name) {
                meter.continue_from(old, share);
            } else if let Some(retired) = self.retired(&meter.name) {
                meter.continue_from(&retired.refilled(self), share);
            }
        }
        // The write limit is not part of the config, so the config cannot remove it.
        bucket.meters.extend(self.meters.iter().filter(|meter| meter.name.is_wcu()).cloned());
        bucket.meters.sort_by(|a, b| a.name.cmp(&b.name));
        bucket.retired = self.retired_beside(&bucket.meters);
        Bucket {
            granted_until_ms: self.granted_until_ms,
            origin: self.origin,
            expires: self.expires,
            cascade: self.cascade,
            parent: self.parent.clone(),
            unknown: self.unknown.clone(),
            ..bucket
        }
    }

    /// A limit that the bucket had once.
    pub(crate) fn retired(&self, name: &LimitName) -> Option<&Retired> {
        self.retired.iter().find(|retired| retired.meter.name == *name)
    }

    /// The limits that the bucket had once or has now, and that are not among `meters`. If there are too many, those that
    /// have been refilled longest are forgotten: they are the first to be full.
    fn retired_beside(&self, meters: &[Meter]) -> Vec<Retired> {
        let removed = self.meters.iter().map(|meter| {
            let (meter, refilled_ms) = (meter.clone(), self.refilled_ms);
            Retired { meter, refilled_ms }
        });
        let is_gone =
            |retired: &Retired| meters.iter().all(|meter| meter.name != retired.meter.name);
        let mut retired: Vec<Retired> =
            removed.chain(self.retired.iter().cloned()).filter(is_gone).collect();
        retired.sort_by_key(|retired| std::cmp::Reverse(retired.refilled_ms));
        retired.truncate(LIMITS_MAX);
        retired.sort_by(|a, b| a.meter.name.cmp(&b.meter.name));
        retired
    }

    /// The most millitokens with which a take may leave the refill until later. Above it, the limit has been full since the
    /// last refill, and what a full bucket drops must not come back with a later refill. None, if any number may be there.
    pub(crate) fn most_without_refill(&self, meter: &Meter, now_ms: i64) -> Option<i64> {
        let elapsed = self.elapsed_ms(now_ms);
        if elapsed <= 0 {
            return None;
        }
        let share = self.share(meter);
        let empty = Level { tokens: 0, remainder: meter.level.remainder };
        let unlimited = Rate { capacity: i64::MAX, ..share };
        let refilled = empty.refilled(unlimited, elapsed).tokens;
        Some(share.capacity.saturating_sub(refilled).saturating_sub(1))
    }

    /// Whether takes of these limits may leave the refill until later.
    pub(crate) fn may_refill_later<'a>(
        &self,
        mut names: impl Iterator<Item = &'a LimitName>,
        now_ms: i64,
    ) -> bool {
        if self.is_ahead(now_ms) || self.is_expired(now_ms) {
            return false;
        }
        if faults::is(Fault::DoubleBurst) {
            return true;
        }
        names.all(|name| {
            self.meter(name).is_none_or(|meter| {
                let most = self.most_without_refill(meter, now_ms);
                most.is_none_or(|most| meter.level.tokens <= most)
            })
        })
    }

    /// Sets the expiry of a bucket with default limits that is used now, in seconds since 1970: never before every limit is
    /// full again, debts included, nor before leases end that last `leases_ms` from now, and never earlier than it was.
    /// `stays` is set for a bucket that does not expire.
    pub(crate) fn keep_alive(&mut self, stays: bool, leases_ms: i64, now_ms: i64) {
        let needed = expiry_after(self.lifetime_ms(now_ms).max(leases_ms), now_ms);
        let before = self.expires.filter(|_| !faults::is(Fault::ExpiryLowered));
        let expires = before.map_or(needed, |expires| expires.max(needed));
        self.expires = (!stays).then_some(expires);
    }

    /// How long a bucket without debts must live if it is not used: a multiple of its slowest fill.
    pub(crate) fn idle_lifetime_ms(&self) -> i64 {
        let meters = self.meters.iter().filter(|meter| !meter.name.is_wcu());
        let slowest = meters.map(|meter| meter.rate.fill_ms()).max().unwrap_or(MILLI);
        slowest.saturating_mul(EXPIRY_FILLS)
    }

    /// How long the bucket must live if it is not used: also until every limit is full.
    fn lifetime_ms(&self, now_ms: i64) -> i64 {
        if faults::is(Fault::DebtForgiven) {
            return self.idle_lifetime_ms();
        }
        // A clock that is ahead sees nothing refilled until then.
        let granted =
            self.granted_until_ms.map_or(self.refilled_ms, |until| until.max(self.refilled_ms));
        let ahead = granted.saturating_sub(now_ms).max(0);
        let of = |meter: &Meter, refilled_ms: i64| {
            let share = self.share(meter);
            let full = meter.level.wait_ms(share, share.capacity).unwrap_or_default();
            let since = now_ms.saturating_sub(refilled_ms).max(0);
            let since = if self.granted_until_ms.is_some() { 0 } else { since };
            full.saturating_sub(since).saturating_add(ahead)
        };
        let meters = self.meters.iter().filter(|meter| !meter.name.is_wcu());
        let meters = meters.map(|meter| of(meter, self.refilled_ms));
        let retired = self.retired.iter().map(|retired| of(&retired.meter, retired.refilled_ms));
        meters.chain(retired).fold(self.idle_lifetime_ms().saturating_add(ahead), i64::max)
    }

    /// This full bucket in place of an expired one: the counters continue, and neither the last refill nor the expiry goes
    /// back.
    pub(crate) fn replacing(mut self, expired: &Bucket) -> Bucket {
        for meter in &mut self.meters {
            let old = expired.meter(&meter.name);
            let old = old.or_else(|| Some(&expired.retired(&meter.name)?.meter));
            meter.consumed = old.map_or(0, |old| old.consumed);
        }
        self.retired = expired.retired_beside(&self.meters);
        self.refilled_ms = self.refilled_ms.max(expired.refilled_ms);
        self.granted_until_ms = expired.granted_until_ms.filter(|until| *until > self.refilled_ms);
        self.expires = expired.expires;
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
    /// consumed tokens changes by the whole amount either way. A limit that was removed gets its refunds too.
    pub fn take(&mut self, name: &LimitName, amount: i64) {
        let (shard, count) = (self.shard, self.shard_count);
        let retired = self.retired.iter_mut().map(|retired| &mut retired.meter);
        let mut meters = self.meters.iter_mut().chain(retired.filter(|_| amount < 0));
        if let Some(meter) = meters.find(|meter| meter.name == *name) {
            let ceiling = meter.share(shard, count).capacity.max(meter.level.tokens);
            meter.level.tokens = meter.level.tokens.saturating_sub(amount);
            if amount < 0 && meter.level.tokens >= ceiling {
                // A full bucket has no remainder.
                meter.level = Level { tokens: ceiling, remainder: 0 };
            }
            meter.consumed = meter.consumed.saturating_add(amount);
        }
    }

    /// The shard without tokens.
    pub(crate) fn emptied(mut self) -> Bucket {
        self.meters.iter_mut().for_each(|meter| meter.level = Level::default());
        self
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

impl Retired {
    /// The limit refilled to the last refill of `bucket`, to which it belonged.
    fn refilled(&self, bucket: &Bucket) -> Meter {
        let elapsed = bucket.refilled_ms.saturating_sub(self.refilled_ms);
        let share = bucket.share(&self.meter);
        Meter { level: self.meter.level.refilled(share, elapsed), ..self.meter.clone() }
    }
}

impl Meter {
    /// Takes over the balance of `old`, up to the new share, and its counter.
    fn continue_from(&mut self, old: &Meter, share: Rate) {
        // A remainder is a fraction of its period, so it means nothing in another one.
        let remainder =
            if old.rate.period_ms == self.rate.period_ms { old.level.remainder } else { 0 };
        let tokens = old.level.tokens.min(share.capacity);
        let remainder = if tokens == share.capacity { 0 } else { remainder };
        self.level = Level { tokens, remainder };
        self.consumed = old.consumed;
    }

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

/// When a bucket that lives `lifetime_ms` unused and is used at `now_ms` expires, in seconds since 1970, rounded up so that
/// it rarely changes.
#[must_use]
pub(crate) fn expiry_after(lifetime_ms: i64, now_ms: i64) -> i64 {
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
    fn the_level_at_a_time_is_that_of_the_refilled_bucket() {
        let mut bucket = Bucket::full(&[Limit::per_minute(name("rpm"), 60)], 0, 1, 1_000_000);
        bucket.take(&name("rpm"), 50 * MILLI);
        bucket.expires = Some(2_000);
        for granted_until_ms in [None, Some(1_010_000)] {
            let bucket = Bucket { granted_until_ms, ..bucket.clone() };
            let meter = bucket.meter(&name("rpm")).unwrap();
            for now_ms in [0, 999_000, 1_000_000, 1_000_001, 1_020_000, 1_999_999, 2_000_000] {
                let refilled = bucket.refilled(now_ms).meter(&name("rpm")).unwrap().level;
                assert_eq!(bucket.level_at(meter, now_ms), refilled, "{now_ms}");
                assert_eq!(bucket.refill_time(now_ms), bucket.refilled(now_ms).refilled_ms);
            }
        }
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
    fn expiry_moves_in_steps_and_never_back() {
        let limits = [limit("rpm", 60), Limit { refill_amount: 1, ..limit("slow", 60) }];
        let mut bucket = Bucket::full(&limits, 0, 1, 0);
        let mut expiry_at = |now_ms| {
            bucket.keep_alive(false, 0, now_ms);
            bucket.expires.unwrap()
        };
        // The slow one takes an hour: seven hours, rounded up to the next five minutes.
        assert_eq!(expiry_at(0), 25_200 + 300);
        assert_eq!(expiry_at(299_999), 25_200 + 300);
        assert_eq!(expiry_at(300_000), 25_200 + 600);
        assert_eq!(expiry_at(-3_600_000), 25_200 + 600, "the clock went back");
        bucket.keep_alive(true, 0, 0);
        assert_eq!(bucket.expires, None);
    }

    #[test]
    fn a_debt_is_not_forgotten_before_it_is_repaid() {
        let mut bucket = Bucket::full(&[limit("rpm", 1000)], 0, 1, 0);
        bucket.take(&name("rpm"), 61_000_000);
        bucket.keep_alive(false, 0, 0);
        // Sixty thousand tokens of debt and a thousand of capacity, at a thousand a minute.
        assert_eq!(bucket.expires, Some(61 * 60 + 240));
        let full = bucket.refilled(bucket.expires.unwrap() * MILLI);
        assert_eq!(full.meter(&name("rpm")).unwrap().level.tokens, 1_000_000);
    }

    #[test]
    fn a_limit_that_is_removed_and_added_again_continues() {
        let (rpm, tpm) = (limit("rpm", 60), limit("tpm", 60));
        let mut bucket = Bucket::full(&[rpm.clone(), tpm.clone()], 0, 1, 0);
        bucket.take(&name("rpm"), 90_000);
        let without = bucket.with_limits(std::slice::from_ref(&tpm)).refilled(10_000);
        assert!(without.meter(&name("rpm")).is_none());
        let again = without.with_limits(&[rpm, tpm]);
        let meter = again.meter(&name("rpm")).unwrap();
        assert_eq!((meter.level.tokens, meter.consumed), (-20_000, 90_000));
        assert!(again.retired.is_empty());
    }

    #[test]
    fn a_clock_that_was_ahead_is_set_back_and_grants_nothing() {
        let mut bucket = Bucket::full(&[limit("rpm", 60)], 0, 1, 3_600_000);
        bucket.take(&name("rpm"), 60_000);
        let back = bucket.refilled(0);
        assert_eq!((back.refilled_ms, back.meter(&name("rpm")).unwrap().level.tokens), (0, 0));
        assert_eq!(back.refilled(1_000).meter(&name("rpm")).unwrap().level.tokens, 1_000);
        // Clocks differ a little: that is left alone.
        assert_eq!(bucket.refilled(3_540_000).refilled_ms, 3_600_000);
    }

    #[test]
    fn a_clock_that_goes_back_and_returns_mints_nothing() {
        let tokens = |bucket: &Bucket| bucket.meter(&name("rpm")).unwrap().level.tokens;
        let mut bucket = Bucket::full(&[limit("rpm", 60)], 0, 1, 3_600_000);
        bucket.take(&name("rpm"), 50_000);
        let back = bucket.refilled(0);
        assert_eq!((tokens(&back), back.granted_until_ms), (10_000, Some(3_600_000)));
        let returned = back.refilled(3_600_000);
        assert_eq!((tokens(&returned), returned.granted_until_ms), (10_000, None));
        assert_eq!(tokens(&back.refilled(3_610_000)), 20_000, "ten seconds are new");
        // A clock that was ahead and is corrected goes on in small steps, and refills.
        let corrected = (1..=30).fold(back, |bucket, step| bucket.refilled(step * 1_000));
        assert_eq!((tokens(&corrected), corrected.granted_until_ms), (40_000, Some(3_600_000)));
    }

    #[test]
    fn a_take_refills_first_once_the_bucket_has_been_full() {
        let rate = Limit { refill_amount: 20, refill_period_seconds: 1, ..limit("rpm", 100) };
        let mut bucket = Bucket::full(&[rate], 0, 1, 0);
        bucket.take(&name("rpm"), 50_000);
        let names = [name("rpm")];
        let may = |bucket: &Bucket, now_ms| bucket.may_refill_later(names.iter(), now_ms);
        assert!(may(&bucket, 0) && may(&bucket, 2_499) && may(&bucket, -60_000));
        assert!(!may(&bucket, 2_500) && !may(&bucket, 60_000));
        let full = Bucket::full(&bucket.limits(), 0, 1, 0);
        assert!(may(&full, 0) && !may(&full, 1));
    }
}
