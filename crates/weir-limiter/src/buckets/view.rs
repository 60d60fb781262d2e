//! The view of a bucket, from its shards.

use super::{BucketView, LimitView};
use crate::bucket::{Bucket, Limit, MILLI, Meter};
use crate::item::BucketId;

/// Sums the shards of a bucket, refilled to now. None, if the bucket is missing or expired.
///
/// A shard that is missing or expired counts as full, because it will be created full. In a `shared` table one that is
/// missing counts as empty, because it will not be.
pub(crate) fn view(
    id: &BucketId,
    shards: &[Bucket],
    shared: bool,
    now_ms: i64,
) -> Option<BucketView> {
    let first = shards.first().filter(|first| first.shard == 0 && !first.is_expired(now_ms))?;
    let live: Vec<Bucket> = shards
        .iter()
        .filter(|shard| !shard.is_expired(now_ms))
        .map(|shard| shard.refilled(now_ms))
        .collect();
    let exists = |number| shards.iter().any(|shard| shard.shard == number);
    let numbers: Vec<u32> =
        (0..first.shard_count).filter(|number| !shared || exists(*number)).collect();
    let limits = first.meters.iter().filter(|meter| !meter.name.is_wcu());
    Some(BucketView {
        entity: id.entity.clone(),
        resource: id.resource.clone(),
        shards: first.shard_count,
        limits: limits.map(|meter| limit(meter, &numbers, shards, &live)).collect(),
        expires_ms: first.expires.map(|expires| expires.saturating_mul(MILLI)),
        cascade: first.cascade,
        parent: first.parent.clone(),
    })
}

/// Sums the shards with these numbers.
fn limit(whole: &Meter, numbers: &[u32], shards: &[Bucket], live: &[Bucket]) -> LimitView {
    let count = shards.first().map_or(1, |first| first.shard_count);
    let consumed = shards.iter().filter_map(|shard| shard.meter(&whole.name));
    let mut status = LimitView {
        limit: Limit::from_rate(whole.name.clone(), whole.rate),
        available_milli: 0,
        consumed_milli: consumed.map(|meter| meter.consumed).fold(0, i64::saturating_add),
        full_in_ms: 0,
    };
    for number in numbers {
        let shard = live.iter().find(|shard| shard.shard == *number);
        let share = whole.share(*number, count);
        let level = shard
            .and_then(|shard| shard.meter(&whole.name))
            .map_or_else(|| share.full(), |meter| meter.level);
        let wait = level.wait_ms(share, share.capacity).unwrap_or_default();
        status.available_milli = status.available_milli.saturating_add(level.tokens);
        status.full_in_ms = status.full_in_ms.max(wait);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{EntityId, LimitName, NamespaceId, Resource};

    fn id() -> BucketId {
        BucketId {
            ns: NamespaceId::new("abcdefghijk").unwrap(),
            entity: EntityId::new("e").unwrap(),
            resource: Resource::new("r").unwrap(),
        }
    }

    fn shard(number: u32, count: u32, now_ms: i64) -> Bucket {
        let rpm = Limit::per_minute(LimitName::new("rpm").unwrap(), 60);
        Bucket::full(&[rpm], number, count, now_ms).with_wcu()
    }

    #[test]
    fn shards_are_summed_and_the_limit_of_writes_is_hidden() {
        let rpm = LimitName::new("rpm").unwrap();
        let mut shards: Vec<Bucket> = (0..4).map(|number| shard(number, 4, 0)).collect();
        shards[0].take(&rpm, 15_000);
        shards[2].take(&rpm, 20_000);
        let view = view(&id(), &shards, false, 4_000).unwrap();
        assert_eq!((view.shards, view.limits.len()), (4, 1));
        let status = &view.limits[0];
        assert_eq!(status.limit, Limit::per_minute(rpm, 60));
        // A quarter of one per second: a token each in four seconds.
        assert_eq!(status.available_milli, 60_000 - 35_000 + 2_000);
        assert_eq!((status.consumed_milli, status.full_in_ms), (35_000, 76_000));
    }

    #[test]
    fn a_missing_shard_counts_as_full() {
        let rpm = LimitName::new("rpm").unwrap();
        let mut gone = shard(1, 2, 0);
        gone.take(&rpm, 30_000);
        gone.expires = Some(1);
        for shards in [vec![shard(0, 2, 0)], vec![shard(0, 2, 0), gone]] {
            let view = view(&id(), &shards, false, 5_000).unwrap();
            assert_eq!(view.limits[0].available_milli, 60_000);
        }
    }

    #[test]
    fn a_missing_shard_of_a_shared_table_counts_as_empty() {
        let shards: Vec<Bucket> = [0, 1].map(|number| shard(number, 4, 0)).into();
        let view = view(&id(), &shards, true, 5_000).unwrap();
        assert_eq!(view.limits[0].available_milli, 30_000);
    }

    #[test]
    fn an_expired_bucket_has_no_view() {
        let mut bucket = shard(0, 1, 0);
        bucket.expires = Some(10);
        assert_eq!(view(&id(), &[bucket.clone()], false, 9_999).unwrap().expires_ms, Some(10_000));
        assert_eq!(view(&id(), &[bucket], false, 10_000), None);
        assert_eq!(view(&id(), &[], false, 0), None);
    }
}
