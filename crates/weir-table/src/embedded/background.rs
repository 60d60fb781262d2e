//! Low-priority background work: folding and compaction may take long, reads and writes may not.

use crate::error::{Error, Result};

/// Niceness of background threads: on a busy core they get a third of what the others get.
const NICE: i32 = 5;

/// Lowers the priority of the calling thread and of threads that it starts.
pub(super) fn lower_priority() {
    // Without permission the thread works all the same, only less evenly.
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "a background thread keeps its priority");
    }
}

/// Runs `start` so that the threads that it starts have a low priority.
pub(super) fn with_low_priority<T: Send>(start: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let run = || {
        lower_priority();
        start()
    };
    std::thread::scope(|scope| scope.spawn(run).join())
        .map_err(|_| Error::backend("starting background threads", "the thread panicked"))?
}
