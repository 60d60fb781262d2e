//! How long fsyncs take, as a histogram.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets in microseconds. The last bucket has none.
const BOUNDS_US: [u64; 10] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// Durations of the fsyncs since opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncDurations {
    /// Number of fsyncs per bucket; the last bucket has those over every bound.
    pub counts: [u64; BOUNDS_US.len() + 1],
    /// Sum of all durations in microseconds.
    pub sum_us: u64,
}

impl SyncDurations {
    /// Upper bounds of the buckets in seconds, the last one infinite, with the number of fsyncs in each.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS_US.iter().map(|us| *us as f64 / 1e6).chain([f64::INFINITY]);
        bounds.zip(self.counts)
    }
}

/// The histogram while it is filled.
#[derive(Debug, Default)]
pub(super) struct SyncTimes {
    counts: [AtomicU64; BOUNDS_US.len() + 1],
    sum_us: AtomicU64,
}

impl SyncTimes {
    pub(super) fn observe(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_US.partition_point(|bound| *bound < us);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> SyncDurations {
        SyncDurations {
            counts: self.counts.each_ref().map(|count| count.load(Ordering::Relaxed)),
            sum_us: self.sum_us.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_counts_in_one_bucket() {
        let times = SyncTimes::default();
        for us in [0, 100, 101, 999_999, 1_000_000, 5_000_000] {
            times.observe(Duration::from_micros(us));
        }
        let read = times.read();
        assert_eq!(read.counts, [2, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1]);
        assert_eq!(read.sum_us, 7_000_200);
        assert_eq!(read.buckets().last(), Some((f64::INFINITY, 1)));
    }
}
