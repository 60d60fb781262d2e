//! Reads the log: on opening, to replay it and to cut a torn tail; later, for the feed.

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use super::super::disk::Disk;
use super::record::{self, HEADER_LEN, Header, MAGIC};
use super::segment::{self, Segment};
use crate::error::{Error, Result};

/// The result of a scan: a sound log.
#[derive(Debug)]
pub(in super::super) struct Scanned {
    /// The segments.
    pub(in super::super) segments: Vec<Arc<Segment>>,
    /// The last sequence number.
    pub(in super::super) last_seq: u64,
    /// Bytes of the torn tail that was cut.
    pub(in super::super) cut_bytes: u64,
}

/// Reads every record after `applied` and hands it to `replay`.
///
/// A torn tail that was never synced is cut. Damage before records that were synced later is an error; nothing is skipped.
pub(in super::super) fn replay(
    dir: &Path,
    disk: &dyn Disk,
    applied: u64,
    mut replay: impl FnMut(&Header, &[u8]) -> Result<()>,
) -> Result<Scanned> {
    let mut segments = list(dir)?;
    drop_unborn(&mut segments)?;
    check_start(dir, &segments, applied)?;
    let start =
        segments.partition_point(|segment| segment.first_seq <= applied + 1).saturating_sub(1);
    sync(dir, disk, segments.get(start..).unwrap_or_default())?;
    let mut expected = segments.get(start).map_or(applied + 1, |segment| segment.first_seq);
    for position in start..segments.len() {
        let Some(segment) = segments.get(position).cloned() else {
            break;
        };
        let bytes = read(&segment.path)?;
        let damage = read_segment(&segment, &bytes, &mut expected, |header, body| {
            if header.seq > applied { replay(header, body) } else { Ok(()) }
        })?;
        if let Some((offset, what)) = damage {
            let cut = cut_tail(&mut segments, position, &bytes, offset, expected, applied, what)?;
            return Ok(Scanned { segments, last_seq: expected - 1, cut_bytes: cut });
        }
    }
    if expected <= applied {
        return Err(damaged(
            dir,
            0,
            format!("the log ends at {}, the store is at {applied}", expected - 1),
        ));
    }
    Ok(Scanned { segments, last_seq: expected - 1, cut_bytes: 0 })
}

fn damaged(path: &Path, offset: usize, what: impl Into<String>) -> Error {
    Error::Corrupt { path: path.to_owned(), offset: offset as u64, what: what.into() }
}

fn list(dir: &Path) -> Result<Vec<Arc<Segment>>> {
    let reading = |source| Error::io("listing the log's segments", source);
    let mut segments = Vec::new();
    for entry in fs::read_dir(dir).map_err(reading)? {
        let path = entry.map_err(reading)?.path();
        if let Some(first_seq) = segment::parse_name(&path) {
            let len = fs::metadata(&path).map_err(reading)?.len();
            segments.push(Arc::new(Segment::new(path, first_seq, len)));
        }
    }
    segments.sort_by_key(|segment| segment.first_seq);
    Ok(segments)
}

/// A crash between the creation of a segment and the write of its header leaves a segment without one.
fn drop_unborn(segments: &mut Vec<Arc<Segment>>) -> Result<()> {
    if let Some(last) = segments.pop_if(|segment| segment.len() < segment::HEADER_LEN) {
        fs::remove_file(&last.path)
            .map_err(|source| Error::io("removing an empty segment", source))?;
    }
    Ok(())
}

/// Refuses a log without segments. A complete store always has one.
pub(in super::super) fn check_present(dir: &Path) -> Result<()> {
    match list(dir) {
        Ok(segments) if !segments.is_empty() => Ok(()),
        Err(Error::Io { source, .. }) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("listing the log's segments", source))
        }
        _ => Err(damaged(dir, 0, "the log is missing: restore a backup")),
    }
}

fn check_start(dir: &Path, segments: &[Arc<Segment>], applied: u64) -> Result<()> {
    match segments.first() {
        None if applied > 0 => Err(damaged(dir, 0, "the log is missing")),
        Some(first) if first.first_seq > applied + 1 => {
            let what = format!("starts at {}, the store is at {applied}", first.first_seq);
            Err(damaged(&first.path, 0, what))
        }
        _ => Ok(()),
    }
}

/// Syncs what a killed process left in the page cache. Only then may reads return it or a fold include it.
fn sync(dir: &Path, disk: &dyn Disk, segments: &[Arc<Segment>]) -> Result<()> {
    let all = || {
        for segment in segments {
            disk.append_to(&segment.path)?.sync()?;
        }
        disk.sync_dir(dir)
    };
    all().map_err(|source| Error::io("making the log found on opening durable", source))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::io(format!("reading {}", path.display()), source))
}

/// Reads a segment's records. Returns the offset of the first unreadable one, if there is one.
fn read_segment(
    segment: &Segment,
    bytes: &[u8],
    expected: &mut u64,
    mut each: impl FnMut(&Header, &[u8]) -> Result<()>,
) -> Result<Option<(usize, &'static str)>> {
    if bytes.get(..segment::HEADER_LEN as usize) != Some(&segment::header(segment.first_seq)) {
        return Ok(Some((0, "not a log segment of this name")));
    }
    if segment.first_seq != *expected {
        return Ok(Some((0, "a segment that does not follow the one before")));
    }
    let mut offset = segment::HEADER_LEN as usize;
    while offset < bytes.len() {
        let rest = bytes.get(offset..).unwrap_or_default();
        let (header, body) = match record::take(rest) {
            Ok(record) => record,
            Err(malformed) => return Ok(Some((offset, malformed.0))),
        };
        if header.seq != *expected {
            return Ok(Some((offset, "a record out of sequence")));
        }
        each(&header, body)?;
        *expected += 1;
        offset += HEADER_LEN + header.body_len;
    }
    Ok(None)
}

/// Cuts everything after the last good record, unless a later record shows that it was synced.
fn cut_tail(
    segments: &mut Vec<Arc<Segment>>,
    position: usize,
    bytes: &[u8],
    offset: usize,
    expected: u64,
    applied: u64,
    what: &'static str,
) -> Result<u64> {
    let Some(segment) = segments.get(position).cloned() else {
        return Ok(0);
    };
    let mut was_synced = expected <= applied || later_synced(bytes.get(offset..), expected);
    let mut cut = bytes.len().saturating_sub(offset) as u64;
    for later in segments.iter().skip(position + 1) {
        let bytes = read(&later.path)?;
        cut += bytes.len() as u64;
        was_synced |= later_synced(Some(&bytes), expected);
    }
    if was_synced {
        return Err(damaged(&segment.path, offset, what));
    }
    let cutting = |source| Error::io("cutting the torn end of the log", source);
    for later in segments.drain(position + 1..) {
        fs::remove_file(&later.path).map_err(cutting)?;
    }
    if offset < segment::HEADER_LEN as usize {
        segments.truncate(position);
        fs::remove_file(&segment.path).map_err(cutting)?;
        return Ok(cut);
    }
    let file = OpenOptions::new().write(true).open(&segment.path).map_err(cutting)?;
    file.set_len(offset as u64).map_err(cutting)?;
    file.sync_all().map_err(cutting)?;
    let sound = Segment::new(segment.path.clone(), segment.first_seq, offset as u64);
    segments.truncate(position);
    segments.push(Arc::new(sound));
    tracing::warn!(bytes = cut, last_seq = expected - 1, "cut the torn end of the log");
    Ok(cut)
}

/// Whether a sound record in `bytes` reports `seq` as synced.
fn later_synced(bytes: Option<&[u8]>, seq: u64) -> bool {
    let bytes = bytes.unwrap_or_default();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(find_magic) {
        at += found;
        if let Ok((header, _)) = record::take(bytes.get(at..).unwrap_or_default())
            && header.synced >= seq
            && header.seq > seq
        {
            return true;
        }
        at += 1;
    }
    false
}

fn find_magic(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MAGIC.len()).position(|window| window == MAGIC)
}

/// Reads records from `seq` to `last_seq`, until `each` returns false.
///
/// # Errors
/// [`Error::Trimmed`] if `seq` was removed, [`Error::Corrupt`] if a record is damaged.
pub(in super::super) fn read_from(
    segments: &[Arc<Segment>],
    seq: u64,
    last_seq: u64,
    mut each: impl FnMut(&Header, &[u8]) -> Result<bool>,
) -> Result<()> {
    if segments.first().is_none_or(|first| seq < first.first_seq) {
        return Err(Error::Trimmed);
    }
    let start = segments.partition_point(|segment| segment.first_seq <= seq).saturating_sub(1);
    let mut expected = seq;
    for (number, segment) in segments.iter().skip(start).enumerate() {
        let mut reader = Reader::open(segment, seq)?;
        if number > 0 && expected != segment.first_seq {
            let what = format!("begins with {}, {expected} is missing", segment.first_seq);
            return Err(damaged(&segment.path, 0, what));
        }
        while let Some((header, body)) = reader.next()? {
            if header.seq > last_seq {
                return Ok(());
            }
            expected = header.seq + 1;
            if header.seq >= seq && !each(&header, body)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Reads a segment in pieces.
struct Reader<'a> {
    segment: &'a Segment,
    file: fs::File,
    buffer: Vec<u8>,
    /// Offset of the buffer in the file, and of the next record in the buffer.
    base: u64,
    at: usize,
}

/// Small enough for the L1 or L2 cache: the data is read once, and must not evict what requests use.
const PIECE: usize = 32 * 1024;

thread_local! {
    /// The buffer of the last reader on this thread. The feed is read again and again, and a buffer of this size would be
    /// returned to the system and cleared each time.
    static BUFFER: RefCell<Vec<u8>> = RefCell::default();
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        // Retained at the size of the longest record, because shrinking would reallocate each time.
        if buffer.capacity() > 16 * PIECE {
            buffer.shrink_to(PIECE);
        }
        BUFFER.set(buffer);
    }
}

impl<'a> Reader<'a> {
    fn open(segment: &'a Segment, seq: u64) -> Result<Reader<'a>> {
        let file = match fs::File::open(&segment.path) {
            // A trim may have removed the segment since it was listed.
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::Trimmed);
            }
            Err(source) => return Err(Error::io("opening a log segment", source)),
            Ok(file) => file,
        };
        Ok(Reader { segment, file, buffer: BUFFER.take(), base: segment.start_for(seq), at: 0 })
    }

    fn next(&mut self) -> Result<Option<(Header, &[u8])>> {
        if !self.have(HEADER_LEN)? {
            return Ok(None);
        }
        let wrong = |reader: &Self, what: &str| {
            Err(damaged(&reader.segment.path, reader.base as usize + reader.at, what))
        };
        let header = match Header::take(self.buffer.get(self.at..).unwrap_or_default()) {
            Ok(header) => header,
            Err(malformed) => return wrong(self, malformed.0),
        };
        if !self.have(HEADER_LEN + header.body_len)? {
            return Ok(None);
        }
        let start = self.at;
        self.at += HEADER_LEN + header.body_len;
        match record::take(self.buffer.get(start..self.at).unwrap_or_default()) {
            Ok(record) => Ok(Some(record)),
            Err(malformed) => wrong(self, malformed.0),
        }
    }

    /// Buffers `len` bytes at the current offset; returns false at the end of the written part.
    fn have(&mut self, len: usize) -> Result<bool> {
        if self.buffer.len() - self.at >= len {
            return Ok(true);
        }
        self.buffer.drain(..self.at);
        self.base += self.at as u64;
        self.at = 0;
        let from = self.base + self.buffer.len() as u64;
        let written =
            usize::try_from(self.segment.len().saturating_sub(from)).unwrap_or(usize::MAX);
        let want = len.saturating_sub(self.buffer.len()).max(PIECE).min(written);
        let old = self.buffer.len();
        self.buffer.resize(old + want, 0);
        let target = self.buffer.get_mut(old..).unwrap_or_default();
        self.file
            .read_exact_at(target, from)
            .map_err(|source| Error::io("reading a log segment", source))?;
        Ok(self.buffer.len() >= len)
    }
}
