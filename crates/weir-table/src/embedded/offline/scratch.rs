//! A private copy of the base store in which it is opened, because opening it changes files.
//!
//! Tables are linked, not copied: they are never changed. The copy is deleted when it is dropped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::embedded::base::{Base, journal};
use crate::error::{Error, Result};

const CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// A copy of the base store.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: PathBuf,
    source: PathBuf,
}

impl Scratch {
    /// Prepares a copy of the base store of the data folder `data`, in the folder `name` below it.
    pub(super) fn new(data: &Path, name: &str) -> Result<Scratch> {
        let scratch = Scratch { dir: data.join(name), source: data.join("store") };
        scratch.clear()?;
        Ok(scratch)
    }

    /// A folder in the copy, for files of the caller.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Copies the base store without some of its keyspaces, and opens it. Also returns where its journal was cut.
    pub(super) fn open(&self, without: &[&'static str]) -> Result<(Base, Option<journal::Cut>)> {
        self.clear()?;
        let store = self.path("store");
        copy(&self.source, &store).map_err(|source| {
            Error::io(format!("copying {} to {}", self.source.display(), store.display()), source)
        })?;
        let cut = journal::cut_torn_end(&store, &self.path("cut"))?;
        let base = Base::open_without(&store, CACHE_BYTES, without)?;
        Ok((base, cut))
    }

    fn clear(&self) -> Result<()> {
        match fs::remove_dir_all(&self.dir) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(format!("deleting {}", self.dir.display()), source))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = self.clear() {
            tracing::warn!(%error, "a temporary copy of the base store stays");
        }
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let is_tables = from.file_name().is_some_and(|name| name == "tables");
    for entry in fs::read_dir(from)? {
        let (path, entry) = entry.map(|entry| (entry.path(), entry))?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&path, &target)?;
        } else if !is_tables || fs::hard_link(&path, &target).is_err() {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
