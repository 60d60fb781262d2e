//! What an instance counts of its own work, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Counts since the start of this instance.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    flips: AtomicU64,
    notices: AtomicU64,
    undelivered: AtomicU64,
    totals: AtomicU64,
}

/// What an instance did since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct MetersRead {
    /// Chains that it moved on.
    pub sticky_flips: u64,
    /// Notices that it queued.
    pub notices_queued: u64,
    /// Notices that it gave up on.
    pub notices_undelivered: u64,
    /// Totals that it wrote.
    pub totals_written: u64,
}

impl Meters {
    pub(crate) fn flipped(&self) {
        self.flips.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn queued(&self, count: u64) {
        self.notices.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn gave_up(&self) {
        self.undelivered.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn totalled(&self) {
        self.totals.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> MetersRead {
        MetersRead {
            sticky_flips: self.flips.load(Ordering::Relaxed),
            notices_queued: self.notices.load(Ordering::Relaxed),
            notices_undelivered: self.undelivered.load(Ordering::Relaxed),
            totals_written: self.totals.load(Ordering::Relaxed),
        }
    }
}
