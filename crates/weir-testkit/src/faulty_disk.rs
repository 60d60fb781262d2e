//! A disk for an embedded store that says how much space it has, and fails, as a test wants.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weir_table::embedded::disk::{Disk, DiskFile, RealDisk};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// The disk; clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct FaultyDisk(Arc<Faults>);

#[derive(Debug)]
struct Faults {
    free: AtomicU64,
    is_full: AtomicBool,
    fails_syncs: AtomicBool,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            free: AtomicU64::new(u64::MAX / 2),
            is_full: AtomicBool::default(),
            fails_syncs: AtomicBool::default(),
        }
    }
}

impl FaultyDisk {
    /// Sets the free space that the disk reports.
    pub fn set_free(&self, bytes: u64) {
        self.0.free.store(bytes, Ordering::SeqCst);
    }

    /// Lets appends find no room.
    pub fn set_full(&self, is_full: bool) {
        self.0.is_full.store(is_full, Ordering::SeqCst);
    }

    /// Lets every fsync fail from now on.
    pub fn fail_syncs(&self) {
        self.0.fails_syncs.store(true, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: Arc<dyn DiskFile>,
    faults: Arc<Faults>,
}

impl Disk for FaultyDisk {
    fn append_to(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let file = RealDisk.append_to(path)?;
        Ok(Arc::new(FaultyFile { file, faults: Arc::clone(&self.0) }))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.sync_dir(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(self.0.free.load(Ordering::SeqCst))
    }
}

impl DiskFile for FaultyFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        if self.faults.is_full.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(ENOSPC));
        }
        self.file.append(bytes)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        if self.faults.fails_syncs.load(Ordering::SeqCst) {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.file.sync()
    }
}
