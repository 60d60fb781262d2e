//! How fast a bucket refills, and its level.

/// The capacity and refill rate of a limit, or of one shard's share of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Most millitokens at once.
    pub capacity: i64,
    /// Millitokens added per period.
    pub refill: i64,
    /// The period in milliseconds; never zero.
    pub period_ms: i64,
}

/// The level of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Level {
    /// Available millitokens; negative is a debt.
    pub tokens: i64,
    /// Remainder of the last refill, in units of 1/`period_ms` of a millitoken.
    pub remainder: i64,
}

impl Rate {
    /// The share of shard `shard` of `count`. Shares differ by at most one, larger ones first, and sum to the whole. Doubling
    /// the count splits each share in two.
    #[must_use]
    pub fn share(self, shard: u32, count: u32) -> Rate {
        if count <= 1 {
            return self;
        }
        let part = |whole: i64| {
            let (count, shard) = (i64::from(count.max(1)), i64::from(shard));
            whole / count + i64::from(shard < whole % count)
        };
        Rate { capacity: part(self.capacity), refill: part(self.refill), ..self }
    }

    /// How long an empty bucket takes to fill, rounded up.
    #[must_use]
    pub fn fill_ms(self) -> i64 {
        let refill = self.refill.max(1);
        // The product nearly always fits an `i64`, and that division is much cheaper.
        if let Some(product) = self.capacity.checked_mul(self.period_ms) {
            return product / refill + i64::from(product % refill != 0);
        }
        let product = i128::from(self.capacity) * i128::from(self.period_ms);
        to_i64(ceil_div(product, i128::from(refill)))
    }

    /// The level of a full bucket.
    #[must_use]
    pub fn full(self) -> Level {
        Level { tokens: self.capacity, remainder: 0 }
    }
}

impl Level {
    /// Refills for `elapsed_ms`; time that goes backwards changes nothing.
    #[must_use]
    pub fn refilled(self, rate: Rate, elapsed_ms: i64) -> Level {
        let elapsed = elapsed_ms.max(0);
        let period = rate.period_ms.max(1);
        // The remainder may come from an older, longer period.
        let carried = self.remainder.clamp(0, period - 1);
        // The product nearly always fits an `i64`, and that division is much cheaper.
        let parts = elapsed.checked_mul(rate.refill).and_then(|parts| parts.checked_add(carried));
        let (came, remainder) = match parts {
            Some(parts) => (i128::from(parts / period), parts % period),
            None => {
                let parts = i128::from(elapsed) * i128::from(rate.refill) + i128::from(carried);
                let period = i128::from(period);
                (parts / period, to_i64(parts % period))
            }
        };
        let tokens = i128::from(self.tokens) + came;
        if tokens >= i128::from(rate.capacity) {
            return rate.full();
        }
        let level = Level { tokens: to_i64(tokens), remainder };
        debug_assert!(level.tokens < rate.capacity && level.remainder < rate.period_ms);
        level
    }

    /// How long until `amount` millitokens are available, rounded up; none if that exceeds the capacity.
    #[must_use]
    pub fn wait_ms(self, rate: Rate, amount: i64) -> Option<i64> {
        if amount > rate.capacity {
            return None;
        }
        let missing = i128::from(amount) - i128::from(self.tokens);
        if missing <= 0 {
            return Some(0);
        }
        let carried = self.remainder.clamp(0, rate.period_ms.max(1) - 1);
        let parts = missing * i128::from(rate.period_ms.max(1)) - i128::from(carried);
        Some(to_i64(ceil_div(parts, i128::from(rate.refill.max(1)))))
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    let floor = a.div_euclid(b);
    floor + i128::from(a.rem_euclid(b) != 0)
}

/// Saturates: a larger number exceeds every bound.
fn to_i64(value: i128) -> i64 {
    let clamped = value.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    i64::try_from(clamped).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUNDRED_A_MINUTE: Rate = Rate { capacity: 100_000, refill: 100_000, period_ms: 60_000 };

    #[test]
    fn polling_every_millisecond_mints_nothing() {
        let mut level = Level::default();
        for _ in 0..60_000 {
            level = level.refilled(HUNDRED_A_MINUTE, 1);
        }
        assert_eq!(level, HUNDRED_A_MINUTE.full());
        let mut level = Level { tokens: -1_000_000, remainder: 0 };
        for _ in 0..60_000 {
            level = level.refilled(HUNDRED_A_MINUTE, 1);
        }
        assert_eq!(level, Level { tokens: -900_000, remainder: 0 });
    }

    #[test]
    fn waiting_rounds_up() {
        let level = Level { tokens: 0, remainder: 0 };
        // 1 token: 1000 millitokens at 5/3 per millisecond.
        assert_eq!(level.wait_ms(HUNDRED_A_MINUTE, 1_000), Some(600));
        assert_eq!(level.wait_ms(HUNDRED_A_MINUTE, 1), Some(1));
        assert_eq!(level.wait_ms(HUNDRED_A_MINUTE, 2), Some(2));
        assert_eq!(level.wait_ms(HUNDRED_A_MINUTE, 0), Some(0));
        assert_eq!(level.wait_ms(HUNDRED_A_MINUTE, 100_000), Some(60_000));
        assert_eq!(level.wait_ms(HUNDRED_A_MINUTE, 100_001), None);
        let debt = Level { tokens: -100_000, remainder: 0 };
        assert_eq!(debt.wait_ms(HUNDRED_A_MINUTE, 1_000), Some(60_600));
    }
}
