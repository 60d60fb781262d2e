//! The few things the log asks of a disk, so that tests can put a failing or forgetful one under it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

/// Makes and reopens the log's files.
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a file to append to, made when it is not there.
    ///
    /// # Errors
    /// What the operating system says.
    fn append_to(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes names in a folder last.
    ///
    /// # Errors
    /// What the operating system says.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// A file that grows at its end.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Hands bytes to the operating system.
    ///
    /// # Errors
    /// What the operating system says; a part of the bytes may have been written.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything appended so far last through a power cut.
    ///
    /// # Errors
    /// What the operating system says. It must not be tried again: the bytes may be gone.
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
}

impl DiskFile for RealFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}
