//! The folder of an embedded store: permissions, format, free space, and whether a server has it open.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use weir_framework::Client;

use super::{Finding, OTHERS};
use crate::failure::Failure;
use crate::output;

/// The newest format of a folder that this version opens.
const FORMAT_MAX: u32 = 1;
/// Free bytes below which the store will soon refuse writes.
const FREE_WRONG: u64 = 100 << 20;
/// Free bytes below which a warning is shown.
const FREE_WARNING: u64 = 1 << 30;

/// Whether the folder is not empty.
pub(super) fn is_used(data: &Path) -> bool {
    fs::read_dir(data).is_ok_and(|mut entries| entries.next().is_some())
}

/// The checks that need no open store.
pub(super) async fn examine(data: &Path) -> Vec<Finding> {
    let mut findings = vec![permissions(data)];
    if is_used(data) {
        findings.push(format(data));
        findings.push(server(data).await);
    }
    findings.push(disk(data));
    findings
}

fn permissions(data: &Path) -> Finding {
    let name = data.display();
    match fs::metadata(data) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::warning("folder", format!("{name} does not exist yet"))
                .next("`weir serve` creates it; use --data for another folder")
        }
        Err(error) => Finding::wrong("folder", format!("{name} cannot be read: {error}"))
            .next("run weir as the server's user, or use --data for another folder"),
        Ok(meta) if !meta.is_dir() => Finding::wrong("folder", format!("{name} is not a folder"))
            .next("use --data for another folder"),
        Ok(meta) if meta.mode() & OTHERS != 0 => {
            let mode = meta.mode() & 0o7777;
            Finding::wrong(
                "folder",
                format!("{name} has mode {mode:04o}, so other users can read it"),
            )
            .next(format!("chmod 700 {name}"))
        }
        Ok(_) => Finding::good("folder", format!("{name} is readable by its owner only")),
    }
}

fn format(data: &Path) -> Finding {
    let path = data.join("FORMAT");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(_) if data.join("CREATING").exists() => {
            return Finding::warning("format", "the creation of the store was interrupted")
                .next("`weir serve` creates it again");
        }
        Err(error) => {
            return Finding::wrong("format", format!("{} cannot be read: {error}", path.display()))
                .next("this may not be a data folder; use --data for another one");
        }
    };
    match text.trim().parse::<u32>() {
        Ok(found @ 1..=FORMAT_MAX) => {
            Finding::good("format", format!("{found}, which this version writes"))
        }
        Ok(found) => {
            let detail = format!("{found}, but this version reads up to {FORMAT_MAX}");
            Finding::wrong("format", detail).next("install the newer version of weir that wrote it")
        }
        Err(_) => Finding::wrong("format", format!("{} is not a number", path.display()))
            .next("restore the folder from a backup with `weir restore`"),
    }
}

async fn server(data: &Path) -> Finding {
    let found = async {
        match Client::find(data).await? {
            Some(client) => client.about().await.map(Some),
            None => Ok(None),
        }
    };
    match found.await {
        Ok(Some(about)) => {
            let detail = format!("process {} serves it, version {}", about.pid, about.version);
            Finding::good("server", detail)
        }
        Ok(None) => Finding::good("server", "not running; commands open the store themselves"),
        Err(error) => Finding::failed("server", &Failure::from(error)),
    }
}

fn disk(data: &Path) -> Finding {
    // A folder that does not exist yet will be on the disk of its nearest existing parent.
    let there = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
    let there = there.ancestors().find(|folder| folder.exists());
    let free = match there.map(rustix::fs::statvfs) {
        Some(Ok(disk)) => disk.f_bavail.saturating_mul(disk.f_frsize),
        _ => return Finding::warning("disk", "the free space is unknown"),
    };
    let detail = format!("{} MiB are free", output::thousands(free >> 20));
    match free {
        0..FREE_WRONG => Finding::wrong("disk", detail)
            .next("free some space: a store on a full disk refuses writes"),
        FREE_WRONG..FREE_WARNING => Finding::warning("disk", detail).next("free some space soon"),
        _ => Finding::good("disk", detail),
    }
}

#[cfg(test)]
mod tests {
    use weir_table::embedded::{Embedded, Options};

    use super::*;

    #[tokio::test]
    async fn a_new_store_has_the_format_that_is_known_here() {
        let folder = tempfile::tempdir().unwrap();
        let store = Embedded::open(Options::new(folder.path())).unwrap();
        store.close().await.unwrap();
        let written = fs::read_to_string(folder.path().join("FORMAT")).unwrap();
        assert_eq!(written.trim(), FORMAT_MAX.to_string());
    }
}
