//! A base store that found no room. It is opened again once there is room, without a restart.
//!
//! It takes no writes any more after any failure, in a fold as in one of its threads, but reads go on.
//!
//! 1. [`Engine::base_failed`] refuses writes. The generation that was being folded stays frozen, where readers find it.
//! 2. Once there is room, [`Engine::mend_base`] opens the base store again. A batch that is torn is cut from its journal; the
//!    frozen generation has what it held.
//! 3. The next checkpoint folds the frozen generation, unless the journal had it all the same.
//!
//! The base store is at least where the last finished fold left it, because that fold was with the operating system.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::base::{self, journal::Cut};
use super::disk_space::Level;
use super::engine::Engine;
use super::open::DAMAGED;
use crate::error::{Error, Result};

/// How often it is tried.
const TRY_EVERY: Duration = Duration::from_secs(1);
/// Failures that a full disk does not explain, in so long a time, after which the store stays closed for writes.
const UNEXPLAINED_MAX: usize = 3;
const UNEXPLAINED_WITHIN: Duration = Duration::from_secs(60 * 60);
/// How long a disk that was nearly full explains a failure: threads of the base store report it to nobody.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(60);
/// Free space below which any failure is taken for a full disk, whatever the configured bound.
const NEARLY_FULL: u64 = 64 * 1024 * 1024;
/// Bounds are exceeded by this part before the store is opened again, so that it does not flap.
const CLEARANCE: u64 = 8;

/// What is known of failures of the base store.
#[derive(Debug, Default)]
pub(super) struct Reopening {
    /// When the disk was last found full or nearly so.
    full_at: Option<Instant>,
    /// When the base store failed for no known reason.
    unexplained: Vec<Instant>,
    tried_at: Option<Instant>,
    /// Parts of journals that were cut, until the store is known to be whole.
    cuts: Vec<Cut>,
}

impl Reopening {
    /// Records that the base store failed. Returns whether opening it again may help.
    fn note_failure(&mut self, found_no_room: bool, now: Instant) -> bool {
        if found_no_room {
            self.full_at = Some(now);
        }
        let is_within = |then: Instant, time| now.saturating_duration_since(then) <= time;
        if self.full_at.is_some_and(|then| is_within(then, EXPLAINED_WITHIN)) {
            return true;
        }
        self.unexplained.retain(|then| is_within(*then, UNEXPLAINED_WITHIN));
        self.unexplained.push(now);
        self.unexplained.len() <= UNEXPLAINED_MAX
    }
}

impl Engine {
    /// Handles a failure of the base store, and returns the error for the caller. If it found no room, writes are refused
    /// until it is open again; any other failure closes the log for good.
    pub(super) fn base_failed(&self, error: Error) -> Error {
        // It is being opened just now.
        if matches!(error, Error::Unavailable(_)) {
            return error;
        }
        let found_no_room = error.is_no_room();
        if !found_no_room && !base::is_poisoned(&error) {
            return self.log.fail(error);
        }
        if self.disk_space.is_broken() {
            return Error::DiskFull;
        }
        self.measure_disk();
        if !self.reopening.lock().note_failure(found_no_room, Instant::now()) {
            return self.log.fail(error);
        }
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "the base store found no room; the store takes no writes until there is room"
        );
        self.disk_space.set_broken(true);
        self.room.notify_waiters();
        Error::DiskFull
    }

    /// Notices a base store that takes no writes, and opens it again once there is room.
    pub(super) fn mend_base(&self) {
        let now = Instant::now();
        let is_full = self.log.is_full() || self.disk_space.level() != Level::Roomy;
        if is_full || self.disk_space.free().is_some_and(|free| free < NEARLY_FULL) {
            self.reopening.lock().full_at = Some(now);
        }
        if self.has_failed() {
            return;
        }
        if !self.disk_space.is_broken()
            && let Err(error) = self.base.check_writable()
        {
            self.base_failed(error);
        }
        if !self.disk_space.is_broken() {
            return;
        }
        let is_soon = |then: Instant| now.saturating_duration_since(then) < TRY_EVERY;
        if self.reopening.lock().tried_at.is_some_and(is_soon) {
            return;
        }
        match self.reopen_base() {
            Ok(true) => {
                tracing::info!("the base store is open again");
                self.base_reopened.fetch_add(1, Ordering::Relaxed);
                self.disk_space.set_broken(false);
                self.room.notify_waiters();
                self.request_checkpoint();
            }
            Ok(false) => {}
            Err(error) if error.is_no_room() => {
                self.reopening.lock().full_at = Some(now);
                tracing::warn!(error = &error as &dyn std::error::Error, "there is still no room");
            }
            Err(error) => {
                self.log.fail(error);
            }
        }
    }

    /// Whether the log is closed for good.
    fn has_failed(&self) -> bool {
        matches!(self.log.check_open(), Err(Error::ReadOnly { .. }))
    }

    /// Opens the base store again. Returns false if there is no room yet, or if it is in use.
    fn reopen_base(&self) -> Result<bool> {
        // A fold that has yet to notice; the next tick tries again.
        let Some(_no_fold) = self.checkpointing.try_lock() else { return Ok(false) };
        let first = self.first_writes()?;
        let bound = self.options.free_bytes_min;
        let room = first.max(bound.saturating_add(bound / CLEARANCE));
        if self.disk_space.free().is_some_and(|free| free < room) {
            return Ok(false);
        }
        let mut reopening = self.reopening.lock();
        reopening.tried_at = Some(Instant::now());
        // While the old instance is there, because it serves reads.
        self.base.check_room(first)?;
        if !self.base.reopen(&self.options.dir.join(DAMAGED), &mut reopening.cuts)? {
            tracing::debug!("the base store is in use; trying again to open it");
            return Ok(false);
        }
        let (found, expected) = (self.base.applied()?, self.applied());
        if found < expected {
            let what = format!("it is at commit {found} instead of {expected}");
            return Err(Error::backend("opening the base store again", what));
        }
        reopening.cuts.drain(..).for_each(Cut::forget);
        Ok(true)
    }

    /// Bytes that are written first then: a journal, and the frozen generation to the journal and to tables.
    fn first_writes(&self) -> Result<u64> {
        let frozen = self.generations.read().frozen.as_ref().map_or(0, |f| f.generation.bytes());
        Ok(2 * frozen as u64 + self.base.room_to_reopen()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_a_full_disk_does_not_explain_are_final_after_a_few() {
        let (mut reopening, begin) = (Reopening::default(), Instant::now());
        let minute = Duration::from_secs(60);
        for number in 0..3 {
            assert!(reopening.note_failure(false, begin + number * minute));
        }
        assert!(!reopening.note_failure(false, begin + 3 * minute));
        for number in 4..10 {
            assert!(reopening.note_failure(true, begin + number * minute), "the disk was full");
        }
        assert!(reopening.note_failure(false, begin + 10 * minute), "it still explains it");
        assert!(!reopening.note_failure(false, begin + 12 * minute));
        assert!(reopening.note_failure(false, begin + 90 * minute));
    }
}
