//! Backups: a snapshot of the store in one checksummed file.
//!
//! ```text
//! manifest.json   format, sequence, entries, bytes, checksum
//! data.weir       entries: space:1, key, value; lengths are varints
//! ```

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::base::Base;
use super::codec;
use super::dirty::{SPACES, Space};
use super::engine::Engine;
use super::open;
use crate::error::{Error, Result};

const DATA: &str = "data.weir";
const MANIFEST: &str = "manifest.json";
/// Entries loaded in one batch when restoring.
const LOAD_CHUNK: usize = 10_000;
/// Entries between two reports of progress.
const PROGRESS_EVERY: u64 = 1000;
/// The longest key or value in a backup; a longer one is damage.
const PART_MAX: u64 = 16 * 1024 * 1024;

/// Description of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupReport {
    /// Number of the data format.
    pub format: u32,
    /// Sequence number of the last commit.
    pub seq: u64,
    /// Number of items and other entries.
    pub entries: u64,
    /// Length of the data file in bytes.
    pub bytes: u64,
    /// CRC-32 of the data file.
    pub checksum: u32,
}

/// Reads or writes, and computes a checksum.
struct Checksummed<T> {
    inner: T,
    crc: crc32fast::Hasher,
    bytes: u64,
}

impl<T: Write> Checksummed<T> {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
        self.inner.write_all(bytes)
    }
}

impl<T: Read> Checksummed<T> {
    fn take(&mut self, len: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.inner.read_exact(&mut bytes)?;
        self.crc.update(&bytes);
        self.bytes += len as u64;
        Ok(bytes)
    }

    fn varint(&mut self) -> std::io::Result<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(std::io::Error::other("an integer that does not end"))
    }

    fn part(&mut self) -> std::io::Result<Vec<u8>> {
        let len = self.varint()?;
        if len > PART_MAX {
            return Err(std::io::Error::other("an entry that is too long"));
        }
        self.take(usize::try_from(len).unwrap_or(usize::MAX))
    }
}

fn check_empty(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir)
        .map_err(|source| Error::io(format!("making {}", dir.display()), source))?;
    let mut entries = fs::read_dir(dir)
        .map_err(|source| Error::io(format!("reading {}", dir.display()), source))?;
    if entries.next().is_some() {
        return Err(Error::invalid("folder", format!("{} is not empty", dir.display())));
    }
    Ok(())
}

/// Copies a snapshot of the store into the empty folder `to`. Blocks; the store stays in use.
pub(super) fn backup(
    engine: &Engine,
    to: &Path,
    progress: &dyn Fn(u64, u64),
) -> Result<BackupReport> {
    check_empty(to)?;
    let (snapshot, seq) = {
        // Between two folds the base store is at exactly one sequence number.
        let _no_fold = engine.checkpointing.lock();
        engine.fold_active()?;
        (engine.base.snapshot(), engine.base.applied()?)
    };
    let writing = |source| Error::io(format!("writing the backup {}", to.display()), source);
    let file = File::create(to.join(DATA)).map_err(writing)?;
    let mut out =
        Checksummed { inner: BufWriter::new(file), crc: crc32fast::Hasher::new(), bytes: 0 };
    let total = snapshot.len_estimate();
    let mut entries = 0;
    for (number, space) in (0u8..).zip(SPACES) {
        for next in snapshot.entries(space) {
            let (key, value) = next?;
            let mut bytes = vec![number];
            codec::put_bytes(&mut bytes, &key);
            codec::put_bytes(&mut bytes, &value);
            out.put(&bytes).map_err(writing)?;
            entries += 1;
            if entries % PROGRESS_EVERY == 0 {
                progress(entries, total.max(entries));
            }
        }
    }
    let (bytes, checksum) = (out.bytes, out.crc.finalize());
    let file = out.inner.into_inner().map_err(|error| writing(error.into_error()))?;
    file.sync_all().map_err(writing)?;
    let report = BackupReport { format: open::FORMAT, seq, entries, bytes, checksum };
    let manifest = serde_json::to_vec_pretty(&report)
        .map_err(|source| Error::backend("writing the manifest", source))?;
    // Written last: a folder without a manifest is an unfinished backup.
    fs::write(to.join(MANIFEST), manifest).map_err(writing)?;
    File::open(to.join(MANIFEST))
        .and_then(|file| file.sync_all())
        .and_then(|()| File::open(to)?.sync_all())
        .map_err(writing)?;
    progress(entries, entries);
    Ok(report)
}

/// Restores the backup in `from` into the empty folder `to`. Blocks.
///
/// # Errors
/// The backup is incomplete, damaged or newer than this version, or `to` is not empty.
pub fn restore(from: &Path, to: &Path, progress: &dyn Fn(u64, u64)) -> Result<BackupReport> {
    let manifest = fs::read(from.join(MANIFEST)).map_err(|source| {
        Error::io(
            format!("{} is not a finished backup: reading its manifest", from.display()),
            source,
        )
    })?;
    let report: BackupReport = serde_json::from_slice(&manifest)
        .map_err(|source| Error::backend("reading the backup's manifest", source))?;
    if report.format > open::FORMAT {
        let (path, found) = (from.to_owned(), report.format);
        return Err(Error::NewerFormat { path, found, known: open::FORMAT });
    }
    verify(from, &report)?;
    check_empty(to)?;
    // Marks the folder until the restore is complete, in case it fails or is killed.
    open::write_durably(to, open::RESTORING, b"")?;
    let result = load(from, to, &report, progress).and_then(|()| finish(to));
    if result.is_err() {
        let _ = fs::remove_dir_all(to);
    }
    result.map(|()| report)
}

/// Marks the restored folder as complete.
fn finish(to: &Path) -> Result<()> {
    let format = format!("{}\n", open::FORMAT);
    open::write_durably(to, "FORMAT", format.as_bytes())?;
    fs::remove_file(to.join(open::RESTORING))
        .and_then(|()| File::open(to)?.sync_all())
        .map_err(|source| Error::io("finishing the restore", source))
}

fn damaged(from: &Path, offset: u64, what: impl Into<String>) -> Error {
    Error::Corrupt { path: from.join(DATA), offset, what: what.into() }
}

/// Checks the whole data file before anything is written.
fn verify(from: &Path, report: &BackupReport) -> Result<()> {
    let reading = |source| Error::io("reading the backup", source);
    let mut file = BufReader::new(File::open(from.join(DATA)).map_err(reading)?);
    let (mut crc, mut bytes) = (crc32fast::Hasher::new(), 0u64);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let len = file.read(&mut buffer).map_err(reading)?;
        if len == 0 {
            break;
        }
        crc.update(buffer.get(..len).unwrap_or_default());
        bytes += len as u64;
    }
    if bytes != report.bytes {
        return Err(damaged(from, bytes, format!("has {bytes} bytes, not {}", report.bytes)));
    }
    if crc.finalize() != report.checksum {
        return Err(damaged(from, 0, "its checksum is not the one in the manifest"));
    }
    Ok(())
}

fn load(from: &Path, to: &Path, report: &BackupReport, progress: &dyn Fn(u64, u64)) -> Result<()> {
    let reading = |source| Error::io("reading the backup", source);
    let base = Base::create(&to.join("store"), 16 * 1024 * 1024)?;
    let file = BufReader::new(File::open(from.join(DATA)).map_err(reading)?);
    let mut input = Checksummed { inner: file, crc: crc32fast::Hasher::new(), bytes: 0 };
    let mut chunk: Vec<(Space, Vec<u8>, Vec<u8>)> = Vec::with_capacity(LOAD_CHUNK);
    for entry in 0..report.entries {
        let number =
            usize::from(input.take(1).map_err(reading)?.first().copied().unwrap_or_default());
        let space = SPACES.get(number).copied();
        let space = space.ok_or_else(|| damaged(from, input.bytes, "an unknown space"))?;
        let key = input.part().map_err(reading)?;
        chunk.push((space, key, input.part().map_err(reading)?));
        if chunk.len() >= LOAD_CHUNK {
            base.load(std::mem::take(&mut chunk), None)?;
            progress(entry, report.entries);
        }
    }
    base.load(chunk, Some(report.seq))?;
    base.persist()?;
    super::log::start(&to.join("log"), report.seq + 1)?;
    progress(report.entries, report.entries);
    Ok(())
}
