//! A full disk. Records that did not fit are dropped, and the log continues once there is room, without a restart.
//!
//! 1. An append finds no room. [`Log::drop_unwritten`] drops the records that are only in memory, whose writers are still
//!    waiting, and refuses further ones.
//! 2. The engine hides the dropped commits from readers (`forget_unwritten`).
//! 3. [`Log::resume`] cuts the torn record and writes an empty record for each dropped one. So no sequence number is used
//!    twice, and whoever still waits for a dropped one gets an error.
//!
//! Only a refused append is mended like this, because the bytes before it are unaffected. A failed fsync says nothing about
//! which bytes are on disk, so it closes the log for good, whatever its cause.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::super::change;
use super::record::Header;
use super::{Log, Writer, segment};
use crate::error::{Error, Result};
use crate::request::Durability;

/// Sequence numbers of commits that did not fit. One range per full disk, for the life of the process.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    ranges: Mutex<Vec<(u64, u64)>>,
    /// The largest of them. Every response compares it, so the common case takes no lock.
    max: AtomicU64,
    /// Whether readers may still see commits of the last range.
    is_visible: AtomicBool,
}

impl Dropped {
    fn add(&self, first_seq: u64, last_seq: u64) {
        self.ranges.lock().push((first_seq, last_seq));
        self.is_visible.store(true, Ordering::Release);
        self.max.store(last_seq, Ordering::Release);
    }

    fn contains(&self, seq: u64) -> bool {
        let is_in = |&(first, last): &(u64, u64)| (first..=last).contains(&seq);
        seq <= self.max.load(Ordering::Acquire) && self.ranges.lock().iter().any(is_in)
    }
}

impl Log {
    /// Drops everything that is not in the operating system, from `first_seq` on, and refuses commits until
    /// [`Log::resume`].
    pub(super) fn drop_unwritten(&self, writer: &mut Writer, first_seq: u64) -> Error {
        writer.spare = Vec::new();
        {
            // Under the lock, so that no later commit gets a number of the range.
            let mut tail = self.tail.lock();
            tail.buffer = Vec::new();
            tail.first_seq = tail.next_seq;
            self.dropped.add(first_seq, tail.next_seq - 1);
            self.refusing.store(true, Ordering::Release);
        }
        tracing::error!("the disk is full; the store takes no writes until there is room");
        // Wakes those who wait for a dropped commit.
        self.reached.send_modify(|_| {});
        self.wake_syncer();
        Error::DiskFull
    }

    /// Whether commits are refused because the disk is full.
    pub(in super::super) fn is_full(&self) -> bool {
        matches!(self.check_open(), Err(Error::DiskFull))
    }

    /// Whether readers may still see dropped commits.
    pub(in super::super) fn shows_dropped(&self) -> bool {
        self.dropped.is_visible.load(Ordering::Acquire)
    }

    /// Records that readers no longer see dropped commits.
    pub(in super::super) fn note_hidden(&self) {
        self.dropped.is_visible.store(false, Ordering::Release);
    }

    /// Number of commits that were dropped since opening.
    pub(in super::super) fn dropped_total(&self) -> u64 {
        self.dropped.ranges.lock().iter().map(|(first, last)| last - first + 1).sum()
    }

    /// Whether the commit was dropped because the disk was full.
    pub(super) fn is_dropped(&self, seq: u64) -> bool {
        self.dropped.contains(seq)
    }

    /// Fails if the commit was dropped because the disk was full.
    pub(in super::super) fn check_kept(&self, seq: u64) -> Result<()> {
        if self.is_dropped(seq) { Err(Error::DiskFull) } else { Ok(()) }
    }

    /// Tries to continue after a full disk, once the dropped commits are hidden from readers. Blocks.
    ///
    /// # Errors
    /// [`Error::DiskFull`] if there is still no room; [`Error::ReadOnly`] if the disk fails otherwise.
    pub(in super::super) fn resume(&self, now_ms: u64) -> Result<()> {
        let _one_at_a_time = self.syncing.lock();
        let mut writer = self.writer.lock();
        if !self.is_full() {
            return self.check_open();
        }
        if self.shows_dropped() {
            return Err(Error::DiskFull);
        }
        let Some((first_seq, last_seq)) = self.dropped.ranges.lock().last().copied() else {
            return Ok(());
        };
        self.cut_torn(&writer, first_seq).map_err(|error| self.fail(error))?;
        let empty = empty_records(first_seq, last_seq, self.synced_seq(), now_ms);
        let written = writer.file.append(&empty);
        match written.map_err(|source| Error::io("writing the log", source)) {
            Ok(()) => {}
            Err(error) if error.is_no_room() => return Err(Error::DiskFull),
            Err(error) => return Err(self.fail(error)),
        }
        writer.segment.note_written(first_seq, last_seq, empty.len() as u64);
        self.sync_files(&writer.take_unsynced())?;
        self.flushed.store(last_seq, Ordering::Release);
        self.synced.store(last_seq, Ordering::Release);
        self.reached.send_modify(|reached| reached.synced = last_seq);
        self.refusing.store(false, Ordering::Release);
        tracing::info!(
            dropped = last_seq + 1 - first_seq,
            "the disk has room; the store takes writes again"
        );
        Ok(())
    }

    /// Removes what the failed append left: a part of a record, or a segment without a header.
    fn cut_torn(&self, writer: &Writer, first_seq: u64) -> Result<()> {
        let cutting = |source| Error::io("cutting the torn end of the log", source);
        let unborn = self.dir.join(segment::file_name(first_seq));
        if unborn != writer.segment.path && unborn.exists() {
            self.disk.remove(&unborn).map_err(cutting)?;
        }
        writer.file.truncate(writer.segment.len()).map_err(cutting)
    }
}

/// Commits without changes.
fn empty_records(first_seq: u64, last_seq: u64, synced: u64, at_ms: u64) -> Vec<u8> {
    let body = change::body(&[], &[], Durability::Synced);
    let (body_len, body_crc) = (body.len(), crc32fast::hash(&body));
    let mut out = Vec::new();
    for seq in first_seq..=last_seq {
        Header { body_len, body_crc, seq, synced, at_ms }.put(&mut out);
        out.extend_from_slice(&body);
    }
    out
}
