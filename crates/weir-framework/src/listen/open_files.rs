//! Room for open files: every connection is one, and so are the store's.
//!
//! Connections never take the last descriptors: a store that cannot open its next file would stop
//! writing because of clients that are merely connected.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors kept for everything that is not a connection: the store, the socket for commands,
/// connections to AWS.
const KEPT_BACK: usize = 1_024;

/// Raises the soft limit of open files to the hard one, and answers how many of `wanted`
/// connections fit.
pub(super) fn make_room(wanted: usize) -> usize {
    let limit = raise();
    let room = room_in(limit);
    if room < wanted {
        tracing::warn!(
            open_files.limit = limit,
            connections_max = wanted,
            connections.fitting = room,
            "the limit of open files is too low for connections_max; fewer are taken at once"
        );
    }
    room.min(wanted)
}

/// A small limit is shared half and half.
fn room_in(limit: usize) -> usize {
    limit.saturating_sub(KEPT_BACK).max(limit / 2).max(1)
}

/// The limit in force afterwards.
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
    fn the_store_keeps_descriptors_for_itself() {
        assert_eq!(room_in(20_000), 18_976);
        assert_eq!(room_in(1_024), 512);
        assert_eq!(room_in(0), 1);
        assert_eq!(room_in(usize::MAX), usize::MAX - KEPT_BACK);
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        assert!(make_room(1) == 1);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
