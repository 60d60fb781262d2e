//! A small file system, mounted for a test.

#![expect(clippy::expect_used, reason = "a disk that cannot be used is a failed test")]

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use weir_table::embedded::disk::{Disk as _, RealDisk};

use crate::skip;

/// Why the tests on a small disk do not run.
const NO_SMALL_DISK: &str = "no small disk can be mounted";

/// A small file system of its own; unmounted at the end.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
    /// Kept until it is unmounted.
    _folder: Option<TempDir>,
}

impl SmallDisk {
    /// Mounts a disk of `mib` MiB. `None`, with a recorded skip, if this machine does not allow it.
    #[must_use]
    pub fn mount(mib: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().to_owned();
        is_mounted(&path, mib).then(|| SmallDisk { path, _folder: Some(folder) })
    }

    /// Mounts a disk of `mib` MiB on an existing folder, as [`SmallDisk::mount`] does.
    #[must_use]
    pub fn mount_at(path: &Path, mib: u32) -> Option<SmallDisk> {
        is_mounted(path, mib).then(|| SmallDisk { path: path.to_owned(), _folder: None })
    }

    /// The folder that it is mounted on.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder for a store on it.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Fills the disk with a file of its own, to the last byte.
    pub fn fill(&self) {
        let file = OpenOptions::new().create(true).append(true).open(self.ballast());
        let mut file = file.expect("a file on the small disk");
        for chunk in [1 << 20, 1 << 12, 1] {
            while file.write_all(&vec![0; chunk]).is_ok() {}
        }
    }

    /// Fills the disk with the same file until about so many bytes are left.
    pub fn fill_to(&self, left_bytes: u64) {
        let file = OpenOptions::new().create(true).append(true).open(self.ballast());
        let mut file = file.expect("a file on the small disk");
        let free = || RealDisk.free_bytes(self.path()).expect("the free space");
        while free() > left_bytes {
            file.write_all(&[0; 1 << 16]).expect("room on the small disk");
        }
    }

    /// Removes that file.
    pub fn free(&self) {
        fs::remove_file(self.ballast()).expect("the disk was filled");
    }

    /// Enlarges the disk to `mib` MiB.
    pub fn grow(&self, mib: u32) {
        let size = format!("remount,size={mib}m");
        let done = Command::new("mount").args(["-o", &size]).arg(self.path()).status();
        assert!(done.expect("mount").success());
    }
}

/// Mounts a disk, or records why not.
fn is_mounted(path: &Path, mib: u32) -> bool {
    let size = format!("size={mib}m");
    let done = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).output();
    match done {
        Ok(output) if output.status.success() => return true,
        Ok(output) => skip(NO_SMALL_DISK, String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => skip(NO_SMALL_DISK, &error.to_string()),
    }
    false
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
