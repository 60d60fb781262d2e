//! Several shards of one bucket: doubling them, and taking from more than one.

use std::collections::BTreeMap;

use super::rate::Level;
use super::state::{Bucket, Meter};
use crate::ids::LimitName;

/// Millitokens to take from one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardTake {
    /// Which shard.
    pub shard: u32,
    /// How much of each limit.
    pub amounts: BTreeMap<LimitName, i64>,
}

/// Twice as many shards with the same contents: each shard keeps half of its balance and the new one behind it gets
/// the other half. Shares of the double count nest in those of the count, so nothing is above its capacity.
///
/// `shards` are all there are, refilled to the same moment, in order.
#[must_use]
pub fn double(shards: &[Bucket]) -> Vec<Bucket> {
    let count = u32::try_from(shards.len()).unwrap_or(u32::MAX);
    let doubled = count.saturating_mul(2);
    let split = |shard: &Bucket| -> (Vec<Meter>, Vec<Meter>) {
        shard.meters.iter().map(|meter| split(meter, shard.shard, doubled)).unzip()
    };
    let keep = |shard: &Bucket| Bucket {
        shard_count: doubled,
        meters: split(shard).0,
        // The first shard says how many there are, so it stays.
        expires: shard.expires.filter(|_| shard.shard != 0),
        ..shard.clone()
    };
    let make = |shard: &Bucket| Bucket {
        shard: shard.shard + count,
        shard_count: doubled,
        meters: split(shard).1,
        ..shard.clone()
    };
    shards.iter().map(keep).chain(shards.iter().map(make)).collect()
}

/// What a shard keeps of a meter, and what the shard behind it gets.
fn split(meter: &Meter, shard: u32, doubled: u32) -> (Meter, Meter) {
    let (mut kept, mut moved) = (meter.clone(), meter.clone());
    moved.consumed = 0;
    if meter.name.is_wcu() {
        // Each takes half of the writes from now on: how hot that is, is counted anew.
        kept.level = meter.rate.full();
        moved.level = meter.rate.full();
        return (kept, moved);
    }
    moved.level = Level { tokens: meter.level.tokens.div_euclid(2), remainder: 0 };
    kept.level.tokens = meter.level.tokens - moved.level.tokens;
    let ceiling = meter.share(shard, doubled).capacity;
    if kept.level.tokens >= ceiling {
        // A full shard would drop the remainder; the other one is not full, or there is none.
        moved.level.remainder = std::mem::take(&mut kept.level.remainder);
    }
    debug_assert!(kept.level.tokens <= ceiling);
    debug_assert!(moved.level.tokens <= meter.share(shard + doubled / 2, doubled).capacity);
    (kept, moved)
}

/// Where to take `asked` from when no shard has all of it: from the fullest first. Nothing, if all shards together do not
/// have it.
#[must_use]
pub fn gather(shards: &[Bucket], asked: &BTreeMap<LimitName, i64>) -> Option<Vec<ShardTake>> {
    let mut takes: BTreeMap<u32, BTreeMap<LimitName, i64>> = BTreeMap::new();
    for (name, amount) in asked {
        let mut left = *amount;
        let mut there: Vec<(i64, u32)> = shards
            .iter()
            .filter_map(|shard| Some((shard.meter(name)?.level.tokens, shard.shard)))
            .filter(|(tokens, _)| *tokens > 0)
            .collect();
        there.sort_unstable_by(|a, b| b.cmp(a));
        for (tokens, shard) in there {
            let part = tokens.min(left);
            if part > 0 {
                takes.entry(shard).or_default().insert(name.clone(), part);
                left -= part;
            }
        }
        if left > 0 {
            return None;
        }
    }
    Some(takes.into_iter().map(|(shard, amounts)| ShardTake { shard, amounts }).collect())
}

/// All shards as one bucket. Remainders are left out, so that what it promises is never too early.
///
/// `shards` are of one bucket and refilled to the same moment; nothing, if there are none.
#[must_use]
pub fn together(shards: &[Bucket]) -> Option<Bucket> {
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
