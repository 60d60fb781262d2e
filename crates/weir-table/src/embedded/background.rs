//! Threads that give way: folding and compacting may take long, a reader or writer may not.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How much less of a busy processor a background thread gets: a third of what the others get.
const NICE: i32 = 5;

/// How long a background thread works before it rests, how long it does so, and after how many steps it looks at the clock.
const WORK: Duration = Duration::from_micros(300);
const REST: Duration = Duration::from_micros(500);
const STEPS: u32 = 32;

/// Breaks between the steps of work that nobody waits for.
///
/// To give way is not enough where the system interrupts a thread only every few milliseconds: whoever wants its processor
/// waits as long.
#[derive(Debug)]
pub(super) struct Breaks {
    steps: u32,
    since: Instant,
}

impl Breaks {
    pub(super) fn new() -> Breaks {
        Breaks { steps: 0, since: Instant::now() }
    }

    /// After a step.
    pub(super) fn step(&mut self) {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS) && self.since.elapsed() >= WORK {
            std::thread::sleep(REST);
            self.since = Instant::now();
        }
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
