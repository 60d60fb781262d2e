//! A token bucket with exact fractions.

use std::collections::BTreeMap;

use weir_limiter::bucket::Rate;
use weir_limiter::ids::LimitName;

/// The longest step in which time that was granted before is granted again.
const AGAIN_MAX_MS: i64 = 60_000;

/// A limit of a bucket. Its level is counted in parts, of which a millitoken has as many as the period has milliseconds: so
/// each millisecond adds a whole number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meter {
    /// Capacity, refill and period.
    pub rate: Rate,
    /// The level in parts, when the bucket was last refilled.
    pub parts: i128,
    /// Millitokens consumed so far.
    pub consumed: i64,
}

impl Meter {
    /// A full meter.
    #[must_use]
    pub fn full(rate: Rate) -> Meter {
        Meter { rate, parts: parts(rate.capacity, rate), consumed: 0 }
    }

    /// The level `elapsed_ms` later, at most the capacity.
    #[must_use]
    pub fn after(&self, elapsed_ms: i64) -> i128 {
        let full = parts(self.rate.capacity, self.rate);
        let added = i128::from(elapsed_ms.max(0)) * i128::from(self.rate.refill);
        full.min(self.parts + added)
    }

    /// Whether it is full `elapsed_ms` later.
    #[must_use]
    pub fn is_full_after(&self, elapsed_ms: i64) -> bool {
        self.after(elapsed_ms) >= parts(self.rate.capacity, self.rate)
    }

    /// The milliseconds until it is full.
    #[must_use]
    pub fn until_full_ms(&self) -> i64 {
        let missing = parts(self.rate.capacity, self.rate) - self.parts;
        let refill = i128::from(self.rate.refill);
        i64::try_from((missing.max(0) + refill - 1) / refill).unwrap_or(i64::MAX)
    }

    /// Takes millitokens, also below zero; a negative amount is given back, up to the capacity.
    pub fn take(&mut self, amount: i64) {
        let full = parts(self.rate.capacity, self.rate);
        self.parts -= parts(amount, self.rate);
        if amount < 0 {
            self.parts = self.parts.min(full);
        }
        self.consumed += amount;
    }

    /// The same level at another rate: no more than before, and no more than its capacity.
    #[must_use]
    pub fn at_rate(&self, rate: Rate) -> Meter {
        let full = parts(rate.capacity, rate);
        let level = if rate.period_ms == self.rate.period_ms {
            self.parts
        } else {
            parts(self.millitokens(), rate)
        };
        Meter { rate, parts: level.min(full), consumed: self.consumed }
    }

    /// Whole millitokens.
    #[must_use]
    pub fn millitokens(&self) -> i64 {
        whole(self.parts, self.rate)
    }
}

/// A bucket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bucket {
    /// When all limits were last refilled.
    pub refilled_ms: i64,
    /// The time until which refills were granted before a clock went back.
    pub granted_until_ms: i64,
    /// The limits.
    pub meters: BTreeMap<LimitName, Meter>,
    /// Limits that were removed, as they were then, and when.
    pub removed: BTreeMap<LimitName, (Meter, i64)>,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub fn full(rates: &BTreeMap<LimitName, Rate>, now_ms: i64) -> Bucket {
        let meters = rates.iter().map(|(name, rate)| (name.clone(), Meter::full(*rate)));
        Bucket { refilled_ms: now_ms, meters: meters.collect(), ..Bucket::default() }
    }

    /// Whether it has been full for the reader of this clock, also of limits that were removed.
    #[must_use]
    pub fn is_full_at(&self, now_ms: i64) -> bool {
        let is_full = |(meter, since_ms): &(Meter, i64)| meter.is_full_after(now_ms - since_ms);
        self.meters.values().all(|meter| meter.is_full_after(self.elapsed_ms(now_ms)))
            && self.removed.values().all(is_full)
    }

    /// Millitokens of a limit for the reader of this clock.
    #[must_use]
    pub fn available(&self, name: &LimitName, now_ms: i64) -> Option<i64> {
        let meter = self.meters.get(name)?;
        Some(whole(meter.after(self.elapsed_ms(now_ms)), meter.rate))
    }

    /// When all limits are full, also those that were removed, for the reader of any clock: one that is ahead gets
    /// nothing for time that was granted before.
    #[must_use]
    pub fn full_at_ms(&self) -> i64 {
        let from_ms = self.refilled_ms.max(self.granted_until_ms);
        let meters = self.meters.values().map(|meter| from_ms + meter.until_full_ms());
        let removed = self.removed.values().map(|(meter, since)| since + meter.until_full_ms());
        meters.chain(removed).max().unwrap_or(from_ms)
    }

    /// Takes millitokens of a limit, or gives them back, also to one that was removed.
    pub fn take(&mut self, name: &LimitName, amount: i64) {
        let removed = self.removed.get_mut(name).map(|(meter, _)| meter);
        if let Some(meter) = self.meters.get_mut(name).or(removed) {
            meter.take(amount);
        }
    }

    /// Whether it has a limit, or had it.
    #[must_use]
    pub fn knows(&self, name: &LimitName) -> bool {
        self.meters.contains_key(name) || self.removed.contains_key(name)
    }

    /// An expired bucket that is made again with these limits: it is full, and its counters go on.
    #[must_use]
    pub fn made_again(&self, rates: &BTreeMap<LimitName, Rate>, now_ms: i64) -> Bucket {
        let mut again = self.clone();
        again.conform(rates, self.refilled_ms);
        for meter in again.meters.values_mut() {
            meter.parts = Meter::full(meter.rate).parts;
        }
        Bucket { refilled_ms: now_ms, ..again }
    }

    /// Whether time is granted again from this moment on, which happens in steps of a minute at most.
    #[must_use]
    pub fn goes_on_in_steps(&self, now_ms: i64) -> bool {
        self.granted_until_ms - now_ms > AGAIN_MAX_MS
    }

    /// Refills to a time that is not before the last refill.
    pub fn refill(&mut self, to_ms: i64) {
        let elapsed_ms = self.elapsed_ms(to_ms);
        for meter in self.meters.values_mut() {
            meter.parts = meter.after(elapsed_ms);
        }
        self.refilled_ms = to_ms;
    }

    /// Sets the last refill back to a clock that is behind it. The time until then has been granted.
    pub fn set_back(&mut self, to_ms: i64) {
        self.granted_until_ms = self.granted_until_ms.max(self.refilled_ms);
        self.refilled_ms = to_ms;
    }

    /// The time for which a refill is due: what was granted before is granted again in steps of a minute at most.
    #[must_use]
    pub fn elapsed_ms(&self, now_ms: i64) -> i64 {
        let elapsed = now_ms - self.refilled_ms;
        let again = self.granted_until_ms.min(now_ms) - self.refilled_ms;
        if again > AGAIN_MAX_MS { elapsed - again } else { elapsed }
    }

    /// Changes the limits. Levels stay, a new limit starts full, and one that was removed goes on from where it was.
    pub fn conform(&mut self, rates: &BTreeMap<LimitName, Rate>, now_ms: i64) {
        let mut old = std::mem::take(&mut self.meters);
        for (name, rate) in rates {
            let again = |(mut meter, since_ms): (Meter, i64)| {
                meter.parts = meter.after(now_ms - since_ms);
                meter
            };
            let known = old.remove(name).or_else(|| self.removed.remove(name).map(again));
            let meter = known.map_or_else(|| Meter::full(*rate), |meter| meter.at_rate(*rate));
            self.meters.insert(name.clone(), meter);
        }
        self.removed.extend(old.into_iter().map(|(name, meter)| (name, (meter, now_ms))));
    }
}

fn parts(millitokens: i64, rate: Rate) -> i128 {
    i128::from(millitokens) * i128::from(rate.period_ms)
}

fn whole(parts: i128, rate: Rate) -> i64 {
    i64::try_from(parts.div_euclid(i128::from(rate.period_ms))).unwrap_or(i64::MAX)
}
