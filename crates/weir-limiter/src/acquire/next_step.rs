//! The next step after the fast path's condition failed: a pure function of the cached bucket and the one in the table.

use super::bucket_cache::CachedBucket;
use super::bucket_plan::is_out_of_writes;
use super::request::{Amounts, covers};
use super::take::Wcu;
use crate::bounds::SHARDS_MAX;
use crate::bucket::{Bucket, MILLI};
use crate::ids::LimitName;

/// The step that follows a refused take.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read, refill and take.
    SlowPath,
    /// The cached bucket was out of date; retry with the one found.
    Retry,
    /// The shard is hot: split the bucket, which has this many shards.
    Split(u32),
    /// The shard is hot and cannot be split: retry without metering the write.
    RetryUnmetered,
    /// The bucket, refilled to now, has too little.
    Refuse(Bucket),
}

/// Decides how to continue after a take of `amounts` was refused by `found`.
pub(crate) fn next_step(
    found: Option<&Bucket>,
    cached: Option<&CachedBucket>,
    amounts: &Amounts,
    absent_limits: &[LimitName],
    wcu: Wcu,
    splits: bool,
    now_ms: i64,
) -> Next {
    let Some(found) = found.filter(|found| found.refilled_ms != 0 && !found.is_expired(now_ms))
    else {
        return Next::SlowPath;
    };
    let is_stale =
        |cached: &CachedBucket| cached.cascade != found.cascade || cached.parent != found.parent;
    let has_absent = absent_limits.iter().any(|name| found.meter(name).is_some());
    if cached.is_some_and(is_stale) || has_absent {
        return Next::Retry;
    }
    let can_ever = |(name, amount): &(LimitName, i64)| {
        found.meter(name).is_some_and(|meter| *amount <= meter.rate.capacity)
    };
    if !amounts.iter().all(can_ever) {
        return Next::SlowPath;
    }
    let now = found.refilled(now_ms);
    if wcu == Wcu::Charged {
        if found.meter(&LimitName::wcu()).is_none() {
            return Next::SlowPath;
        }
        if is_out_of_writes(&now) {
            return match found.shard_count {
                // In a shared table the slow path refills the write limit for the other program.
                _ if !splits => Next::SlowPath,
                count if count < SHARDS_MAX => Next::Split(count),
                _ => Next::RetryUnmetered,
            };
        }
    }
    if covers(&now, amounts) || found.shard_count > 1 {
        return Next::SlowPath;
    }
    debug_assert!(now.meters.iter().all(|meter| meter.rate.period_ms >= MILLI));
    Next::Refuse(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Limit;

    fn name(text: &str) -> LimitName {
        LimitName::new(text).unwrap()
    }

    fn bucket(taken: i64) -> Bucket {
        let limits = [Limit::per_minute(name("rpm"), 60)];
        let mut bucket = Bucket::full(&limits, 0, 1, 1_000_000).with_wcu();
        bucket.take(&name("rpm"), taken * MILLI);
        bucket
    }

    fn amounts(text: &str, tokens: i64) -> Amounts {
        vec![(name(text), tokens * MILLI)]
    }

    fn next(found: Option<&Bucket>, requested: &Amounts, wcu: Wcu, now_ms: i64) -> Next {
        next_step(found, None, requested, &[], wcu, true, now_ms)
    }

    #[test]
    fn a_refused_take_leads_to_the_right_next_step() {
        let now = 1_000_000;
        let empty = bucket(60);
        let one = amounts("rpm", 1);
        assert_eq!(next(None, &one, Wcu::None, now), Next::SlowPath, "no bucket");
        assert_eq!(next(Some(&empty), &one, Wcu::None, now), Next::Refuse(empty.clone()));
        assert_eq!(
            next(Some(&empty), &one, Wcu::None, now + 1_000),
            Next::SlowPath,
            "a refill helps"
        );
        assert_eq!(
            next(Some(&empty), &amounts("tpm", 1), Wcu::None, now),
            Next::SlowPath,
            "unknown limit"
        );
        assert_eq!(
            next(Some(&empty), &amounts("rpm", 61), Wcu::None, now),
            Next::SlowPath,
            "beyond the capacity"
        );
        let expired = Bucket { expires: Some(now / 1_000), ..empty.clone() };
        assert_eq!(next(Some(&expired), &one, Wcu::None, now), Next::SlowPath, "expired");
        let sharded = Bucket { shard_count: 2, ..empty.clone() };
        assert_eq!(
            next(Some(&sharded), &one, Wcu::None, now),
            Next::SlowPath,
            "other shards may have it"
        );
        let mut hot = bucket(0);
        hot.take(&LimitName::wcu(), 1_000 * MILLI);
        assert_eq!(next(Some(&hot), &one, Wcu::Charged, now), Next::Split(1));
        assert_eq!(
            next(Some(&hot), &one, Wcu::Charged, now + 1),
            Next::SlowPath,
            "refilled writes"
        );
        let most = Bucket { shard_count: SHARDS_MAX, ..hot };
        assert_eq!(next(Some(&most), &one, Wcu::Charged, now), Next::RetryUnmetered);
        let absent_limits = [name("rpm")];
        let other =
            next_step(Some(&empty), None, &amounts("tpm", 1), &absent_limits, Wcu::None, true, now);
        assert_eq!(other, Next::Retry, "the bucket has the limit now");
    }
}
