//! Refusals: the status of every requested limit with its `retry_after_ms`, and a short memory of refusals.
//!
//! A request that repeats a refused one, for at least as much and before a refill can help, is refused without the store.
//! Other processes may refund tokens meanwhile, so a refusal is remembered for a second at most.

use super::request::Amounts;
use super::{LimitStatus, Refused};
use crate::bounds::REFUSAL_MEMORY_MS;
use crate::bucket::{Bucket, Limit, MILLI};
use crate::ids::{EntityId, LimitName};

/// A refusal that this process remembers.
#[derive(Debug)]
pub(crate) struct CachedRefusal {
    /// The bucket when it refused, all shards combined.
    bucket: Bucket,
    /// The limits that fell short: millitokens requested, and the time before which a refill cannot help.
    short: Vec<(LimitName, i64, i64)>,
}

impl CachedRefusal {
    /// The refusal of `requested` by `bucket`, which is refilled to `now_ms`.
    pub(crate) fn new(bucket: Bucket, requested: &Amounts, now_ms: i64) -> CachedRefusal {
        let short = requested.iter().filter_map(|(name, amount)| {
            let meter = bucket.meter(name)?;
            let wait_ms = meter.level.wait_ms(meter.rate, *amount)?;
            let until = now_ms.saturating_add(wait_ms.min(REFUSAL_MEMORY_MS));
            (wait_ms > 0).then(|| (name.clone(), *amount, until))
        });
        CachedRefusal { short: short.collect(), bucket }
    }

    /// When the refusal stops to apply.
    pub(crate) fn until_ms(&self) -> i64 {
        self.short.iter().map(|(_, _, until)| *until).max().unwrap_or(i64::MIN)
    }

    /// Whether `requested` is refused for the same reason.
    pub(crate) fn refuses(&self, requested: &Amounts, now_ms: i64) -> bool {
        let repeats = |(name, refused, until): &(LimitName, i64, i64)| {
            now_ms < *until
                && requested.iter().any(|(other, amount)| other == name && amount >= refused)
        };
        self.short.iter().any(repeats)
    }

    /// The bucket refilled to `now_ms`, as if nobody had used it since.
    pub(crate) fn bucket(&self, now_ms: i64) -> Bucket {
        self.bucket.refilled(now_ms)
    }
}

/// The status of each requested limit. `bucket` is refilled to now and has all shards combined, or is one shard.
pub(crate) fn limit_statuses(
    entity: &EntityId,
    bucket: &Bucket,
    requested: &Amounts,
) -> Vec<LimitStatus> {
    let status = |(name, amount): &(LimitName, i64)| {
        let meter = bucket.meter(name)?;
        // From one shard alone the total is estimated: the others are assumed to be alike.
        let available = if bucket.shard_count == 1 {
            meter.level.tokens
        } else {
            let scaled = meter.level.tokens.saturating_mul(i64::from(bucket.shard_count));
            scaled.min(meter.rate.capacity)
        };
        Some(LimitStatus {
            entity: entity.clone(),
            limit: Limit::from_rate(name.clone(), meter.rate),
            available_milli: available,
            requested: amount / MILLI,
            deficit_milli: amount.saturating_sub(available).max(0),
            retry_after_ms: meter.level.wait_ms(meter.rate, *amount).unwrap_or(i64::MAX),
        })
    };
    requested.iter().filter_map(status).collect()
}

impl Refused {
    /// The refusal by these limits; the longest wait decides.
    pub(crate) fn new(limits: Vec<LimitStatus>) -> Refused {
        let retry_after_ms =
            limits.iter().map(|limit| limit.retry_after_ms).max().unwrap_or_default();
        Refused { limits, retry_after_ms: retry_after_ms.max(1) }
    }
}

/// The statuses after a grant: nothing is missing.
pub(crate) fn granted(mut limits: Vec<LimitStatus>) -> Vec<LimitStatus> {
    for limit in &mut limits {
        limit.deficit_milli = 0;
        limit.retry_after_ms = 0;
    }
    limits
}
