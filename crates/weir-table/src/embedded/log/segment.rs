//! A segment of the log, named by its first sequence number.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::super::disk::{Disk, DiskFile};
use crate::error::{Error, Result};

/// The head of a segment: `WEIRLOG`, a version, the first sequence number.
pub(super) const HEADER_LEN: u64 = 16;
const MAGIC: &[u8; 7] = b"WEIRLOG";
const VERSION: u8 = 1;
/// Distance between the remembered offsets at which a reader can start.
const MARK_EVERY: u64 = 64 * 1024;

/// A segment.
#[derive(Debug)]
pub(in super::super) struct Segment {
    /// Path of the file.
    pub(in super::super) path: PathBuf,
    /// The first sequence number that it can contain.
    pub(in super::super) first_seq: u64,
    len: AtomicU64,
    /// Sparse index: sequence numbers and the offsets of their records.
    marks: Mutex<Vec<(u64, u64)>>,
}

impl Segment {
    /// A segment of `len` bytes.
    pub(in super::super) fn new(path: PathBuf, first_seq: u64, len: u64) -> Segment {
        let marks = Mutex::new(vec![(first_seq, HEADER_LEN)]);
        Segment { path, first_seq, len: AtomicU64::new(len), marks }
    }

    /// Length in bytes.
    pub(in super::super) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Records that bytes were appended.
    pub(super) fn note_written(&self, first_seq: u64, _last_seq: u64, bytes: u64) {
        let start = self.len.load(Ordering::Relaxed);
        let mut marks = self.marks.lock();
        if marks.last().is_none_or(|(_, at)| start >= at + MARK_EVERY) {
            marks.push((first_seq, start));
        }
        drop(marks);
        self.len.store(start + bytes, Ordering::Release);
    }

    /// Offset from which to search for the record of `seq`.
    pub(in super::super) fn start_for(&self, seq: u64) -> u64 {
        let marks = self.marks.lock();
        let after = marks.partition_point(|(first, _)| *first <= seq);
        marks.get(after.saturating_sub(1)).map_or(HEADER_LEN, |(_, at)| *at)
    }
}

/// The name of the segment that begins with `first_seq`.
pub(super) fn file_name(first_seq: u64) -> String {
    format!("{first_seq:020}.log")
}

/// The first sequence number in a segment's file name; `None` for other files.
pub(super) fn parse_name(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".log")?.parse().ok()
}

/// The head of the segment that begins with `first_seq`.
pub(super) fn header(first_seq: u64) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(VERSION);
    out.extend_from_slice(&first_seq.to_le_bytes());
    out
}

/// Creates a segment.
pub(super) fn create(
    dir: &Path,
    disk: &dyn Disk,
    first_seq: u64,
) -> Result<(Arc<Segment>, Arc<dyn DiskFile>)> {
    let path = dir.join(file_name(first_seq));
    let doing = || format!("making the log segment {}", path.display());
    let file = disk.append_to(&path).map_err(|source| Error::io(doing(), source))?;
    file.append(&header(first_seq)).map_err(|source| Error::io(doing(), source))?;
    Ok((Arc::new(Segment::new(path.clone(), first_seq, HEADER_LEN)), file))
}
