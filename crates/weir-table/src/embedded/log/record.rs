//! A record of the log: a header with two checksums, and a body.
//!
//! ```text
//! "WrC1"  body length:4  body crc:4  sequence:8  synced:8  time ms:8  header crc:4  body
//! ```
//! `synced` is the last synced sequence number when the record was appended. It distinguishes a torn tail from damage in the
//! middle: a record that a later one reports as synced was complete once.

use super::super::codec::{Input, Malformed};

/// The magic bytes of a record.
pub(in super::super) const MAGIC: &[u8; 4] = b"WrC1";
/// Length of the header.
pub(in super::super) const HEADER_LEN: usize = 40;
/// The largest body: a full transaction with old and new images, and some spare room.
pub(in super::super) const BODY_MAX: usize = 96 * 1024 * 1024;

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Header {
    pub(in super::super) body_len: usize,
    pub(in super::super) body_crc: u32,
    pub(in super::super) seq: u64,
    pub(in super::super) synced: u64,
    pub(in super::super) at_ms: u64,
}

impl Header {
    /// Appends the header's bytes.
    pub(in super::super) fn put(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&u32::try_from(self.body_len).unwrap_or(u32::MAX).to_le_bytes());
        out.extend_from_slice(&self.body_crc.to_le_bytes());
        out.extend_from_slice(&self.seq.to_le_bytes());
        out.extend_from_slice(&self.synced.to_le_bytes());
        out.extend_from_slice(&self.at_ms.to_le_bytes());
        let crc = crc32fast::hash(out.get(start..).unwrap_or_default());
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// Parses a header at the front of `bytes`.
    pub(in super::super) fn take(bytes: &[u8]) -> Result<Header, Malformed> {
        let mut input = Input { rest: bytes };
        let checked = bytes.get(..HEADER_LEN - 4).ok_or(Malformed("a record cut short"))?;
        if input.take(4)? != MAGIC {
            return Err(Malformed("no record begins here"));
        }
        let body_len = input.u32()? as usize;
        let header = Header {
            body_len,
            body_crc: input.u32()?,
            seq: input.u64()?,
            synced: input.u64()?,
            at_ms: input.u64()?,
        };
        if input.u32()? != crc32fast::hash(checked) {
            return Err(Malformed("a record header with a wrong checksum"));
        }
        if body_len > BODY_MAX {
            return Err(Malformed("a record that is too large"));
        }
        Ok(header)
    }
}

/// Parses a record at the front of `bytes`.
pub(in super::super) fn take(bytes: &[u8]) -> Result<(Header, &[u8]), Malformed> {
    let header = Header::take(bytes)?;
    let body = bytes
        .get(HEADER_LEN..HEADER_LEN + header.body_len)
        .ok_or(Malformed("a record cut short"))?;
    if crc32fast::hash(body) != header.body_crc {
        return Err(Malformed("a record body with a wrong checksum"));
    }
    Ok((header, body))
}
