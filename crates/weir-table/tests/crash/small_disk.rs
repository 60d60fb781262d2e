//! A small file system, mounted for a test.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use weir_testkit::skip;

use crate::folder::Folder;

/// Why the tests on a small disk do not run.
const NO_SMALL_DISK: &str = "no small disk can be mounted";

/// A small file system of its own; unmounted at the end.
pub(crate) struct SmallDisk(pub(crate) Folder);

impl SmallDisk {
    pub(crate) fn mount(mib: u32) -> Option<SmallDisk> {
        let folder = Folder::new();
        let size = format!("size={mib}m");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(folder.path())
            .output();
        match done {
            Ok(output) if output.status.success() => Some(SmallDisk(folder)),
            Ok(output) => {
                skip(NO_SMALL_DISK, String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                skip(NO_SMALL_DISK, &error.to_string());
                None
            }
        }
    }

    fn ballast(&self) -> PathBuf {
        self.0.path().join("ballast")
    }

    /// Fills the disk with a file of its own, to the last byte.
    pub(crate) fn fill(&self) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.ballast()).unwrap();
        for chunk in [1 << 20, 1 << 12, 1] {
            while file.write_all(&vec![0; chunk]).is_ok() {}
        }
    }

    /// Removes that file.
    pub(crate) fn free(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    pub(crate) fn grow(&self, mib: u32) {
        let size = format!("remount,size={mib}m");
        let done = Command::new("mount").args(["-o", &size]).arg(self.0.path()).status();
        assert!(done.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}
