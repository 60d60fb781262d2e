//! The file operations that the log needs, behind a trait so that tests can inject a disk that fails or loses writes.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Creates and reopens log files.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a file for appending; creates it if it is missing.
    ///
    /// # Errors
    /// Those of the operating system.
    fn append_to(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Syncs a folder, so that its file names survive a power cut.
    ///
    /// # Errors
    /// Those of the operating system.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Deletes a file.
    ///
    /// # Errors
    /// Those of the operating system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Bytes that an unprivileged process can still write to the file system of `path`.
    ///
    /// # Errors
    /// Those of the operating system.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;

    /// Files that an unprivileged process can still create on the file system of `path`; `None` if it sets no bound.
    ///
    /// # Errors
    /// Those of the operating system.
    fn free_files(&self, path: &Path) -> io::Result<Option<u64>> {
        let _ = path;
        Ok(None)
    }
}

/// A file that grows at its end.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Hands bytes to the operating system.
    ///
    /// # Errors
    /// Those of the operating system; some of the bytes may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file to `len` bytes; the next append continues there.
    ///
    /// # Errors
    /// Those of the operating system.
    fn truncate(&self, len: u64) -> io::Result<()>;

    /// Syncs everything appended so far, so that it survives a power cut.
    ///
    /// # Errors
    /// Those of the operating system. The caller must not retry: the kernel may have dropped the bytes.
    fn sync(&self) -> io::Result<()>;
}

/// The real disk.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealDisk;

#[derive(Debug)]
struct RealFile(File);

impl Disk for RealDisk {
    fn append_to(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Arc::new(RealFile(file)))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let found = rustix::fs::statvfs(path)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    fn free_files(&self, path: &Path) -> io::Result<Option<u64>> {
        let found = rustix::fs::statvfs(path)?;
        Ok((found.f_files > 0).then_some(found.f_favail))
    }
}

impl DiskFile for RealFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
