//! How often secrets were promised and fetched, by this process.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::Backend;

use crate::keeper::Keeper;

/// How often secrets were promised and fetched, since the process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetrievalCounts {
    /// One-time tokens made.
    pub tokens_made: u64,
    /// One-time tokens redeemed.
    pub tokens_redeemed: u64,
    /// Retrievals with a token that was used, expired or wrong.
    pub failed: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    made: AtomicU64,
    redeemed: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    pub(crate) fn promised(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn retrieved(&self, was_good: bool) {
        let count = if was_good { &self.redeemed } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl<B: Backend> Keeper<B> {
    /// How often secrets were promised and fetched.
    #[must_use]
    pub fn retrieval_counts(&self) -> RetrievalCounts {
        let counts = &self.inner.counts;
        RetrievalCounts {
            tokens_made: counts.made.load(Ordering::Relaxed),
            tokens_redeemed: counts.redeemed.load(Ordering::Relaxed),
            failed: counts.failed.load(Ordering::Relaxed),
        }
    }
}
