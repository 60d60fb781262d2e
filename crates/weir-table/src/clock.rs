//! Where time comes from. Only this file reads the system's clock; tests set a manual one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

/// A source of the time of day.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's clock.
    #[default]
    System,
    /// A clock that stands still until it is moved.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// A manual clock that shows `now_ms`.
    #[must_use]
    pub fn manual(now_ms: u64) -> Clock {
        Clock::Manual(Arc::new(AtomicU64::new(now_ms)))
    }

    /// Milliseconds since 1970.
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

    /// Moves a manual clock on; the machine's clock stays as it is.
    pub fn advance_ms(&self, ms: u64) {
        if let Clock::Manual(now) = self {
            now.fetch_add(ms, Ordering::SeqCst);
        }
    }
}
