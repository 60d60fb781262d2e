//! Saying no: what a refusal tells, and remembering it for a moment.
//!
//! A repeat that asks at least as much of a limit that was short, before a refill can help, is answered without the
//! store. Others may give back meanwhile, so no refusal is remembered for longer than a second.

use super::ask::Amounts;
use super::{LimitStatus, Refused};
use crate::bounds::REFUSAL_MEMORY_MS;
use crate::bucket::{Bucket, Limit, MILLI};
use crate::ids::{EntityId, LimitName};

/// A refusal that is remembered.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The bucket as it was, all shards together.
    bucket: Bucket,
    /// Limits that were short: how much was asked, and until when a refill cannot help.
    short: Vec<(LimitName, i64, i64)>,
}

impl Refusal {
    /// The refusal of `asked` by a bucket that is like this at `now_ms`.
    pub(crate) fn new(bucket: Bucket, asked: &Amounts, now_ms: i64) -> Refusal {
        let short = asked.iter().filter_map(|(name, amount)| {
            let meter = bucket.meter(name)?;
            let wait_ms = meter.level.wait_ms(meter.rate, *amount)?;
            let until = now_ms.saturating_add(wait_ms.min(REFUSAL_MEMORY_MS));
            (wait_ms > 0).then(|| (name.clone(), *amount, until))
        });
        Refusal { short: short.collect(), bucket }
    }

    /// Until when it says something.
    pub(crate) fn until_ms(&self) -> i64 {
        self.short.iter().map(|(_, _, until)| *until).max().unwrap_or(i64::MIN)
    }

    /// Whether `asked` is refused again, for the same reason.
    pub(crate) fn refuses(&self, asked: &Amounts, now_ms: i64) -> bool {
        let again = |(name, refused, until): &(LimitName, i64, i64)| {
            now_ms < *until
                && asked.iter().any(|(asked, amount)| asked == name && amount >= refused)
        };
        self.short.iter().any(again)
    }

    /// The bucket as it would be now if nobody had touched it.
    pub(crate) fn bucket(&self, now_ms: i64) -> Bucket {
        self.bucket.refilled(now_ms)
    }
}

/// How a bucket stands to what is asked of it. It is refilled to now and all its shards are in it.
pub(crate) fn statuses(entity: &EntityId, bucket: &Bucket, asked: &Amounts) -> Vec<LimitStatus> {
    let status = |(name, amount): &(LimitName, i64)| {
        let meter = bucket.meter(name)?;
        // Of a shard alone, the others are taken to be like it.
        let available = if bucket.shard_count == 1 {
            meter.level.tokens
        } else {
            let scaled = meter.level.tokens.saturating_mul(i64::from(bucket.shard_count));
            scaled.min(meter.rate.capacity)
        };
        Some(LimitStatus {
            entity: entity.clone(),
            limit: Limit::of(name.clone(), meter.rate),
            available_milli: available,
            asked: amount / MILLI,
            deficit_milli: amount.saturating_sub(available).max(0),
            retry_after_ms: meter.level.wait_ms(meter.rate, *amount).unwrap_or(i64::MAX),
        })
    };
    asked.iter().filter_map(status).collect()
}

/// The refusal that these limits make together: the largest wait governs.
pub(crate) fn refused(limits: Vec<LimitStatus>) -> Refused {
    let retry_after_ms = limits.iter().map(|limit| limit.retry_after_ms).max().unwrap_or_default();
    Refused { limits, retry_after_ms: retry_after_ms.max(1) }
}

/// The same limits after a grant: nothing is missing.
pub(crate) fn granted(mut limits: Vec<LimitStatus>) -> Vec<LimitStatus> {
    for limit in &mut limits {
        limit.deficit_milli = 0;
        limit.retry_after_ms = 0;
    }
    limits
}
