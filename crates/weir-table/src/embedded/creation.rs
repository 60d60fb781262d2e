//! Creates the store in a new folder. A crash leaves the folder either complete or marked as unfinished.
//!
//! 1. [`begin`] writes the file `CREATING` before any other file of the store.
//! 2. The caller creates the base store and the log, and syncs them.
//! 3. [`finish`] renames `CREATING` to `FORMAT`.
//!
//! A folder with `CREATING` has never acknowledged a write, so the next open deletes its contents and begins again. A folder
//! with `FORMAT` is never created again: a missing file in it is damage.

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use super::open::{FORMAT, write_durably};
use crate::error::{Error, Result};

/// Marker file in a folder until its store is complete. Its content is the future `FORMAT`.
const CREATING: &str = "CREATING";

/// Creates the folder of a store, private because items may contain secrets. Its name is durable before anything in it is.
pub(super) fn make_folder(dir: &Path) -> Result<()> {
    let making = |source| Error::io(format!("making {}", dir.display()), source);
    let missing: Vec<_> = dir.ancestors().take_while(|path| !path.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(making)?;
    // The folder itself too: the process that created it may have ended before it synced its name.
    for path in missing.into_iter().chain([dir]) {
        match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => sync_folder(Path::new(".")),
            Some(parent) => sync_folder(parent),
            None => {}
        }
    }
    Ok(())
}

/// Syncs a folder above the store, which may belong to someone else.
fn sync_folder(dir: &Path) {
    if let Err(error) = File::open(dir).and_then(|dir| dir.sync_all()) {
        tracing::warn!(%error, folder = %dir.display(), "the folder was not synced");
    }
}

/// Prepares a folder without `FORMAT` for a new store. The caller holds the lock.
///
/// # Errors
/// [`Error::Corrupt`] if the folder has data and no marker: then `FORMAT` was lost.
pub(super) fn begin(dir: &Path) -> Result<()> {
    let parts = [dir.join("store"), dir.join("log")];
    if dir.join(CREATING).exists() {
        tracing::warn!(folder = %dir.display(), "the store's creation was interrupted; creating it again");
        for part in &parts {
            delete_contents(part)?;
        }
    }
    for part in &parts {
        if !is_empty(part)? {
            return Err(Error::Corrupt {
                path: dir.join("FORMAT"),
                offset: 0,
                what: "it is missing, but the folder has data: restore a backup".into(),
            });
        }
    }
    write_durably(dir, CREATING, format!("{FORMAT}\n").as_bytes())?;
    let log = dir.join("log");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&log)
        .map_err(|source| Error::io(format!("making {}", log.display()), source))
}

/// Marks the store as complete. The base store and the log are synced by now.
pub(super) fn finish(dir: &Path) -> Result<()> {
    fs::rename(dir.join(CREATING), dir.join("FORMAT"))
        .and_then(|()| File::open(dir)?.sync_all())
        .map_err(|source| Error::io(format!("finishing the store in {}", dir.display()), source))
}

fn is_empty(dir: &Path) -> Result<bool> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(source) => Err(Error::io(format!("reading {}", dir.display()), source)),
    }
}

/// Deletes what is in a folder but not the folder itself, which may be a mount point or a link to another disk.
fn delete_contents(dir: &Path) -> Result<()> {
    let delete = || -> std::io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    match delete() {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::io(format!("deleting the unfinished {}", dir.display()), error))
        }
        _ => Ok(()),
    }
}
