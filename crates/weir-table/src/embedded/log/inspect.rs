//! Reads a log that may be damaged: every sound record, and the gaps between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::record::{self, HEADER_LEN, Header};
use super::scan;
use super::segment::{self, Segment};
use crate::error::{Error, Result};

/// A part of the log that cannot be read.
#[derive(Debug, Clone)]
pub(in super::super) struct Gap {
    /// The file, and where in it the gap begins.
    pub(in super::super) path: PathBuf,
    pub(in super::super) offset: u64,
    /// The first sequence number that is missing.
    pub(in super::super) first: u64,
    /// The last one; less than `first` if no record is missing, `None` at the end of the log.
    pub(in super::super) last: Option<u64>,
    pub(in super::super) what: &'static str,
}

/// The content of a log.
#[derive(Debug, Default)]
pub(in super::super) struct Inspected {
    pub(in super::super) segments: u64,
    pub(in super::super) records: u64,
    pub(in super::super) bytes: u64,
    /// The first sequence number that the log should have.
    pub(in super::super) first_seq: u64,
    /// The last one that it has; zero without records.
    pub(in super::super) last_seq: u64,
    /// The first one that it does not reach, counting a damaged record at its end.
    pub(in super::super) next_seq: u64,
    /// The last sequence number that a record reports as synced.
    pub(in super::super) synced_seq: u64,
    pub(in super::super) gaps: Vec<Gap>,
}

/// Reads every sound record of a log. Changes nothing. Calls `progress` with the bytes of each segment.
pub(in super::super) fn inspect(
    dir: &Path,
    mut each: impl FnMut(&Header, &[u8]) -> Result<()>,
    progress: impl Fn(u64),
) -> Result<Inspected> {
    let segments = match scan::list(dir) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Vec::new()
        }
        segments => segments?,
    };
    let mut found = Inspected::default();
    let Some(first) = segments.first() else {
        return Ok(found);
    };
    found.first_seq = first.first_seq;
    let mut reading = Reading { found, expected: first.first_seq, broken: None };
    for segment in &segments {
        reading.segment(segment, &mut each)?;
        progress(segment.len());
    }
    reading.found.next_seq = reading.expected;
    if let Some(broken) = reading.broken.take() {
        // At least one record is there.
        reading.found.next_seq += 1;
        reading.found.gaps.push(broken);
    }
    Ok(reading.found)
}

struct Reading {
    found: Inspected,
    expected: u64,
    /// The unreadable end of a segment, until the next one shows what it had.
    broken: Option<Gap>,
}

impl Reading {
    fn segment(
        &mut self,
        segment: &Arc<Segment>,
        each: &mut impl FnMut(&Header, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let bytes = fs::read(&segment.path)
            .map_err(|source| Error::io(format!("reading {}", segment.path.display()), source))?;
        self.found.segments += 1;
        self.found.bytes += bytes.len() as u64;
        self.begin(segment, &bytes);
        let mut offset = segment::HEADER_LEN as usize;
        while offset < bytes.len() {
            match record::take(bytes.get(offset..).unwrap_or_default()) {
                Ok((header, body)) if header.seq >= self.expected => {
                    if header.seq > self.expected {
                        self.gap(segment, offset, header.seq, "records are missing");
                    }
                    each(&header, body)?;
                    self.expected = header.seq + 1;
                    self.found.records += 1;
                    self.found.last_seq = header.seq;
                    self.found.synced_seq = self.found.synced_seq.max(header.synced);
                    offset += HEADER_LEN + header.body_len;
                }
                damaged => {
                    let what = damaged.map_or_else(|why| why.0, |_| "a record out of sequence");
                    let Some(next) = self.pass(segment, &bytes, offset, what) else { break };
                    offset = next;
                }
            }
        }
        Ok(())
    }

    /// Compares the beginning of a segment with the end of the one before.
    fn begin(&mut self, segment: &Segment, bytes: &[u8]) {
        if let Some(broken) = self.broken.take() {
            let last = segment.first_seq.saturating_sub(1);
            self.found.gaps.push(Gap { last: Some(last), ..broken });
            self.expected = self.expected.max(segment.first_seq);
        } else if segment.first_seq > self.expected {
            self.gap(segment, 0, segment.first_seq, "the segment before it is missing");
        }
        let header = segment::header(segment.first_seq);
        if bytes.get(..header.len()) != Some(header.as_slice()) {
            self.gap(segment, 0, self.expected, "not a log segment of this name");
        }
    }

    /// Passes over damage; returns the offset of the next sound record of the segment.
    fn pass(
        &mut self,
        segment: &Segment,
        bytes: &[u8],
        offset: usize,
        what: &'static str,
    ) -> Option<usize> {
        let expected = self.expected;
        match scan::next_sound(bytes, offset + 1, |header| header.seq >= expected) {
            Some((next, header)) => {
                self.gap(segment, offset, header.seq, what);
                Some(next)
            }
            None => {
                let (path, offset) = (segment.path.clone(), offset as u64);
                self.broken = Some(Gap { path, offset, first: expected, last: None, what });
                None
            }
        }
    }

    /// Notes a gap before the record `next`.
    fn gap(&mut self, segment: &Segment, offset: usize, next: u64, what: &'static str) {
        let (path, offset) = (segment.path.clone(), offset as u64);
        let last = Some(next.saturating_sub(1));
        self.found.gaps.push(Gap { path, offset, first: self.expected, last, what });
        self.expected = next;
    }
}
