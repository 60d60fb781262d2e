//! Files with a checksum.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::error::{Error, Result};

/// The longest part of an entry in a backup; a longer one is damage. A part of the archive of usage logs of practice has at
/// most 5 000 lines of 16 KiB and their ids.
pub(super) const PART_MAX: u64 = 128 * 1024 * 1024;

/// Reads or writes, and computes a checksum.
pub(super) struct Checksummed<T> {
    inner: T,
    crc: crc32fast::Hasher,
    /// Bytes read or written so far.
    pub(super) bytes: u64,
}

impl Checksummed<BufWriter<File>> {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?;
        let inner = BufWriter::new(file);
        Ok(Checksummed { inner, crc: crc32fast::Hasher::new(), bytes: 0 })
    }

    /// Makes the file durable. Returns its length and its checksum.
    pub(super) fn finish(self) -> io::Result<(u64, u32)> {
        self.inner.into_inner()?.sync_all()?;
        Ok((self.bytes, self.crc.finalize()))
    }
}

impl Checksummed<BufReader<File>> {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let inner = BufReader::new(File::open(path)?);
        Ok(Checksummed { inner, crc: crc32fast::Hasher::new(), bytes: 0 })
    }
}

impl<T: Write> Checksummed<T> {
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
        self.inner.write_all(bytes)
    }
}

impl<T: Read> Checksummed<T> {
    pub(super) fn take(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.inner.read_exact(&mut bytes)?;
        self.crc.update(&bytes);
        self.bytes += len as u64;
        Ok(bytes)
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(io::Error::other("an integer that does not end"))
    }

    pub(super) fn part(&mut self) -> io::Result<Vec<u8>> {
        let len = self.varint()?;
        if len > PART_MAX {
            return Err(io::Error::other("an entry that is too long"));
        }
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }
}

/// Checks the length and the checksum of a whole file.
pub(super) fn verify(path: &Path, bytes: u64, checksum: u32) -> Result<()> {
    let reading = |source| Error::io(format!("reading {}", path.display()), source);
    let damaged = |offset, what| Err(Error::Corrupt { path: path.to_owned(), offset, what });
    let mut file = File::open(path).map_err(reading)?;
    let (mut crc, mut found) = (crc32fast::Hasher::new(), 0u64);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let len = file.read(&mut buffer).map_err(reading)?;
        if len == 0 {
            break;
        }
        crc.update(buffer.get(..len).unwrap_or_default());
        found += len as u64;
    }
    if found != bytes {
        return damaged(found, format!("has {found} bytes, not {bytes}"));
    }
    if crc.finalize() != checksum {
        return damaged(0, "its checksum is not the one in the manifest".to_owned());
    }
    Ok(())
}
