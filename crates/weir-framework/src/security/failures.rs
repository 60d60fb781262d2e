//! A bound on the failed sign-ins that this instance records.

use parking_lot::Mutex;

/// Recorded failures per minute. More are guessing, of which the first ones tell as much.
const PER_MINUTE: u32 = 60;
const MINUTE_MS: u64 = 60_000;

/// The failed sign-ins of the current minute.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Minute>);

#[derive(Debug, Default)]
struct Minute {
    started_ms: u64,
    recorded: u32,
}

impl Failures {
    /// Whether one more failure is recorded at `now_ms`.
    pub(super) fn admit(&self, now_ms: u64) -> bool {
        let mut minute = self.0.lock();
        if now_ms.abs_diff(minute.started_ms) >= MINUTE_MS {
            *minute = Minute { started_ms: now_ms, recorded: 0 };
        }
        minute.recorded = minute.recorded.saturating_add(1);
        minute.recorded <= PER_MINUTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_per_minute_is_recorded() {
        let failures = Failures::default();
        let admitted = |now_ms| (0..1000).filter(|_| failures.admit(now_ms)).count();
        assert_eq!(admitted(MINUTE_MS), 60);
        assert_eq!(admitted(2 * MINUTE_MS - 1), 0);
        assert_eq!(admitted(2 * MINUTE_MS), 60);
    }
}
