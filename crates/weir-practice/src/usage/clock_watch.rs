//! Compares the clock with the times of the items that this process reads and writes.
//!
//! A clock that is far ahead of the newest item, while requests come in, counts users on a day that has not come. An idle
//! service has the same lead, so it is a reading for `doctor` and the metrics and refuses nothing.

use std::sync::atomic::{AtomicI64, Ordering};

use weir_table::Backend;

use crate::bounds::CLOCK_AHEAD_MAX_MS;
use crate::practice::Practice;

/// The clock and the newest item that this process has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// Time of the newest usage item seen, in milliseconds since 1970; `None` before the first.
    pub newest_ms: Option<i64>,
    /// How far the clock is ahead of it, in milliseconds; negative when it is behind.
    pub ahead_ms: i64,
    /// Requests that found the clock ahead by more than a minute, since the process started.
    pub ahead_total: u64,
}

/// Times of items, as this process has seen them.
#[derive(Debug, Default)]
pub(crate) struct ClockWatch {
    /// Zero before the first item.
    newest_ms: AtomicI64,
    ahead_total: AtomicI64,
}

impl ClockWatch {
    /// Notes the newest item that a request has read, and how far its clock is ahead of all seen so far, if that is too far.
    pub(super) fn observe(&self, read_ms: Option<i64>, now_ms: i64) -> Option<i64> {
        let before = self.newest_ms.fetch_max(read_ms.unwrap_or_default(), Ordering::Relaxed);
        let newest = before.max(read_ms.unwrap_or_default());
        let ahead = now_ms.saturating_sub(newest);
        if newest == 0 || ahead <= CLOCK_AHEAD_MAX_MS {
            return None;
        }
        self.ahead_total.fetch_add(1, Ordering::Relaxed);
        Some(ahead)
    }

    /// Notes the time of an item that a request has written.
    pub(super) fn wrote(&self, now_ms: i64) {
        self.newest_ms.fetch_max(now_ms, Ordering::Relaxed);
    }
}

impl<B: Backend> Practice<B> {
    /// The clock and the newest usage item that this process has seen.
    #[must_use]
    pub fn clock_reading(&self) -> ClockReading {
        let watch = self.clock_watch();
        let newest = watch.newest_ms.load(Ordering::Relaxed);
        let ahead_total = watch.ahead_total.load(Ordering::Relaxed);
        ClockReading {
            newest_ms: (newest > 0).then_some(newest),
            ahead_ms: if newest > 0 { self.now_ms().saturating_sub(newest) } else { 0 },
            ahead_total: u64::try_from(ahead_total).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_ahead_of_the_newest_item_is_reported() {
        let watch = ClockWatch::default();
        assert_eq!(watch.observe(None, 1_000_000), None);
        watch.wrote(1_000_000);
        assert_eq!(watch.observe(None, 1_060_000), None);
        assert_eq!(watch.observe(None, 1_060_001), Some(60_001));
        assert_eq!(watch.observe(Some(1_050_000), 1_060_001), None);
        assert_eq!(watch.observe(Some(900_000), 900_000), None);
    }
}
