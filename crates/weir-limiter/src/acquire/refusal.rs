//! Refusals: the status of every requested limit with its `retry_after_ms`, and a short memory of refusals.
//!
//! A repeated request is refused without the store, if this process has changed none of the buckets since and they would
//! still refuse it. The response is computed from the same buckets, so it is the store's. Other processes may refund tokens
//! meanwhile, so a refusal is remembered for a second at most.

use std::borrow::Cow;

use super::request::{Amounts, restricted_to};
use super::{LimitStatus, Refused};
use crate::bounds::REFUSAL_MEMORY_MS;
use crate::bucket::{Bucket, Level, Limit, MILLI, Meter};
use crate::ids::{EntityId, LimitName};
use crate::item::BucketId;

/// A bucket that pays for a request: all shards combined.
#[derive(Debug)]
pub(crate) struct Payer {
    pub(crate) id: BucketId,
    pub(crate) whole: Bucket,
    /// The version of the cached bucket, if this process has changed nothing since the store was asked.
    pub(crate) version: Option<u64>,
}

/// A refusal that this process remembers.
#[derive(Debug)]
pub(crate) struct CachedRefusal {
    /// The limits that were requested. For others another bucket might pay.
    names: Vec<LimitName>,
    /// The buckets when they refused: the entity's own and, if it cascades, its parent's.
    payers: Vec<Payer>,
    at_ms: i64,
}

impl CachedRefusal {
    /// The refusal at `now_ms` of a request for some of these limits, by these buckets.
    pub(crate) fn new(names: Vec<LimitName>, payers: Vec<Payer>, now_ms: i64) -> CachedRefusal {
        CachedRefusal { names, payers, at_ms: now_ms }
    }

    /// The response to a request for `amounts`. None, if the store has to decide.
    pub(crate) fn response(
        &self,
        amounts: &Amounts,
        now_ms: i64,
        version: impl Fn(&BucketId) -> Option<u64>,
    ) -> Option<Vec<LimitStatus>> {
        let age_ms = now_ms.saturating_sub(self.at_ms);
        let is_asked = |(name, _): &(LimitName, i64)| self.names.contains(name);
        if !(0..REFUSAL_MEMORY_MS).contains(&age_ms) || !amounts.iter().all(is_asked) {
            return None;
        }
        let (mut limits, mut is_short) = (Vec::new(), false);
        for (number, payer) in self.payers.iter().enumerate() {
            if version(&payer.id) != payer.version {
                return None;
            }
            let now = payer.whole.refilled(now_ms);
            // A parent pays only for limits that it has; the entity must have them all.
            let amounts = match number {
                0 => Cow::Borrowed(amounts),
                _ => Cow::Owned(restricted_to(amounts, |name| now.meter(name).is_some())),
            };
            let can_ever = |(name, amount): &(LimitName, i64)| {
                now.meter(name).is_some_and(|meter| *amount <= meter.rate.capacity)
            };
            if !amounts.iter().all(can_ever) {
                return None;
            }
            let statuses = limit_statuses(&payer.id.entity, &now, &amounts, now_ms);
            is_short |= statuses.iter().any(|status| status.deficit_milli > 0);
            limits.extend(statuses);
        }
        is_short.then_some(limits)
    }
}

/// The status of each requested limit. `bucket` is refilled to now and has all shards combined, or is one shard.
pub(crate) fn limit_statuses(
    entity: &EntityId,
    bucket: &Bucket,
    requested: &Amounts,
    now_ms: i64,
) -> Vec<LimitStatus> {
    let status = |(name, amount): &(LimitName, i64)| {
        let meter = bucket.meter(name)?;
        let available = total_tokens(bucket, meter, meter.level);
        let retry_after_ms = match meter.level.wait_ms(meter.rate, *amount) {
            Some(0) => 0,
            Some(wait_ms) => bucket.retry_ms(wait_ms, now_ms),
            None => i64::MAX,
        };
        Some(LimitStatus {
            entity: entity.clone(),
            limit: Limit::from_rate(name.clone(), meter.rate),
            available_milli: available,
            requested: amount / MILLI,
            deficit_milli: amount.saturating_sub(available).max(0),
            retry_after_ms,
        })
    };
    requested.iter().filter_map(status).collect()
}

/// The status of each requested limit after a grant by `bucket`: nothing is missing.
pub(crate) fn granted_statuses<'a>(
    entity: &'a EntityId,
    bucket: &'a Bucket,
    requested: &'a Amounts,
    now_ms: i64,
) -> impl Iterator<Item = LimitStatus> + 'a {
    requested.iter().filter_map(move |(name, amount)| {
        let meter = bucket.meter(name)?;
        Some(LimitStatus {
            entity: entity.clone(),
            limit: Limit::from_rate(name.clone(), meter.rate),
            available_milli: total_tokens(bucket, meter, bucket.level_at(meter, now_ms)),
            requested: amount / MILLI,
            deficit_milli: 0,
            retry_after_ms: 0,
        })
    })
}

/// The tokens of all shards. From one shard alone they are estimated: the others are assumed to be alike.
fn total_tokens(bucket: &Bucket, meter: &Meter, level: Level) -> i64 {
    if bucket.shard_count == 1 {
        return level.tokens;
    }
    level.tokens.saturating_mul(i64::from(bucket.shard_count)).min(meter.rate.capacity)
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
