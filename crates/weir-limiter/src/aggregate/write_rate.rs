//! Writes per second of each shard, from two observations of its write counter.
//!
//! One window of changes is too short to measure: DynamoDB dates a change to the second. So this process remembers the
//! counter of each shard for a few seconds. If it forgets one, a hot shard is split a few seconds later.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::observed::ActiveShard;

/// Least time between two compared observations, because each may be a second off.
const APART_MS: i64 = 5_000;
/// Age at which an observation is useless.
const OLD_MS: i64 = 60_000;
/// Most shards remembered. If more are active at once, they are not all hot.
const SHARDS_MAX: usize = 10_000;

/// The last observed write counter of each shard.
#[derive(Debug, Default)]
pub(crate) struct WriteRates {
    observations: Mutex<HashMap<String, Observation>>,
}

#[derive(Debug, Clone, Copy)]
struct Observation {
    written_milli: i64,
    at_ms: i64,
}

impl WriteRates {
    /// Records a shard's write counter. Returns its writes per second, if it was observed long enough ago.
    pub(super) fn record(&self, shard: &ActiveShard, written_milli: i64) -> Option<u64> {
        let id = &shard.id;
        let key = crate::keys::bucket(&id.ns, &id.entity, &id.resource, shard.last.shard);
        self.record_at(&key.to_string(), Observation { written_milli, at_ms: shard.at_ms })
    }

    fn record_at(&self, shard: &str, now: Observation) -> Option<u64> {
        let mut observations = self.observations.lock();
        let Some(before) = observations.get(shard).copied() else {
            if observations.len() >= SHARDS_MAX {
                observations.retain(|_, old| (0..OLD_MS).contains(&(now.at_ms - old.at_ms)));
            }
            if observations.len() < SHARDS_MAX {
                observations.insert(shard.to_owned(), now);
            }
            return None;
        };
        let apart_ms = now.at_ms - before.at_ms;
        if (0..APART_MS).contains(&apart_ms) && now.written_milli >= before.written_milli {
            return None;
        }
        observations.insert(shard.to_owned(), now);
        if !(APART_MS..OLD_MS).contains(&apart_ms) {
            return None;
        }
        let written_milli = now.written_milli.saturating_sub(before.written_milli);
        // Milliwrites per millisecond are writes per second.
        u64::try_from(written_milli / apart_ms).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_known_once_observations_are_apart() {
        let rates = WriteRates::default();
        let record = |written: i64, at_ms| {
            rates.record_at("shard", Observation { written_milli: written * 1_000, at_ms })
        };
        assert_eq!(record(0, 0), None);
        assert_eq!(record(3_000, 3_000), None);
        assert_eq!(record(5_000, 5_000), Some(1_000));
        assert_eq!(record(9_000, 15_000), Some(400));
        assert_eq!(record(9_100, 14_000), None, "a clock that goes back starts over");
        assert_eq!(record(9_600, 19_000), Some(100));
        assert_eq!(record(10, 25_000), None, "the shard was created again");
        assert_eq!(record(20, 500_000), None, "too long ago");
    }
}
