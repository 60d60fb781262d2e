//! How often shards are written, from two sights of their write counters.
//!
//! A batch of changes is too short to tell: DynamoDB knows the time of a change to the second. So the counter of each shard
//! is remembered, in this process alone, until a few seconds have passed. Forgetting it costs a few seconds.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::in_use::InUse;

/// Sights that are compared are at least this far apart, because each may be a second off.
const APART_MS: i64 = 5_000;
/// A sight that old says nothing about now.
const OLD_MS: i64 = 60_000;
/// Shards that are remembered at most. More than that at once are not all hot.
const SHARDS_SEEN_MAX: usize = 10_000;

/// How often shards are written.
#[derive(Debug, Default)]
pub struct Pace {
    seen: Mutex<HashMap<String, Sight>>,
}

#[derive(Debug, Clone, Copy)]
struct Sight {
    written_milli: i64,
    at_ms: i64,
}

impl Pace {
    /// Notes a shard's write counter. Returns its writes a second, if it was seen long enough before.
    pub(super) fn saw(&self, shard: &InUse, written_milli: i64) -> Option<u64> {
        let id = &shard.id;
        let key = crate::keys::bucket(&id.ns, &id.entity, &id.resource, shard.last.shard);
        self.saw_at(&key.to_string(), Sight { written_milli, at_ms: shard.at_ms })
    }

    fn saw_at(&self, shard: &str, now: Sight) -> Option<u64> {
        let mut seen = self.seen.lock();
        let Some(before) = seen.get(shard).copied() else {
            if seen.len() >= SHARDS_SEEN_MAX {
                seen.retain(|_, sight| (0..OLD_MS).contains(&(now.at_ms - sight.at_ms)));
            }
            if seen.len() < SHARDS_SEEN_MAX {
                seen.insert(shard.to_owned(), now);
            }
            return None;
        };
        let apart_ms = now.at_ms - before.at_ms;
        if (0..APART_MS).contains(&apart_ms) && now.written_milli >= before.written_milli {
            return None;
        }
        seen.insert(shard.to_owned(), now);
        if !(APART_MS..OLD_MS).contains(&apart_ms) {
            return None;
        }
        let written_milli = now.written_milli.saturating_sub(before.written_milli);
        // Milliwrites in a millisecond are writes in a second.
        u64::try_from(written_milli / apart_ms).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_told_once_sights_are_apart() {
        let pace = Pace::default();
        let saw = |written: i64, at_ms| {
            pace.saw_at("shard", Sight { written_milli: written * 1_000, at_ms })
        };
        assert_eq!(saw(0, 0), None);
        assert_eq!(saw(3_000, 3_000), None);
        assert_eq!(saw(5_000, 5_000), Some(1_000));
        assert_eq!(saw(9_000, 15_000), Some(400));
        assert_eq!(saw(9_100, 14_000), None, "a clock that goes back begins anew");
        assert_eq!(saw(9_600, 19_000), Some(100));
        assert_eq!(saw(10, 25_000), None, "a shard that was made again");
        assert_eq!(saw(20, 500_000), None, "too long ago");
    }
}
