//! The shards of one bucket: doubling them, and taking from several.

use std::collections::BTreeMap;

use super::rate::Level;
use super::state::{Bucket, Meter, Retired};
use crate::ids::LimitName;

/// Millitokens to take from one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardTake {
    /// The number of the shard.
    pub shard: u32,
    /// Millitokens of each limit, by name.
    pub amounts: Vec<(LimitName, i64)>,
}

/// Doubles the shards without changing their sum: each shard keeps half of its balance, and its new sibling gets the rest.
/// The shares of twice the count nest in those of the count, so no shard exceeds its capacity.
///
/// `shards` are all shards in order, refilled to the same moment.
#[must_use]
pub fn double(shards: &[Bucket]) -> Vec<Bucket> {
    let count = u32::try_from(shards.len()).unwrap_or(u32::MAX);
    let doubled = count.saturating_mul(2);
    let split = |shard: &Bucket| -> (Vec<Meter>, Vec<Meter>) {
        shard.meters.iter().map(|meter| split(meter, shard.shard, doubled)).unzip()
    };
    let split_retired = |shard: &Bucket| -> (Vec<Retired>, Vec<Retired>) {
        shard.retired.iter().map(|retired| split_retired(retired, shard.shard, doubled)).unzip()
    };
    let kept = |shard: &Bucket| Bucket {
        shard_count: doubled,
        meters: split(shard).0,
        retired: split_retired(shard).0,
        // The first shard stores their number, so it never expires.
        expires: shard.expires.filter(|_| shard.shard != 0),
        ..shard.clone()
    };
    let added = |shard: &Bucket| Bucket {
        shard: shard.shard + count,
        shard_count: doubled,
        meters: split(shard).1,
        retired: split_retired(shard).1,
        ..shard.clone()
    };
    shards.iter().map(kept).chain(shards.iter().map(added)).collect()
}

/// Splits a meter: the part that its shard keeps, and the part of the new sibling.
fn split(meter: &Meter, shard: u32, doubled: u32) -> (Meter, Meter) {
    let (mut kept, mut moved) = (meter.clone(), meter.clone());
    moved.consumed = 0;
    if meter.name.is_wcu() {
        // Each gets half of the writes from now on, so both write limits start full.
        kept.level = meter.rate.full();
        moved.level = meter.rate.full();
        return (kept, moved);
    }
    moved.level = Level { tokens: meter.level.tokens.div_euclid(2), remainder: 0 };
    kept.level.tokens = meter.level.tokens - moved.level.tokens;
    let ceiling = meter.share(shard, doubled).capacity;
    if kept.level.tokens >= ceiling {
        // A full shard would lose the remainder; its sibling is not full, or there is none.
        moved.level.remainder = std::mem::take(&mut kept.level.remainder);
    }
    debug_assert!(kept.level.tokens <= ceiling);
    debug_assert!(moved.level.tokens <= meter.share(shard + doubled / 2, doubled).capacity);
    (kept, moved)
}

/// Splits a limit that was removed, like those that are in use.
fn split_retired(retired: &Retired, shard: u32, doubled: u32) -> (Retired, Retired) {
    let (kept, moved) = split(&retired.meter, shard, doubled);
    let refilled_ms = retired.refilled_ms;
    (Retired { meter: kept, refilled_ms }, Retired { meter: moved, refilled_ms })
}

/// How to take `amounts` when no single shard covers them: from the fullest first. None, if all shards together do not
/// cover them.
#[must_use]
pub fn gather(shards: &[Bucket], amounts: &[(LimitName, i64)]) -> Option<Vec<ShardTake>> {
    let mut takes: BTreeMap<u32, Vec<(LimitName, i64)>> = BTreeMap::new();
    for (name, amount) in amounts {
        let mut missing = *amount;
        let mut balances: Vec<(i64, u32)> = shards
            .iter()
            .filter_map(|shard| Some((shard.meter(name)?.level.tokens, shard.shard)))
            .filter(|(tokens, _)| *tokens > 0)
            .collect();
        balances.sort_unstable_by(|a, b| b.cmp(a));
        for (tokens, shard) in balances {
            let part = tokens.min(missing);
            if part > 0 {
                takes.entry(shard).or_default().push((name.clone(), part));
                missing -= part;
            }
        }
        if missing > 0 {
            return None;
        }
    }
    Some(takes.into_iter().map(|(shard, amounts)| ShardTake { shard, amounts }).collect())
}

/// Combines all shards into one bucket, without their remainders, so that a wait computed from it is never too short.
///
/// `shards` are of one bucket, refilled to the same moment. None, if there are none.
#[must_use]
pub fn combine(shards: &[Bucket]) -> Option<Bucket> {
    let (first, rest) = shards.split_first()?;
    if rest.is_empty() && first.shard_count == 1 {
        return Some(first.clone());
    }
    let mut sum = Bucket { shard: 0, shard_count: 1, ..first.clone() };
    for meter in &mut sum.meters {
        let of = |shard: &Bucket| {
            shard.meter(&meter.name).map(|found| (found.level.tokens, found.consumed))
        };
        let (tokens, consumed) = shards.iter().filter_map(of).fold((0i64, 0i64), |sum, one| {
            (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
        });
        meter.level = Level { tokens, remainder: 0 };
        meter.consumed = consumed;
    }
    Some(sum)
}
