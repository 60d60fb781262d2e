//! Free space on the disk. Growth is refused early, so that what exists can still be settled, deleted and folded.
//!
//! | free space | accepted |
//! |---|---|
//! | at least `free_bytes_min` | every write |
//! | less ([`Level::Low`]) | deletions and essential writes; every checkpoint trims the log |
//! | less than a half ([`Level::Reserved`]) | no write |
//! | less than a quarter | no write, and no fold |
//!
//! A fold also needs room for twice its bytes above that quarter.
//!
//! Log and base store recover if the disk is full all the same (`log/full.rs`, `reopen.rs`). A thread measures the free
//! space, opens the base store again and resumes the log.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::background;
use super::engine::Engine;
use crate::error::{Error, Result};
use crate::request::{Action, Write};

/// How often the free space is measured.
const MEASURE_EVERY: Duration = Duration::from_millis(200);
/// Writes are accepted again when the free space exceeds the bound by this part of it, so that the state does not flap.
const CLEARANCE: u64 = 8;
/// Files that must still fit. A full table of inodes is a full disk.
const FREE_FILES_MIN: u64 = 1024;

/// How much room the disk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Roomy,
    Low,
    Reserved,
}

/// The measured free space.
#[derive(Debug)]
pub(super) struct DiskSpace {
    min: u64,
    free: AtomicU64,
    /// The level that holds for writers: the measured one, unless the base store is broken.
    level: AtomicU8,
    state: Mutex<State>,
    /// The last fold was refused for lack of room.
    refuses_folds: AtomicBool,
    refused: AtomicU64,
}

#[derive(Debug)]
struct State {
    measured: Level,
    /// The base store found no room, and is not yet open again.
    is_broken: bool,
}

impl State {
    fn level(&self) -> Level {
        if self.is_broken { Level::Reserved } else { self.measured }
    }
}

impl DiskSpace {
    pub(super) fn new(free_bytes_min: u64) -> DiskSpace {
        DiskSpace {
            min: free_bytes_min,
            free: AtomicU64::new(u64::MAX),
            level: AtomicU8::new(Level::Roomy as u8),
            state: Mutex::new(State { measured: Level::Roomy, is_broken: false }),
            refuses_folds: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        }
    }

    /// Bytes that were free at the last measurement; `None` before the first.
    pub(super) fn free(&self) -> Option<u64> {
        Some(self.free.load(Ordering::Relaxed)).filter(|free| *free < u64::MAX)
    }

    /// Writes that were refused for lack of room since opening.
    pub(super) fn refused_total(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Whether there was no room for the last fold.
    pub(super) fn refuses_folds(&self) -> bool {
        self.refuses_folds.load(Ordering::Relaxed)
    }

    pub(super) fn level(&self) -> Level {
        match self.level.load(Ordering::Relaxed) {
            0 => Level::Roomy,
            1 => Level::Low,
            _ => Level::Reserved,
        }
    }

    /// Refuses a commit for which there is no room.
    pub(super) fn check(&self, is_essential: impl FnOnce() -> bool) -> Result<()> {
        match self.level() {
            Level::Roomy => return Ok(()),
            Level::Low if is_essential() => return Ok(()),
            Level::Low | Level::Reserved => {}
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Error::DiskFull)
    }

    /// Records a measurement. Returns the level before it.
    fn note(&self, free: u64) -> Level {
        self.free.store(free, Ordering::Relaxed);
        self.change(|state| state.measured = next_level(state.measured, free, self.min))
    }

    /// Whether the base store found no room, and is not yet open again.
    pub(super) fn is_broken(&self) -> bool {
        self.state.lock().is_broken
    }

    /// Refuses all writes until the base store is open again, or no longer.
    pub(super) fn set_broken(&self, is_broken: bool) {
        self.change(|state| state.is_broken = is_broken);
    }

    /// Returns the level before the change.
    fn change(&self, change: impl FnOnce(&mut State)) -> Level {
        let mut state = self.state.lock();
        let before = state.level();
        change(&mut state);
        self.level.store(state.level() as u8, Ordering::Relaxed);
        before
    }
}

/// The level at `free` bytes. A level is left only with some clearance.
fn next_level(before: Level, free: u64, min: u64) -> Level {
    let bound = |level: Level, bytes: u64| {
        if before >= level { bytes.saturating_add(bytes / CLEARANCE) } else { bytes }
    };
    if free < bound(Level::Reserved, min / 2) {
        Level::Reserved
    } else if free < bound(Level::Low, min) {
        Level::Low
    } else {
        Level::Roomy
    }
}

/// Whether a full disk refuses the commit last: it only deletes, or one of its writes is essential.
pub(super) fn is_essential<'w>(writes: impl Iterator<Item = &'w Write> + Clone) -> bool {
    let frees = |write: &Write| matches!(write.action, Action::Delete(_) | Action::Check(_));
    writes.clone().any(|write| write.essential) || writes.clone().all(frees)
}

impl Engine {
    /// Measures the free space.
    pub(super) fn measure_disk(&self) {
        let free = match self.free_bytes() {
            Ok(free) => free,
            Err(error) => {
                tracing::debug!(%error, "the free space of the disk is unknown");
                return;
            }
        };
        let before = self.disk_space.note(free);
        let level = self.disk_space.level();
        if level == before {
            return;
        }
        if level == Level::Roomy {
            tracing::info!(free_bytes = free, "the disk has room; the store takes all writes");
            self.room.notify_waiters();
        } else {
            tracing::warn!(
                free_bytes = free,
                ?level,
                "the disk is nearly full; writes are refused"
            );
            // It trims the log.
            self.request_checkpoint();
        }
    }

    /// Refuses a fold for which there may be no room: it is written to the journal and then to tables.
    pub(super) fn check_room_to_fold(&self) -> Result<()> {
        if self.disk_space.is_broken() {
            return Err(Error::DiskFull);
        }
        self.measure_disk();
        let bytes = {
            let gate = self.generations.read();
            let frozen = gate.frozen.as_ref().map_or(0, |frozen| frozen.generation.bytes());
            (gate.active.bytes() + frozen) as u64
        };
        let bound = self.options.free_bytes_min;
        let room = bound / 4 + 2 * bytes;
        let is_refused = bound > 0 && self.disk_space.free().is_some_and(|free| free < room);
        self.disk_space.refuses_folds.store(is_refused, Ordering::Relaxed);
        if is_refused { Err(Error::DiskFull) } else { Ok(()) }
    }

    /// Free bytes for the folder, the log and the base store, which may be on disks of their own: the least of them. Zero if
    /// one of them has few files left.
    fn free_bytes(&self) -> std::io::Result<u64> {
        let (dir, disk) = (&self.options.dir, &self.options.disk);
        let mut least = u64::MAX;
        for path in [dir.clone(), dir.join("log"), dir.join("store")] {
            if disk.free_files(&path)?.is_some_and(|files| files < FREE_FILES_MIN) {
                return Ok(0);
            }
            least = least.min(disk.free_bytes(&path)?);
        }
        Ok(least)
    }

    /// Continues after a full disk, if there is room.
    fn resume_log(&self) {
        // Makes durable what was written before, so that everything that readers will see is.
        let synced = self.log.sync();
        if !matches!(synced, Err(Error::DiskFull)) {
            return;
        }
        if self.log.shows_dropped() && self.forget_unwritten() {
            self.log.note_hidden();
        }
        if self.disk_space.level() == Level::Reserved {
            return;
        }
        if self.log.resume(self.options.clock.now_ms()).is_ok() {
            self.room.notify_waiters();
        }
    }
}

/// Measures the free space, and resumes the base store and the log, until the store closes.
pub(super) fn measure_loop(engine: &Engine, closing: &AtomicBool) {
    background::lower_priority();
    while !closing.load(Ordering::SeqCst) {
        engine.measure_disk();
        engine.mend_base();
        if engine.log.is_full() {
            engine.resume_log();
        }
        std::thread::park_timeout(MEASURE_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;

    #[test]
    fn a_level_is_left_with_some_clearance() {
        let levels = [(800, Level::Roomy), (799, Level::Low), (899, Level::Low)];
        let levels = levels.into_iter().chain([(900, Level::Roomy), (399, Level::Reserved)]);
        let levels =
            levels.chain([(449, Level::Reserved), (450, Level::Low), (0, Level::Reserved)]);
        let space = DiskSpace::new(800);
        for (free, expected) in levels {
            space.note(free);
            assert_eq!(space.level(), expected, "{free}");
        }
        let unbounded = DiskSpace::new(0);
        unbounded.note(0);
        assert_eq!(unbounded.level(), Level::Roomy);
    }

    #[test]
    fn only_deletions_and_essential_writes_pass_a_nearly_full_disk() {
        let delete = || Write::delete("t", Key::partition("a"));
        let put = || Write::put("t", crate::Item::new().with("a", 1));
        let cases = [
            (vec![delete()], true),
            (vec![put()], false),
            (vec![delete(), put()], false),
            (vec![put(), put().essential()], true),
        ];
        for (writes, expected) in cases {
            assert_eq!(is_essential(writes.iter()), expected, "{writes:?}");
        }
    }
}
