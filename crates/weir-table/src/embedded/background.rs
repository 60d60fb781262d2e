//! Threads that give way: folding and compacting may take long, a reader or writer may not.

use std::time::Duration;

use crate::error::{Error, Result};

/// How much less of a busy processor a background thread gets: a third of what the others get.
const NICE: i32 = 5;

/// How much a background thread reads before it rests, which takes it a quarter of a millisecond, and how long it does so.
const WORK_BYTES: usize = 128 * 1024;
const REST: Duration = Duration::from_micros(500);

/// Breaks in work that nobody waits for.
///
/// To give way is not enough where the system interrupts a thread only every few milliseconds: whoever wants its processor
/// waits as long. Bytes are counted and not time, because the time of a thread that gives way passes while others run.
#[derive(Debug, Default)]
pub(super) struct Breaks {
    read: usize,
}

impl Breaks {
    /// Notes that so many bytes were read. Returns whether a break is due.
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
