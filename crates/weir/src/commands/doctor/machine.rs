//! The machine: its clock, and how many files a process may have open.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::{output, time};

/// 2026-01-01, before the release of this version.
const EARLIEST_MS: u64 = 1_767_225_600_000;
/// 2100-01-01.
const LATEST_MS: u64 = 4_102_444_800_000;
/// How far the time of a file may be ahead of the clock.
const SKEW_MS: u64 = 60_000;
/// Maximum number of files whose times are read.
const FILES_MAX: usize = 10_000;
/// Open files of a server besides its connections.
const OTHER_FILES: u64 = 512;

/// Checks that the clock shows a plausible time, not earlier than the files of the store.
pub(super) fn clock(now_ms: u64, data: Option<&Path>) -> Finding {
    if !(EARLIEST_MS..LATEST_MS).contains(&now_ms) {
        let detail = "the machine's clock shows a time that cannot be";
        return Finding::wrong("clock", detail).next("set it, and synchronise it with NTP");
    }
    let newest_ms = data.map_or(0, newest_file_ms);
    if newest_ms > now_ms.saturating_add(SKEW_MS) {
        let ahead = time::length(newest_ms - now_ms);
        let detail = format!("files of the store are {ahead} ahead of the machine's clock");
        return Finding::wrong("clock", detail).next(
            "it may have been set back; expiry and tokens depend on it, so synchronise it with NTP",
        );
    }
    Finding::good("clock", "shows a plausible time")
}

/// The latest modification time in the folder or its log.
fn newest_file_ms(data: &Path) -> u64 {
    let folders = [data.to_owned(), data.join("log")];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok());
    let written_ms = |entry: fs::DirEntry| {
        let modified = entry.metadata().ok()?.modified().ok()?;
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    };
    entries.flatten().flatten().take(FILES_MAX).filter_map(written_ms).max().unwrap_or(0)
}

/// Checks that the limit of open files allows the configured connections. A server raises the soft limit to the hard one.
pub(super) fn open_files(connections_max: u64) -> Finding {
    let needed = connections_max.saturating_add(OTHER_FILES);
    let wanted = format!(
        "server.connections_max = {} needs {} open files",
        output::thousands(connections_max),
        output::thousands(needed)
    );
    match getrlimit(Resource::Nofile).maximum {
        Some(limit) if limit < needed => {
            let detail = format!("{wanted}, and the limit is {}", output::thousands(limit));
            Finding::warning("open files", detail)
                .next("raise the limit (LimitNOFILE, ulimit -Hn), or lower server.connections_max")
        }
        _ => Finding::good("open files", wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_clock_that_cannot_be_right_is_told() {
        assert_eq!(clock(EARLIEST_MS, None).state, State::Good);
        assert_eq!(clock(0, None).state, State::Wrong);
        assert_eq!(clock(LATEST_MS, None).state, State::Wrong);
    }

    #[test]
    fn files_from_the_future_are_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("FORMAT"), "1").unwrap();
        let now_ms = newest_file_ms(folder.path());
        assert_eq!(clock(now_ms, Some(folder.path())).state, State::Good);
        let found = clock(now_ms - SKEW_MS - 1000, Some(folder.path()));
        assert_eq!(found.state, State::Wrong);
    }

    #[test]
    fn more_connections_than_files_are_told() {
        assert_eq!(open_files(1).state, State::Good);
        let limit = getrlimit(Resource::Nofile).maximum;
        if limit.is_some() {
            assert_eq!(open_files(u64::MAX).state, State::Warning);
        }
    }
}
