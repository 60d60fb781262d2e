//! What a bucket has and has given, added up without rounding.
//!
//! Amounts are in parts: a millitoken has as many as its limit's period has milliseconds, so that refills, and what they
//! leave over, are whole numbers.

use weir_limiter::bucket::{Bucket, Rate};
use weir_limiter::ids::LimitName;

const MILLI: i64 = 1_000;

/// One limit of a bucket at one moment, all shards together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Balance {
    rate: Rate,
    /// When.
    at_ms: i64,
    /// What there is, in parts.
    parts: i128,
    /// Millitokens consumed since ever.
    consumed: i64,
    pub(crate) shards: usize,
}

impl Balance {
    /// The balance of a bucket, refilled to the moment at which the last of its shards was.
    pub(crate) fn of(shards: &[Bucket], limit: &str) -> Balance {
        let name = LimitName::new(limit).unwrap();
        let at_ms = shards.iter().map(|shard| shard.refilled_ms).max().unwrap();
        let rate = shards[0].meter(&name).unwrap().rate;
        let (mut parts, mut consumed) = (0, 0);
        for shard in shards {
            assert_eq!(shard.shard_count as usize, shards.len(), "{shard:?}");
            let now = shard.refilled(at_ms);
            let meter = now.meter(&name).unwrap();
            assert!(meter.level.tokens <= now.share(meter).capacity, "above capacity: {shard:?}");
            parts += i128::from(meter.level.tokens) * i128::from(rate.period_ms);
            parts += i128::from(meter.level.remainder);
            consumed += meter.consumed;
        }
        Balance { rate, at_ms, parts, consumed, shards: shards.len() }
    }

    /// Whole tokens consumed since ever.
    pub(crate) fn consumed_in_all(&self) -> i64 {
        assert_eq!(self.consumed % MILLI, 0, "{self:?}");
        self.consumed / MILLI
    }

    /// Whole tokens consumed since `opening`.
    pub(crate) fn consumed_since(&self, opening: &Balance) -> i64 {
        self.consumed_in_all() - opening.consumed_in_all()
    }

    /// Checks that what there is and what was consumed is what there was and what came in, to the last part.
    pub(crate) fn check(&self, opening: &Balance) {
        let consumed = self.to_parts(self.consumed_since(opening));
        let came_in = opening.refill_until(self.at_ms);
        assert_eq!(self.parts + consumed, opening.parts + came_in, "{opening:?} {self:?}");
    }

    /// Parts that come in from here until `until_ms`.
    fn refill_until(&self, until_ms: i64) -> i128 {
        i128::from(self.rate.refill) * i128::from((until_ms - self.at_ms).max(0))
    }

    /// Parts of so many tokens.
    pub(crate) fn to_parts(self, tokens: i64) -> i128 {
        i128::from(tokens) * i128::from(MILLI) * i128::from(self.rate.period_ms)
    }

    /// Parts that can have been given until `until_ms`: what there is and what comes in.
    pub(crate) fn until(&self, until_ms: i64) -> i128 {
        self.parts + self.refill_until(until_ms)
    }

    /// Parts as tokens, to be read.
    pub(crate) fn to_tokens(self, parts: i128) -> f64 {
        let milli = parts / i128::from(self.rate.period_ms);
        f64::from(i32::try_from(milli).unwrap_or(i32::MAX)) / 1_000.0
    }
}
