//! The limit of open files, which connections share with the store.
//!
//! Connections never take the last descriptors: a store that cannot open its next file would stop
//! writing because of idle clients.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors reserved for everything beside the bounded connections: the store, the socket for
/// commands, connections to AWS, connections of this machine beyond the bound.
const RESERVED: usize = 1_024;

/// Connections that may wait to be served, as many as the kernel lets wait to be accepted.
const WAITING_MAX: usize = 4_096;
/// Connections that may wait when the limit leaves no room for them; they are taken from the reserve.
const WAITING_MIN: usize = 64;

/// Raises the soft limit of open files to the hard one; returns how many of `wanted` connections
/// fit, and how many more may wait.
pub(super) fn reserve(wanted: usize) -> (usize, usize) {
    let limit = raise();
    let room = room_in(limit);
    if room < wanted {
        tracing::warn!(
            open_files.limit = limit,
            connections_max = wanted,
            connections.fitting = room,
            "the limit of open files is too low for connections_max; fewer are accepted"
        );
    }
    let fitting = room.min(wanted);
    (fitting, (room - fitting).clamp(WAITING_MIN, WAITING_MAX))
}

/// Connections get at least half of a small limit.
fn room_in(limit: usize) -> usize {
    limit.saturating_sub(RESERVED).max(limit / 2).max(1)
}

/// Returns the limit in force afterwards.
fn raise() -> usize {
    let old = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: old.maximum, maximum: old.maximum };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => old.maximum,
        Err(error) => {
            tracing::warn!(%error, "the limit of open files could not be raised");
            old.current
        }
    };
    current.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_reserved_for_the_store() {
        assert_eq!(room_in(20_000), 18_976);
        assert_eq!(room_in(1_024), 512);
        assert_eq!(room_in(0), 1);
        assert_eq!(room_in(usize::MAX), usize::MAX - RESERVED);
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        assert!(reserve(1).0 == 1);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
