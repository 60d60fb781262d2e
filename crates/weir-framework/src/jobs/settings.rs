//! Every bound of the driver. Those that an operator or a test may change are in [`Settings`]; the rest are
//! constants.

use std::time::Duration;

use weir_table::{Error, Result};

/// Maximum number of jobs of a driver.
pub(super) const JOBS_MAX: usize = 200;
/// Maximum length of a stored error text in bytes.
pub(super) const ERROR_TEXT_MAX: usize = 500;
/// Capacity of the queue of `run_now` calls of one job.
pub(super) const REQUESTS_MAX: usize = 16;
/// Attempts to record the end of a run.
pub(super) const RECORD_TRIES: u32 = 3;
/// Maximum time for releasing leases after runs were dropped.
pub(super) const RELEASE_WITHIN: Duration = Duration::from_secs(5);
/// Fraction of a wait that is added at random, so that instances do not run in step.
pub(super) const JITTER_PART: u32 = 10;
/// The shortest pause between two checks.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(1);
/// The shortest lease: renewing takes a third of it.
const LEASE_MIN: Duration = Duration::from_millis(30);
/// The longest wait of the driver.
const WAIT_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// Bytes of an instance's id.
pub(super) const INSTANCE_MAX: usize = 255;

/// Number of entries of a feed job's accumulator at which its window ends, which bounds memory.
pub(super) const ENTRIES_MAX: usize = 10_000;
/// A page with less than this fraction of its maximum shows that the end of the feed is near.
pub(super) const TAIL_PART: usize = 4;
/// Number of changes that are folded before the task yields.
pub(super) const FOLD_MAX: usize = 16;
/// Maximum duration of reading a window, as a fraction of the lease.
pub(super) const LEASE_PART: u32 = 3;

/// The settings of the driver.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Length of a lease that is not renewed (30 s).
    pub lease: Duration,
    /// Interval at which an instance checks whether another instance's lease has expired (2 s).
    pub lease_poll: Duration,
    /// Maximum duration of a run, unless the job sets its own (10 min).
    pub deadline: Duration,
    /// Wait after a first failed run (1 s). It doubles with each further failure.
    pub backoff_first: Duration,
    /// Maximum wait after failed runs (5 min).
    pub backoff_max: Duration,
    /// Maximum number of rounds of a run (100).
    pub rounds_max: u32,
    /// Pause of a job that has more to do after the last round (100 ms).
    pub rest: Duration,
    /// Maximum number of items of a round, unless the job sets its own (1000).
    pub items_max: u64,
    /// Maximum number of changes of a feed window (500 000).
    pub window_max: usize,
    /// Interval at which a feed without changes is read, unless the job sets its own (1 s).
    pub feed_poll: Duration,
    /// Interval at which a feed job checks whether a full pass is due (30 s).
    pub pass_poll: Duration,
    /// Interval at which a job without a lease stores its log (60 s). A changed outcome is stored at
    /// once.
    pub record_every: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            lease: Duration::from_secs(30),
            lease_poll: Duration::from_secs(2),
            deadline: Duration::from_secs(600),
            backoff_first: Duration::from_secs(1),
            backoff_max: Duration::from_secs(300),
            rounds_max: 100,
            rest: Duration::from_millis(100),
            items_max: 1000,
            window_max: 500_000,
            feed_poll: Duration::from_secs(1),
            pass_poll: Duration::from_secs(30),
            record_every: Duration::from_secs(60),
        }
    }
}

impl Settings {
    /// Rejects settings that would make the driver spin or stop.
    pub(super) fn check(&self) -> Result<()> {
        let refuse = |field: &str, problem: &str| Err(Error::invalid(field, problem));
        let waits = [
            ("lease", self.lease),
            ("lease_poll", self.lease_poll),
            ("deadline", self.deadline),
            ("backoff_max", self.backoff_max),
            ("rest", self.rest),
            ("feed_poll", self.feed_poll),
            ("pass_poll", self.pass_poll),
            ("record_every", self.record_every),
        ];
        if let Some((field, _)) = waits.iter().find(|(_, wait)| *wait > WAIT_MAX) {
            return refuse(field, "is longer than a year");
        }
        if self.lease < LEASE_MIN {
            return refuse("lease", "is shorter than 30 ms");
        }
        if self.deadline.is_zero() {
            return refuse("deadline", "is zero");
        }
        if self.backoff_first.is_zero() || self.backoff_max < self.backoff_first {
            return refuse("backoff", "is zero, or its bound is below its first step");
        }
        if self.rounds_max == 0 || self.items_max == 0 {
            return refuse("rounds_max", "is zero, or items_max is");
        }
        if self.window_max == 0 {
            return refuse("window_max", "is zero");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_settings_hold_and_bad_ones_are_named() {
        assert!(Settings::default().check().is_ok());
        let bad = Settings { window_max: 0, ..Settings::default() };
        assert_eq!(bad.check().unwrap_err().field(), Some("window_max"));
        let bad = Settings { lease: Duration::from_millis(1), ..Settings::default() };
        assert_eq!(bad.check().unwrap_err().field(), Some("lease"));
        let bad = Settings { pass_poll: Duration::MAX, ..Settings::default() };
        assert_eq!(bad.check().unwrap_err().field(), Some("pass_poll"));
    }
}
