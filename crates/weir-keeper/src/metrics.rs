//! Counters of what this process does, for the metrics endpoint.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the process started.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    fallbacks: AtomicU64,
    notifications_queued: AtomicU64,
    notifications_abandoned: AtomicU64,
    totals_written: AtomicU64,
    retrieval_tokens_issued: AtomicU64,
    retrieval_tokens_redeemed: AtomicU64,
    retrievals_refused: AtomicU64,
}

/// Counters of an instance since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetricsSnapshot {
    /// Fallbacks to a cheaper model that this instance recorded.
    pub fallbacks: u64,
    /// Webhook notifications queued.
    pub notifications_queued: u64,
    /// Webhook notifications given up after the last retry.
    pub notifications_abandoned: u64,
    /// Daily totals written.
    pub totals_written: u64,
    /// One-time retrieval tokens issued.
    pub retrieval_tokens_issued: u64,
    /// One-time retrieval tokens redeemed for a secret.
    pub retrieval_tokens_redeemed: u64,
    /// Retrievals refused because the token was used, expired or unknown.
    pub retrievals_refused: u64,
    /// Secrets compared with a hash, whether or not the client exists.
    pub secrets_verified: u64,
    /// Daily totals that this instance could not sum when it last tried. Their chains are closed.
    pub unsummed_totals: u64,
}

impl Metrics {
    pub(crate) fn fallback_recorded(&self) {
        add(&self.fallbacks, 1);
    }

    pub(crate) fn notifications_queued(&self, count: u64) {
        add(&self.notifications_queued, count);
    }

    pub(crate) fn notification_abandoned(&self) {
        add(&self.notifications_abandoned, 1);
    }

    pub(crate) fn total_written(&self) {
        add(&self.totals_written, 1);
    }

    pub(crate) fn retrieval_token_issued(&self) {
        add(&self.retrieval_tokens_issued, 1);
    }

    pub(crate) fn secret_retrieved(&self, is_redeemed: bool) {
        let count =
            if is_redeemed { &self.retrieval_tokens_redeemed } else { &self.retrievals_refused };
        add(count, 1);
    }

    pub(crate) fn snapshot(&self, secrets_verified: u64) -> MetricsSnapshot {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        MetricsSnapshot {
            fallbacks: read(&self.fallbacks),
            notifications_queued: read(&self.notifications_queued),
            notifications_abandoned: read(&self.notifications_abandoned),
            totals_written: read(&self.totals_written),
            retrieval_tokens_issued: read(&self.retrieval_tokens_issued),
            retrieval_tokens_redeemed: read(&self.retrieval_tokens_redeemed),
            retrievals_refused: read(&self.retrievals_refused),
            secrets_verified,
            unsummed_totals: 0,
        }
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}
