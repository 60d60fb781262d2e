//! Backups: a snapshot of the store, the files of the application and the keys, each in one checksummed file.
//!
//! ```text
//! manifest.json   format, sequence, entries, bytes, checksums
//! data.weir       entries: space:1, key, value; lengths are varints
//! files.weir      path, content; missing if there are no files
//! keys.weir       the keys, encrypted with a passphrase; missing if they are left out
//! ```
//!
//! A folder that a backup or a restore makes is for its owner only, and so are the files in it.

mod checksummed;
mod files;
mod keys;
mod passphrase;
mod view;

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::base::Base;
use super::codec;
use super::dirty::{SPACES, Space};
use super::engine::Engine;
use super::{Options, open};
use checksummed::Checksummed;
pub use files::FilesReport;
pub use keys::KeysReport;
pub use passphrase::Passphrase;
use view::View;

use crate::error::{Error, Result};

const DATA: &str = "data.weir";
const MANIFEST: &str = "manifest.json";
/// Entries loaded in one batch when restoring.
const LOAD_CHUNK: usize = 10_000;
/// Entries between two reports of progress.
const PROGRESS_EVERY: u64 = 1000;

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
    /// The files of [`Options::backup_folders`](super::Options::backup_folders), if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesReport>,
    /// The encrypted keys; none if they were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeysReport>,
}

fn check_empty(dir: &Path) -> Result<()> {
    let mut folder = DirBuilder::new();
    folder
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|source| Error::io(format!("making {}", dir.display()), source))?;
    let mut entries = fs::read_dir(dir)
        .map_err(|source| Error::io(format!("reading {}", dir.display()), source))?;
    if entries.next().is_some() {
        return Err(Error::invalid("folder", format!("{} is not empty", dir.display())));
    }
    Ok(())
}

/// Refuses to take the room that the store needs itself: `to` is on one of its disks, which is nearly full.
fn check_room(engine: &Engine, to: &Path) -> Result<()> {
    let Options { dir, disk, free_bytes_min, .. } = &engine.options;
    let device = |path: &Path| fs::metadata(path).map(|found| found.dev());
    let reading = |source| Error::io(format!("reading {}", to.display()), source);
    let at = device(to).map_err(reading)?;
    let is_shared = [dir.clone(), dir.join("log"), dir.join("store")]
        .iter()
        .any(|path| device(path).is_ok_and(|found| found == at));
    let is_low = || disk.free_bytes(to).is_ok_and(|free| free < *free_bytes_min);
    if is_shared && is_low() { Err(Error::DiskFull) } else { Ok(()) }
}

/// Copies a snapshot of the store into the empty folder `to`, with the keys if there is a passphrase. Blocks; the store
/// stays in use. If it fails, it leaves nothing.
pub(super) fn backup(
    engine: &Engine,
    to: &Path,
    passphrase: Option<&Passphrase>,
    progress: &dyn Fn(u64, u64),
) -> Result<BackupReport> {
    let existed = to.exists();
    check_empty(to)?;
    let written = write(engine, to, passphrase, progress);
    if written.is_err() {
        let removed = if existed { remove_entries(to) } else { fs::remove_dir_all(to) };
        if let Err(error) = removed {
            let to = to.display();
            tracing::warn!(%error, folder = %to, "an unfinished backup was not deleted");
        }
    }
    written
}

fn remove_entries(dir: &Path) -> std::io::Result<()> {
    fs::read_dir(dir)?.try_for_each(|entry| fs::remove_file(entry?.path()))
}

fn write(
    engine: &Engine,
    to: &Path,
    passphrase: Option<&Passphrase>,
    progress: &dyn Fn(u64, u64),
) -> Result<BackupReport> {
    check_room(engine, to)?;
    let view = View::of(engine)?;
    let writing = |source| Error::io(format!("writing the backup {}", to.display()), source);
    let mut out = Checksummed::create(&to.join(DATA)).map_err(writing)?;
    let total = view.snapshot.len_estimate();
    let mut entries = 0;
    for (number, space) in (0u8..).zip(SPACES) {
        view.for_each(space, |key, value| {
            let mut bytes = vec![number];
            codec::put_bytes(&mut bytes, key);
            codec::put_bytes(&mut bytes, value);
            out.put(&bytes).map_err(writing)?;
            entries += 1;
            if entries % PROGRESS_EVERY == 0 {
                check_room(engine, to)?;
                progress(entries, total.max(entries));
            }
            Ok(())
        })?;
    }
    let seq = view.seq;
    drop(view);
    let (bytes, checksum) = out.finish().map_err(writing)?;
    // After the snapshot: an item names only files that existed before it.
    let files = files::backup(&engine.options, to)?;
    // After the snapshot too: a key that was replaced meanwhile is in the file of its successor.
    let keys = passphrase.map(|passphrase| keys::backup(&engine.options, to, passphrase));
    let keys = keys.transpose()?;
    let report = BackupReport { format: open::FORMAT, seq, entries, bytes, checksum, files, keys };
    let manifest = serde_json::to_vec_pretty(&report)
        .map_err(|source| Error::backend("writing the manifest", source))?;
    // Written last: a folder without a manifest is an unfinished backup.
    open::write_durably(to, MANIFEST, &manifest)?;
    progress(entries, entries);
    Ok(report)
}

/// Restores the backup in `from` into the empty folder `to`, with its keys if there is a passphrase. Blocks.
///
/// # Errors
/// The backup is incomplete, damaged or newer than this version, the passphrase is wrong, or `to` is not empty. Nothing
/// is written then.
pub fn restore(
    from: &Path,
    to: &Path,
    passphrase: Option<&Passphrase>,
    progress: &dyn Fn(u64, u64),
) -> Result<BackupReport> {
    let report = read_report(from)?;
    checksummed::verify(&from.join(DATA), report.bytes, report.checksum)?;
    if let Some(files) = &report.files {
        files::verify(from, files)?;
    }
    let keys = match (&report.keys, passphrase) {
        (Some(keys), Some(passphrase)) => Some(keys::open(from, keys, passphrase)?),
        _ => None,
    };
    check_empty(to)?;
    // Marks the folder until the restore is complete, in case it fails or is killed.
    open::write_durably(to, open::RESTORING, b"")?;
    let result = load(from, to, &report, progress)
        .and_then(|()| keys.map_or(Ok(()), |keys| keys.write(to)))
        .and_then(|()| finish(to));
    if result.is_err() {
        let _ = fs::remove_dir_all(to);
    }
    result.map(|()| report)
}

/// Reads the description of the backup in `from`.
///
/// # Errors
/// There is no finished backup, or it is newer than this version.
pub fn read_report(from: &Path) -> Result<BackupReport> {
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
    Ok(report)
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

fn load(from: &Path, to: &Path, report: &BackupReport, progress: &dyn Fn(u64, u64)) -> Result<()> {
    let reading = |source| Error::io("reading the backup", source);
    let base = Base::create(&to.join("store"), 16 * 1024 * 1024, None)?;
    let mut input = Checksummed::open(&from.join(DATA)).map_err(reading)?;
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
    if let Some(files) = &report.files {
        files::restore(from, to, files)?;
    }
    progress(report.entries, report.entries);
    Ok(())
}
