//! What follows when the fast path's condition did not hold: a plain function of what was remembered and what was found.

use super::ask::{Amounts, is_covered};
use super::fast::Wcu;
use super::known::Facts;
use super::seat::is_out_of_writes;
use crate::bounds::SHARDS_MAX;
use crate::bucket::{Bucket, MILLI};
use crate::ids::LimitName;

/// What follows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Read, refill, take.
    Slow,
    /// What was remembered was wrong; try again with what was found.
    Again,
    /// The shard is hot: split the bucket, which has this many shards.
    Double(u32),
    /// The shard is hot and cannot be split: try again without counting the write.
    Uncounted,
    /// It is not there. The bucket now.
    Refuse(Bucket),
}

/// Judges a refused take of `amounts`.
pub(crate) fn judge(
    found: Option<&Bucket>,
    facts: Option<&Facts>,
    amounts: &Amounts,
    lacks: &[LimitName],
    wcu: Wcu,
    splits: bool,
    now_ms: i64,
) -> Next {
    let Some(found) = found.filter(|found| found.refilled_ms != 0 && !found.is_expired(now_ms))
    else {
        return Next::Slow;
    };
    let is_other = |facts: &Facts| facts.cascade != found.cascade || facts.parent != found.parent;
    if facts.is_some_and(is_other) || lacks.iter().any(|name| found.meter(name).is_some()) {
        return Next::Again;
    }
    let can_ever = |(name, amount): &(LimitName, i64)| {
        found.meter(name).is_some_and(|meter| *amount <= meter.rate.capacity)
    };
    if !amounts.iter().all(can_ever) {
        return Next::Slow;
    }
    let now = found.refilled(now_ms);
    if wcu == Wcu::Charged {
        if found.meter(&LimitName::wcu()).is_none() {
            return Next::Slow;
        }
        if is_out_of_writes(&now) {
            return match found.shard_count {
                // The slow path fills the limit of writes up for the other program.
                _ if !splits => Next::Slow,
                count if count < SHARDS_MAX => Next::Double(count),
                _ => Next::Uncounted,
            };
        }
    }
    if is_covered(&now, amounts) || found.shard_count > 1 {
        return Next::Slow;
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

    fn asked(text: &str, tokens: i64) -> Amounts {
        vec![(name(text), tokens * MILLI)]
    }

    fn told(found: Option<&Bucket>, amounts: &Amounts, wcu: Wcu, now_ms: i64) -> Next {
        judge(found, None, amounts, &[], wcu, true, now_ms)
    }

    #[test]
    fn what_follows_a_refused_take() {
        let now = 1_000_000;
        let empty = bucket(60);
        let one = asked("rpm", 1);
        assert_eq!(told(None, &one, Wcu::None, now), Next::Slow, "there is no bucket");
        assert_eq!(told(Some(&empty), &one, Wcu::None, now), Next::Refuse(empty.clone()));
        assert_eq!(told(Some(&empty), &one, Wcu::None, now + 1_000), Next::Slow, "a refill helps");
        assert_eq!(
            told(Some(&empty), &asked("tpm", 1), Wcu::None, now),
            Next::Slow,
            "unknown limit"
        );
        assert_eq!(told(Some(&empty), &asked("rpm", 61), Wcu::None, now), Next::Slow, "never");
        let expired = Bucket { expires: Some(now / 1_000), ..empty.clone() };
        assert_eq!(told(Some(&expired), &one, Wcu::None, now), Next::Slow, "expired");
        let sharded = Bucket { shard_count: 2, ..empty.clone() };
        assert_eq!(
            told(Some(&sharded), &one, Wcu::None, now),
            Next::Slow,
            "other shards may have it"
        );
        let mut hot = bucket(0);
        hot.take(&LimitName::wcu(), 1_000 * MILLI);
        assert_eq!(told(Some(&hot), &one, Wcu::Charged, now), Next::Double(1));
        assert_eq!(told(Some(&hot), &one, Wcu::Charged, now + 1), Next::Slow, "refilled writes");
        let most = Bucket { shard_count: SHARDS_MAX, ..hot };
        assert_eq!(told(Some(&most), &one, Wcu::Charged, now), Next::Uncounted);
        let lacks = [name("rpm")];
        let other = judge(Some(&empty), None, &asked("tpm", 1), &lacks, Wcu::None, true, now);
        assert_eq!(other, Next::Again, "it has the limit now");
    }
}
