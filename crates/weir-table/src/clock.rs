//! The source of time. Only this module reads the system clock; tests use a manual one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

/// A wall clock.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The system clock.
    #[default]
    System,
    /// A clock that stands still until a test advances it.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// A manual clock at `now_ms`.
    #[must_use]
    pub fn manual(now_ms: u64) -> Clock {
        Clock::Manual(Arc::new(AtomicU64::new(now_ms)))
    }

    /// Current time in milliseconds since 1970.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn now_ms(&self) -> u64 {
        match self {
            Clock::Manual(now) => now.load(Ordering::SeqCst),
            Clock::System => std::time::SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    /// Advances a manual clock; the system clock is unaffected.
    pub fn advance_ms(&self, ms: u64) {
        if let Clock::Manual(now) = self {
            now.fetch_add(ms, Ordering::SeqCst);
        }
    }
}
