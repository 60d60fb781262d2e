//! Puts a repaired store in the place of the damaged one, which is kept.
//!
//! The file `REPAIRING` names the folder for the damaged files. It is written when the repaired files are complete, so a
//! repair that is killed is either repeated from the start or finished by the next one. No store opens meanwhile.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::embedded::open::{self, DAMAGED, REPAIRING};
use crate::error::{Error, Result};

/// The folder for the repaired files.
pub(super) const REPAIRED: &str = "repaired";
const PARTS: [&str; 3] = ["store", "log", "cursor.key"];
/// Repairs of one folder that are kept apart.
const REPAIRS_MAX: u32 = 10_000;

/// Refuses a folder with a part on a disk of its own, which cannot be renamed.
pub(super) fn check_movable(dir: &Path) -> Result<()> {
    let reading = |source| Error::io(format!("reading {}", dir.display()), source);
    let own = fs::metadata(dir).map_err(reading)?.dev();
    for part in PARTS {
        let path = dir.join(part);
        if fs::symlink_metadata(&path).is_ok_and(|found| found.dev() != own) {
            let problem = format!(
                "{} is a disk of its own, and a repair replaces it by a rename: copy the whole folder \
                 to one disk and repair the copy",
                path.display()
            );
            return Err(Error::invalid("folder", problem));
        }
    }
    Ok(())
}

/// Replaces the parts of the store that are in `repaired`. Returns the folder of the old ones.
pub(super) fn swap(dir: &Path) -> Result<PathBuf> {
    // Before the marker: the folder would open no more.
    check_movable(dir)?;
    let number = (1..REPAIRS_MAX).find(|number| !kept(dir, *number).exists());
    let number = number.ok_or_else(|| {
        Error::invalid("folder", format!("{} has too many repairs", dir.join(DAMAGED).display()))
    })?;
    open::write_durably(dir, REPAIRING, format!("{number}\n").as_bytes())?;
    finish(dir, number)
}

/// Finishes a swap that was interrupted. Returns whether there was one.
pub(super) fn finish_interrupted(dir: &Path) -> Result<bool> {
    let Ok(text) = fs::read_to_string(dir.join(REPAIRING)) else {
        return Ok(false);
    };
    let number = text.trim().parse().map_err(|_| Error::Corrupt {
        path: dir.join(REPAIRING),
        offset: 0,
        what: "is not the number of a repair".into(),
    })?;
    finish(dir, number).map(|_| true)
}

fn kept(dir: &Path, number: u32) -> PathBuf {
    dir.join(DAMAGED).join(format!("repair-{number}"))
}

/// Every step can be repeated.
fn finish(dir: &Path, number: u32) -> Result<PathBuf> {
    let kept = kept(dir, number);
    let swap = || -> std::io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&kept)?;
        for part in PARTS {
            let (new, old) = (dir.join(REPAIRED).join(part), dir.join(part));
            if !new.exists() {
                continue;
            }
            if old.exists() {
                fs::rename(&old, kept.join(part))?;
            }
            fs::rename(&new, &old)?;
        }
        sync(&kept)?;
        sync(&dir.join(DAMAGED))?;
        sync(dir)?;
        fs::remove_file(dir.join(REPAIRING))?;
        fs::remove_dir_all(dir.join(REPAIRED)).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
        sync(dir)
    };
    swap()
        .map_err(|source| Error::io(format!("replacing the store in {}", dir.display()), source))?;
    let format = format!("{}\n", open::FORMAT);
    open::write_durably(dir, "FORMAT", format.as_bytes())?;
    Ok(kept)
}

fn sync(dir: &Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}
