//! Data folders: made, copied, looked at. One of a failed run is kept.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is removed, unless the test fails.
pub(crate) struct Folder {
    dir: Option<tempfile::TempDir>,
}

impl Folder {
    pub(crate) fn new() -> Folder {
        let dir = tempfile::Builder::new().prefix("weir-crash-").tempdir();
        Folder { dir: Some(dir.unwrap()) }
    }

    /// A folder in memory where there is one: for tests that decide themselves what is durable, an fsync is only slow.
    pub(crate) fn in_memory() -> Folder {
        let dir = tempfile::Builder::new().prefix("weir-crash-").tempdir_in("/dev/shm");
        dir.map_or_else(|_| Folder::new(), |dir| Folder { dir: Some(dir) })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.as_ref().unwrap().path()
    }

    /// The data folder in it.
    pub(crate) fn data(&self) -> PathBuf {
        self.path().join("data")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking()
            && let Some(dir) = self.dir.take()
        {
            eprintln!("the folder is kept: {}", dir.keep().display());
        }
    }
}

/// Copies a folder; holes stay holes where the file system knows them.
pub(crate) fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp")
        .arg("-a")
        .arg("--sparse=always")
        .arg(from)
        .arg(to)
        .status();
    assert!(done.unwrap().success(), "copying {}", from.display());
}

/// The log's files, oldest first.
pub(crate) fn segments(data: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(data.join("log")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Every file of the log with its bytes.
pub(crate) fn log_bytes(data: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    segments(data).into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Changes one byte of a file.
pub(crate) fn flip(path: &Path, offset: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] ^= 0x20;
    fs::write(path, bytes).unwrap();
}
