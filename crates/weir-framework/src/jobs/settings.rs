//! Every bound of the driver. What an operator or a test may want otherwise is in [`Settings`]; the
//! rest are constants.

use std::time::Duration;

use weir_table::{Error, Result};

/// Jobs of one driver.
pub(super) const JOBS_MAX: usize = 200;
/// Bytes of an error's text that are kept.
pub(super) const ERROR_TEXT_MAX: usize = 500;
/// Calls of `run_now` that wait for one job; more wait to be taken in.
pub(super) const REQUESTS_MAX: usize = 16;
/// Tries to write down how a run ended.
pub(super) const RECORD_TRIES: u32 = 3;
/// How long leases may take to be given back once runs were cut off.
pub(super) const RELEASE_WITHIN: Duration = Duration::from_secs(5);
/// A wait is spread over this part of itself, so that instances do not act in step.
pub(super) const JITTER_PART: u32 = 10;
/// The shortest pause between two looks at anything.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(1);
/// The shortest lease: renewing takes a third of it.
const LEASE_MIN: Duration = Duration::from_millis(30);
/// The longest of all waits of the driver's own.
const WAIT_MAX: Duration = Duration::from_secs(366 * 24 * 3600);
/// Bytes of an instance's id.
pub(super) const INSTANCE_MAX: usize = 255;

/// Entries of a counting job's accumulator at which its window ends, which bounds memory.
pub(super) const ENTRIES_MAX: usize = 10_000;
/// A page with less than this part of the changes it may have shows that the feed's end is near.
pub(super) const TAIL_PART: usize = 4;
/// Changes that are folded at once, before others have their run_context on the thread.
pub(super) const FOLD_MAX: usize = 16;
/// Reading a window takes at most this part of a lease.
pub(super) const LEASE_PART: u32 = 3;

/// How the driver runs jobs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a lease lasts that is not renewed (30 s).
    pub lease: Duration,
    /// How often an instance looks whether another one's lease is over (2 s).
    pub lease_poll: Duration,
    /// How long a run may take, unless the job says otherwise (10 min).
    pub deadline: Duration,
    /// How long after a first failed run the next one begins (1 s); it doubles with each.
    pub backoff_first: Duration,
    /// What that grows to (5 min).
    pub backoff_max: Duration,
    /// Rounds of one run (100).
    pub rounds_max: u32,
    /// How long a job rests that has more to do after that many rounds (100 ms).
    pub rest: Duration,
    /// Items of one round, unless the job says otherwise (1000).
    pub items_max: u64,
    /// Changes of one feed window (500 000).
    pub window_max: usize,
    /// How often a feed with nothing new is read (1 s), unless the job says otherwise.
    pub feed_poll: Duration,
    /// How often a feed job looks whether a full pass is owed (30 s).
    pub pass_poll: Duration,
    /// How often a job that needs no lease writes down how it does (60 s), unless its outcome
    /// changes.
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
    /// Checks what would make the driver spin or stand still.
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
