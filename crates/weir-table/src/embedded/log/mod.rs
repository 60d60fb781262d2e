//! The log: every commit, once and in order. It survives crashes, and it is the change feed.
//!
//! 1. [`Log::append`] takes the next sequence number and copies the record into a buffer, under one lock.
//! 2. [`Log::flush`] writes the buffer to the operating system; the first caller does so for all.
//! 3. [`Log::sync`] runs an fsync outside both locks, shared by everyone who waits.
//!
//! A failed fsync closes the log for good: it is never retried, because the kernel may have dropped the bytes that it could
//! not write. A write that finds no room closes the log until there is room ([`full`]).

mod full;
pub(super) mod inspect;
pub(super) mod record;
pub(super) mod scan;
mod segment;
mod sync_times;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::watch;

use super::disk::{Disk, DiskFile};
use crate::error::{Error, Result};
use full::Dropped;
use record::{HEADER_LEN, Header};
pub(super) use segment::Segment;
pub use sync_times::SyncDurations;
use sync_times::SyncTimes;

/// How long an async thread waits for the flush of another thread.
const FLUSH_WAIT_MAX: Duration = Duration::from_millis(1);

/// How far the log is flushed and synced.
#[derive(Debug, Clone, Default)]
struct Reached {
    synced: u64,
    /// Why the log is closed for good.
    failed: Option<Arc<str>>,
}

#[derive(Debug)]
struct Tail {
    buffer: Vec<u8>,
    first_seq: u64,
    next_seq: u64,
}

#[derive(Debug)]
struct Writer {
    file: Arc<dyn DiskFile>,
    segment: Arc<Segment>,
    /// Rotated files that no fsync has covered yet.
    unsynced: Vec<Arc<dyn DiskFile>>,
    dir_changed: bool,
    spare: Vec<u8>,
}

/// Files that an fsync has to cover, and whether the folder is one of them.
struct Unsynced {
    files: Vec<Arc<dyn DiskFile>>,
    dir_changed: bool,
}

impl Writer {
    fn take_unsynced(&mut self) -> Unsynced {
        let mut files = std::mem::take(&mut self.unsynced);
        files.push(Arc::clone(&self.file));
        Unsynced { files, dir_changed: std::mem::take(&mut self.dir_changed) }
    }
}

/// The log of one store.
#[derive(Debug)]
pub(super) struct Log {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    segment_bytes_max: u64,
    tail: Mutex<Tail>,
    writer: Mutex<Writer>,
    segments: RwLock<Vec<Arc<Segment>>>,
    flushed: AtomicU64,
    synced: AtomicU64,
    closed: AtomicBool,
    /// The log has failed or the disk is full.
    refusing: AtomicBool,
    dropped: Dropped,
    sync_times: SyncTimes,
    reached: watch::Sender<Reached>,
    wanted: Mutex<u64>,
    wake_syncer: Condvar,
    /// Only one fsync runs at a time.
    syncing: Mutex<()>,
}

impl Log {
    /// Opens the log for appending after `last_seq`; `segments` are those that [`scan`] found sound.
    pub(super) fn open(
        dir: &Path,
        disk: Arc<dyn Disk>,
        segment_bytes_max: u64,
        segments: Vec<Arc<Segment>>,
        last_seq: u64,
    ) -> Result<Log> {
        let mut segments = segments;
        let (segment, file) = match segments.last() {
            Some(segment) => {
                let file = disk
                    .append_to(&segment.path)
                    .map_err(|source| Error::io("opening the log's last segment", source))?;
                (Arc::clone(segment), file)
            }
            None => {
                let (segment, file) = segment::create(dir, disk.as_ref(), last_seq + 1)?;
                segments.push(Arc::clone(&segment));
                (segment, file)
            }
        };
        let spare = Vec::new();
        let writer = Writer {
            file,
            segment,
            unsynced: Vec::new(),
            // Opening may have created a segment or removed torn ones.
            dir_changed: true,
            spare,
        };
        Ok(Log {
            dir: dir.to_owned(),
            disk,
            segment_bytes_max,
            tail: Mutex::new(Tail {
                buffer: Vec::new(),
                first_seq: last_seq + 1,
                next_seq: last_seq + 1,
            }),
            writer: Mutex::new(writer),
            segments: RwLock::new(segments),
            flushed: AtomicU64::new(last_seq),
            synced: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            refusing: AtomicBool::new(false),
            dropped: Dropped::default(),
            sync_times: SyncTimes::default(),
            reached: watch::Sender::new(Reached::default()),
            wanted: Mutex::new(0),
            wake_syncer: Condvar::new(),
            syncing: Mutex::new(()),
        })
    }

    /// Appends a record and returns its sequence number. The record is only in memory then.
    pub(super) fn append(&self, body: &[u8], at_ms: u64) -> Result<u64> {
        let body_crc = crc32fast::hash(body);
        let mut tail = self.tail.lock();
        self.check_taking()?;
        let seq = tail.next_seq;
        tail.next_seq += 1;
        let synced = self.synced.load(Ordering::Relaxed);
        tail.buffer.reserve(HEADER_LEN + body.len());
        Header { body_len: body.len(), body_crc, seq, synced, at_ms }.put(&mut tail.buffer);
        tail.buffer.extend_from_slice(body);
        Ok(seq)
    }

    /// Hands everything up to `seq` to the operating system.
    pub(super) fn flush(&self, seq: u64) -> Result<()> {
        if self.flushed.load(Ordering::Acquire) < seq {
            let mut writer = self.writer.lock();
            if self.flushed.load(Ordering::Acquire) < seq {
                self.flush_locked(&mut writer)?;
            }
        }
        self.check_kept(seq)
    }

    /// Like [`Log::flush`], on a thread that must not block for long. Returns false if another flush is slow.
    pub(super) fn flush_soon(&self, seq: u64) -> Result<bool> {
        if self.flushed.load(Ordering::Acquire) < seq {
            let Some(mut writer) = self.writer.try_lock_for(FLUSH_WAIT_MAX) else {
                return Ok(false);
            };
            if self.flushed.load(Ordering::Acquire) < seq {
                self.flush_locked(&mut writer)?;
            }
        }
        self.check_kept(seq).map(|()| true)
    }

    fn flush_locked(&self, writer: &mut Writer) -> Result<()> {
        self.check_open()?;
        let (first_seq, last_seq) = {
            let mut tail = self.tail.lock();
            std::mem::swap(&mut tail.buffer, &mut writer.spare);
            let next_seq = tail.next_seq;
            (std::mem::replace(&mut tail.first_seq, next_seq), next_seq - 1)
        };
        if writer.spare.is_empty() {
            return Ok(());
        }
        let written = self.rotate_if_full(writer, first_seq).and_then(|()| {
            writer.file.append(&writer.spare).map_err(|source| Error::io("writing the log", source))
        });
        match written {
            Ok(()) => {}
            Err(error) if error.is_no_room() => {
                return Err(self.drop_unwritten(writer, first_seq));
            }
            Err(error) => return Err(self.fail(error)),
        }
        writer.segment.note_written(first_seq, last_seq, writer.spare.len() as u64);
        writer.spare.clear();
        // Releases the memory of a burst of large items.
        writer.spare.shrink_to(4 * 1024 * 1024);
        self.flushed.store(last_seq, Ordering::Release);
        Ok(())
    }

    fn rotate_if_full(&self, writer: &mut Writer, first_seq: u64) -> Result<()> {
        let len = writer.segment.len();
        if len <= segment::HEADER_LEN || len + writer.spare.len() as u64 <= self.segment_bytes_max {
            return Ok(());
        }
        let (segment, file) = segment::create(&self.dir, self.disk.as_ref(), first_seq)?;
        let old = std::mem::replace(&mut writer.file, file);
        writer.unsynced.push(old);
        writer.dir_changed = true;
        writer.segment = Arc::clone(&segment);
        self.segments.write().push(segment);
        Ok(())
    }

    /// Syncs everything appended so far, so that it survives a power cut. Blocks.
    ///
    /// On a full disk it syncs what was written before, and returns the error.
    pub(super) fn sync(&self) -> Result<()> {
        let _one_at_a_time = self.syncing.lock();
        let (flushed, files, target) = {
            let mut writer = self.writer.lock();
            let flushed = self.flush_locked(&mut writer);
            if !matches!(flushed, Ok(()) | Err(Error::DiskFull)) {
                return flushed;
            }
            (flushed, writer.take_unsynced(), self.flushed.load(Ordering::Acquire))
        };
        if target > self.synced.load(Ordering::Acquire) || files.dir_changed {
            self.sync_files(&files)?;
            self.synced.store(target, Ordering::Release);
            self.reached.send_modify(|reached| reached.synced = target);
        }
        flushed
    }

    fn sync_files(&self, files: &Unsynced) -> Result<()> {
        let started = Instant::now();
        let synced = files.files.iter().try_for_each(|file| file.sync());
        let synced = synced
            .and_then(|()| if files.dir_changed { self.disk.sync_dir(&self.dir) } else { Ok(()) });
        self.sync_times.observe(started.elapsed());
        synced.map_err(|source| self.fail(Error::io("making the log durable", source)))
    }

    /// Waits until `seq` is on disk.
    pub(super) async fn synced(&self, seq: u64) -> Result<()> {
        if self.synced.load(Ordering::Acquire) >= seq {
            return self.check_kept(seq);
        }
        let mut reached = self.reached.subscribe();
        {
            let mut wanted = self.wanted.lock();
            if *wanted < seq {
                *wanted = seq;
                self.wake_syncer.notify_one();
            }
        }
        let reached = reached
            .wait_for(|reached| {
                reached.synced >= seq || reached.failed.is_some() || self.is_dropped(seq)
            })
            .await
            .map_err(|_| Error::Closed)?;
        self.check_kept(seq)?;
        if reached.synced >= seq {
            return Ok(());
        }
        let reason = reached.failed.as_deref().unwrap_or("the log was closed").to_owned();
        Err(Error::ReadOnly { reason })
    }

    /// Waits for a request for an fsync, at most `idle`. Returns whether one is due.
    pub(super) fn wait_for_sync_request(&self, idle: Duration) -> bool {
        let mut wanted = self.wanted.lock();
        let synced = || self.synced.load(Ordering::Acquire);
        let has_ended = || self.closed.load(Ordering::SeqCst) || self.check_open().is_err();
        if *wanted <= synced() && !has_ended() {
            self.wake_syncer.wait_for(&mut wanted, idle);
        }
        *wanted > synced() || self.last_seq() > synced() || self.check_open().is_err()
    }

    /// Wakes the syncer, so that it notices that the log was closed or has failed.
    pub(super) fn wake_syncer(&self) {
        // Under the lock, so that the syncer either sees the change or already waits.
        let _wanted = self.wanted.lock();
        self.wake_syncer.notify_all();
    }

    /// Refuses further commits. Appended records can still be flushed and synced.
    pub(super) fn close(&self) {
        // Under the lock, so that the following sync covers every commit.
        let _tail = self.tail.lock();
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Fails if the log refuses commits: it has failed, the disk is full, or it was closed.
    pub(super) fn check_taking(&self) -> Result<()> {
        self.check_open()?;
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::Closed);
        }
        Ok(())
    }

    /// Fails if the log has failed or the disk is full.
    pub(super) fn check_open(&self) -> Result<()> {
        // Every commit checks this, so the common case takes no lock.
        if !self.refusing.load(Ordering::Acquire) {
            return Ok(());
        }
        match &self.reached.borrow().failed {
            Some(reason) => Err(Error::ReadOnly { reason: reason.to_string() }),
            None => Err(Error::DiskFull),
        }
    }

    /// Closes the log for good and wakes everyone who waits.
    pub(super) fn fail(&self, error: Error) -> Error {
        if matches!(error, Error::ReadOnly { .. } | Error::DiskFull) {
            return error;
        }
        let cause =
            std::error::Error::source(&error).map_or(String::new(), |why| format!(" ({why})"));
        let reason = format!("{error} failed{cause}");
        self.reached.send_modify(|reached| {
            if reached.failed.is_none() {
                tracing::error!(reason, "the store takes no more writes");
                reached.failed = Some(Arc::from(reason.as_str()));
            }
        });
        self.refusing.store(true, Ordering::Release);
        // The syncer hides unwritten commits from readers.
        self.wake_syncer();
        Error::ReadOnly { reason }
    }

    /// The last assigned sequence number.
    pub(super) fn last_seq(&self) -> u64 {
        self.tail.lock().next_seq - 1
    }

    /// The last sequence number handed to the operating system.
    pub(super) fn flushed_seq(&self) -> u64 {
        self.flushed.load(Ordering::Acquire)
    }

    /// The last sequence number that the operating system will ever have, once the log has failed.
    pub(super) fn flushed_at_rest(&self) -> u64 {
        let _no_flush = self.writer.lock();
        self.flushed_seq()
    }

    /// Durations of the fsyncs since opening.
    pub(super) fn sync_durations(&self) -> SyncDurations {
        self.sync_times.read()
    }

    /// The last synced sequence number.
    pub(super) fn synced_seq(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// The segments, oldest first.
    pub(super) fn segments(&self) -> Vec<Arc<Segment>> {
        self.segments.read().clone()
    }

    /// Removes segments from the front while `removable` returns true; never the active one.
    pub(super) fn trim(&self, mut removable: impl FnMut(&Segment, u64) -> bool) -> Result<u64> {
        let mut removed = 0;
        loop {
            let first = {
                let segments = self.segments.read();
                match segments.as_slice() {
                    [first, next, ..] if removable(first, next.first_seq) => Arc::clone(first),
                    _ => break,
                }
            };
            // One by one, so that a power cut can only bring back the last of them and leaves no gap. A segment that cannot
            // be removed stays in the list, so that the next trim removes it before its successors.
            self.disk
                .remove(&first.path)
                .and_then(|()| self.disk.sync_dir(&self.dir))
                .map_err(|source| Error::io("removing an old log segment", source))?;
            self.segments.write().retain(|segment| segment.first_seq != first.first_seq);
            removed += 1;
        }
        Ok(removed)
    }
}

/// Creates the log of a new store whose first commit will be `first_seq`.
pub(super) fn start(dir: &Path, first_seq: u64) -> Result<()> {
    let doing = |source| Error::io("beginning the log", source);
    std::fs::create_dir_all(dir).map_err(doing)?;
    let disk = super::disk::RealDisk;
    let (_, file) = segment::create(dir, &disk, first_seq)?;
    file.sync().and_then(|()| disk.sync_dir(dir)).map_err(doing)
}
