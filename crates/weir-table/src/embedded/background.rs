//! Low-priority background work: folding and compaction may take long, reads and writes may not.

use std::time::Duration;

use crate::error::{Error, Result};

/// Niceness of background threads: on a busy core they get a third of what the others get.
const NICE: i32 = 5;

/// Bytes that a background thread reads before it rests; that takes about a quarter of a millisecond.
const WORK_BYTES: usize = 128 * 1024;
/// Length of a rest.
const REST: Duration = Duration::from_micros(500);

/// Pauses in work that nobody waits for.
///
/// A low priority is not enough where the scheduler preempts a thread only every few milliseconds. Breaks count bytes and not
/// time, because the time of a low-priority thread also passes while others run.
#[derive(Debug, Default)]
pub(super) struct Breaks {
    read: usize,
}

impl Breaks {
    /// Records that `bytes` were read. Returns whether a break is due.
    pub(super) fn is_due(&mut self, bytes: usize) -> bool {
        self.read += bytes;
        let is_due = self.read >= WORK_BYTES;
        if is_due {
            self.read = 0;
        }
        is_due
    }

    pub(super) fn rest() {
        std::thread::sleep(REST);
    }
}

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
