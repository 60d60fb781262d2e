//! The next step after the fast path's condition failed: a pure function of the cached bucket and the one in the table.

use super::bucket_plan::is_out_of_writes;
use super::request::covers;
use super::take::Take;
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

/// Decides how to continue after a take was refused by `found`.
pub(crate) fn next_step(
    found: Option<&Bucket>,
    take: &Take<'_>,
    splits: bool,
    now_ms: i64,
) -> Next {
    let is_usable = |found: &&Bucket| {
        found.refilled_ms != 0 && !found.is_expired(now_ms) && !found.has_jumped(now_ms)
    };
    let Some(found) = found.filter(is_usable) else { return Next::SlowPath };
    if found.unknown.is_some() || (take.shared && found.shard_count > 1) {
        return Next::SlowPath;
    }
    // Limits that come from elsewhere now, or from nowhere, refuse nothing that the config does not.
    if found.origin != take.image.origin {
        return Next::SlowPath;
    }
    let is_stale = |image: &Bucket| image.cascade != found.cascade || image.parent != found.parent;
    let has_absent = take.absent_limits.iter().any(|name| found.meter(name).is_some());
    if take.expected().is_some_and(is_stale) || has_absent {
        return Next::Retry;
    }
    let amounts = take.amounts;
    let can_ever = |(name, amount): &(LimitName, i64)| {
        found.meter(name).is_some_and(|meter| *amount <= meter.rate.capacity)
    };
    if !amounts.iter().all(can_ever) {
        return Next::SlowPath;
    }
    let now = found.refilled(now_ms);
    if take.is_metered() {
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
    if covers(&now, amounts) {
        return Next::Retry;
    }
    if found.shard_count > 1 {
        return Next::SlowPath;
    }
    debug_assert!(now.meters.iter().all(|meter| meter.rate.period_ms >= MILLI));
    Next::Refuse(now)
}

#[cfg(test)]
mod tests {
    use super::super::request::Amounts;
    use super::super::take::Wcu;
    use super::*;
    use crate::bucket::Limit;
    use crate::ids::{EntityId, NamespaceId, Resource};
    use crate::item::BucketId;

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
        next_of(found, &Take::new(&id(), &bucket(0), requested, wcu, now_ms), now_ms)
    }

    fn next_of(found: Option<&Bucket>, take: &Take<'_>, now_ms: i64) -> Next {
        next_step(found, take, true, now_ms)
    }

    fn id() -> BucketId {
        BucketId {
            ns: NamespaceId::new("abcdefghijk").unwrap(),
            entity: EntityId::new("e").unwrap(),
            resource: Resource::new("r").unwrap(),
        }
    }

    #[test]
    fn a_refused_take_leads_to_the_right_next_step() {
        let now = 1_000_000;
        let empty = bucket(60);
        let one = amounts("rpm", 1);
        assert_eq!(next(None, &one, Wcu::None, now), Next::SlowPath, "no bucket");
        assert_eq!(next(Some(&empty), &one, Wcu::None, now), Next::Refuse(empty.clone()));
        assert_eq!(next(Some(&empty), &one, Wcu::None, now + 1_000), Next::Retry, "a refill helps");
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
        assert_eq!(next(Some(&hot), &one, Wcu::Charged, now + 1), Next::Retry, "refilled writes");
        let most = Bucket { shard_count: SHARDS_MAX, ..hot };
        assert_eq!(next(Some(&most), &one, Wcu::Charged, now), Next::RetryUnmetered);
        let absent_limits = [name("rpm")];
        let (id, image, requested) = (id(), bucket(0), amounts("tpm", 1));
        let take = Take::new(&id, &image, &requested, Wcu::None, now);
        let take = Take { absent_limits: &absent_limits, ..take };
        assert_eq!(next_of(Some(&empty), &take, now), Next::Retry, "the bucket has the limit now");
    }
}
