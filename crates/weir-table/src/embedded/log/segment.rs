//! A file of the log, named by the first sequence in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::super::disk::{Disk, DiskFile};
use crate::error::{Error, Result};

/// What a segment begins with: `WEIRLOG`, a version, the first sequence.
pub(super) const HEADER_LEN: u64 = 16;
const MAGIC: &[u8; 7] = b"WEIRLOG";
const VERSION: u8 = 1;
/// How far apart the remembered places are that a reader can start from.
const MARK_EVERY: u64 = 64 * 1024;

/// A file of the log.
#[derive(Debug)]
pub(in super::super) struct Segment {
    /// The file.
    pub(in super::super) path: PathBuf,
    /// The first sequence it can hold.
    pub(in super::super) first_seq: u64,
    len: AtomicU64,
    /// Sequences and where their records begin, far apart.
    marks: Mutex<Vec<(u64, u64)>>,
}

impl Segment {
    /// A segment of `len` bytes.
    pub(in super::super) fn new(path: PathBuf, first_seq: u64, len: u64) -> Segment {
        let marks = Mutex::new(vec![(first_seq, HEADER_LEN)]);
        Segment { path, first_seq, len: AtomicU64::new(len), marks }
    }

    /// Bytes written.
    pub(in super::super) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Counts records that were appended.
    pub(super) fn note_written(&self, first_seq: u64, _last_seq: u64, bytes: u64) {
        let start = self.len.load(Ordering::Relaxed);
        let mut marks = self.marks.lock();
        if marks.last().is_none_or(|(_, at)| start >= at + MARK_EVERY) {
            marks.push((first_seq, start));
        }
        drop(marks);
        self.len.store(start + bytes, Ordering::Release);
    }

    /// Where to begin reading to find the record of `seq`.
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

/// The first sequence a segment's file name says, or none when it is not a segment.
pub(super) fn parse_name(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".log")?.parse().ok()
}

/// The bytes a segment begins with.
pub(super) fn header(first_seq: u64) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.push(VERSION);
    out.extend_from_slice(&first_seq.to_le_bytes());
    out
}

/// Makes a new segment.
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
