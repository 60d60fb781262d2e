//! Threads that give way: folding and compacting may take long, a reader or writer may not.

use crate::error::{Error, Result};

/// How much less of a busy processor a background thread gets: a third of what the others get.
const NICE: i32 = 5;

/// Makes the calling thread, and threads it starts, give way to others.
pub(super) fn give_way() {
    // Without the right to do so it works all the same, only less evenly.
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "a background thread keeps its priority");
    }
}

/// Runs `start` so that the threads it starts give way to others.
pub(super) fn starting<T: Send>(start: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let run = || {
        give_way();
        start()
    };
    std::thread::scope(|scope| scope.spawn(run).join())
        .map_err(|_| Error::backend("starting background threads", "it panicked"))?
}
