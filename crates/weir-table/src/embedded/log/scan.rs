//! Reads the log: on opening, to replay it and to cut a torn tail; later, for the feed.

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use super::super::disk::Disk;
use super::record::{self, HEADER_LEN, Header, MAGIC};
use super::segment::{self, Segment};
use crate::error::{Error, Result};

/// What the operator of a store that does not open can do.
pub(in super::super) const REPAIR: &str = "run `weir repair`, or restore a backup";

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
/// A torn tail that was never synced is cut. Damage in records up to `applied` is passed over, because the base store has
/// them. Other damage before records that were synced later is an error.
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
        let damage = read_segment(&segment, &bytes, &mut expected, applied, |header, body| {
            if header.seq > applied { replay(header, body) } else { Ok(()) }
        })?;
        if let Some((offset, what)) = damage {
            let cut = cut_tail(&mut segments, position, &bytes, offset, expected, applied, what)?;
            return Ok(Scanned { segments, last_seq: expected - 1, cut_bytes: cut });
        }
    }
    if expected <= applied {
        let what = format!("the log ends at {}, the store is at {applied}: {REPAIR}", expected - 1);
        return Err(damaged(dir, 0, what));
    }
    Ok(Scanned { segments, last_seq: expected - 1, cut_bytes: 0 })
}

fn damaged(path: &Path, offset: usize, what: impl Into<String>) -> Error {
    Error::Corrupt { path: path.to_owned(), offset: offset as u64, what: what.into() }
}

pub(super) fn list(dir: &Path) -> Result<Vec<Arc<Segment>>> {
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
        _ => Err(damaged(dir, 0, format!("the log is missing: {REPAIR}"))),
    }
}

fn check_start(dir: &Path, segments: &[Arc<Segment>], applied: u64) -> Result<()> {
    match segments.first() {
        None if applied > 0 => Err(damaged(dir, 0, format!("the log is missing: {REPAIR}"))),
        Some(first) if first.first_seq > applied + 1 => {
            let what =
                format!("starts at {}, the store is at {applied}: {REPAIR}", first.first_seq);
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

/// Reads a segment's records. Returns the offset of the first unreadable one that is needed, if there is one.
fn read_segment(
    segment: &Segment,
    bytes: &[u8],
    expected: &mut u64,
    applied: u64,
    mut each: impl FnMut(&Header, &[u8]) -> Result<()>,
) -> Result<Option<(usize, &'static str)>> {
    if bytes.get(..segment::HEADER_LEN as usize) != Some(&segment::header(segment.first_seq)) {
        if segment.first_seq > applied {
            return Ok(Some((0, "not a log segment of this name")));
        }
        warn_passed(segment, 0, segment.first_seq);
    }
    if segment.first_seq != *expected {
        return Ok(Some((0, "a segment that does not follow the one before")));
    }
    let mut offset = segment::HEADER_LEN as usize;
    while offset < bytes.len() {
        let rest = bytes.get(offset..).unwrap_or_default();
        let (header, body) = match take_expected(rest, *expected) {
            Ok(record) => record,
            Err(what) => match pass_folded(rest, *expected, applied) {
                Some((skipped, next)) => {
                    warn_passed(segment, offset, *expected);
                    (*expected, offset) = (next, offset + skipped);
                    continue;
                }
                None => return Ok(Some((offset, what))),
            },
        };
        each(&header, body)?;
        *expected += 1;
        offset += HEADER_LEN + header.body_len;
    }
    Ok(None)
}

fn take_expected(bytes: &[u8], expected: u64) -> Result<(Header, &[u8]), &'static str> {
    match record::take(bytes) {
        Ok((header, body)) if header.seq == expected => Ok((header, body)),
        Ok(_) => Err("a record out of sequence"),
        Err(malformed) => Err(malformed.0),
    }
}

/// Passes over damage at the front of `bytes`, if every record that it may have hit is folded. Returns its length and the
/// sequence number that follows.
fn pass_folded(bytes: &[u8], expected: u64, applied: u64) -> Option<(usize, u64)> {
    if expected > applied {
        return None;
    }
    match next_sound(bytes, 1, |header| header.seq > expected) {
        Some((offset, header)) if header.seq <= applied + 1 => Some((offset, header.seq)),
        Some(_) => None,
        // Without another beginning of a record the damage is one record: the last one.
        None => {
            let is_last = expected == applied && bytes.get(1..).and_then(find_magic).is_none();
            is_last.then_some((bytes.len(), expected + 1))
        }
    }
}

/// The first sound record from an offset on that is `wanted`.
pub(super) fn next_sound(
    bytes: &[u8],
    from: usize,
    wanted: impl Fn(&Header) -> bool,
) -> Option<(usize, Header)> {
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(find_magic) {
        at += found;
        match record::take(bytes.get(at..).unwrap_or_default()) {
            Ok((header, _)) if wanted(&header) => return Some((at, header)),
            _ => at += 1,
        }
    }
    None
}

fn warn_passed(segment: &Segment, offset: usize, seq: u64) {
    tracing::warn!(
        file = %segment.path.display(),
        offset,
        seq,
        "a damaged part of the log was passed over; the base store has its commits, the feed does not: see `weir verify`"
    );
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
        return Err(damaged(&segment.path, offset, format!("{what}: {REPAIR}")));
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
    let wanted = |header: &Header| header.synced >= seq && header.seq > seq;
    next_sound(bytes.unwrap_or_default(), 0, wanted).is_some()
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
        while let Some((header, body)) = reader.next(seq)? {
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

    /// The next record. Damage is passed over as long as it is before `seq`.
    fn next(&mut self, seq: u64) -> Result<Option<(Header, &[u8])>> {
        let found = match self.take() {
            Err(error @ Error::Corrupt { .. }) => {
                self.pass_damage(seq, error)?;
                self.take()?
            }
            found => found?,
        };
        Ok(found.map(|(header, body)| (header, self.buffer.get(body).unwrap_or_default())))
    }

    /// Takes the next record. Returns its header, and where its body is in the buffer.
    fn take(&mut self) -> Result<Option<(Header, Range<usize>)>> {
        if !self.have(HEADER_LEN)? {
            return Ok(None);
        }
        let offset = |reader: &Self| reader.base as usize + reader.at;
        let header = match Header::take(self.buffer.get(self.at..).unwrap_or_default()) {
            Ok(header) => header,
            Err(malformed) => return Err(damaged(&self.segment.path, offset(self), malformed.0)),
        };
        if !self.have(HEADER_LEN + header.body_len)? {
            return Ok(None);
        }
        let end = self.at + HEADER_LEN + header.body_len;
        if let Err(malformed) = record::take(self.buffer.get(self.at..end).unwrap_or_default()) {
            return Err(damaged(&self.segment.path, offset(self), malformed.0));
        }
        let body = self.at + HEADER_LEN..end;
        self.at = end;
        Ok(Some((header, body)))
    }

    /// Moves to the next sound record, unless that is after `seq`.
    fn pass_damage(&mut self, seq: u64, error: Error) -> Result<()> {
        let bytes = read(&self.segment.path)?;
        let here = usize::try_from(self.base).unwrap_or(usize::MAX).saturating_add(self.at);
        let next = next_sound(&bytes, here.saturating_add(1), |_| true);
        let (offset, _) = next.filter(|(_, header)| header.seq <= seq).ok_or(error)?;
        self.buffer.clear();
        (self.base, self.at) = (offset as u64, 0);
        Ok(())
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
