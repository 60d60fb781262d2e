//! How much a thread answers before it lets others run.
//!
//! A thread that serves goes on as long as requests come, and the system interrupts it only after
//! milliseconds. A client that shares its processor then waits as long to read what was answered first. So
//! after a burst of answers without a rest the thread offers its processor to whoever waits for it.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Answers in a burst.
const BURST: u32 = 48;
/// A shorter wait for requests was none: they were there already.
const REST_MIN: Duration = Duration::from_micros(20);

thread_local! {
    /// What this thread has written since it last rested; none on a thread that does more than serve.
    static WRITTEN: Cell<Option<u32>> = const { Cell::new(None) };
    static WAITS_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// This thread has nothing to do, unless requests have come meanwhile.
pub(super) fn waits() {
    WAITS_SINCE.set(Some(Instant::now()));
}

/// It goes on.
pub(super) fn goes_on() {
    let has_rested = WAITS_SINCE.get().is_some_and(|since| since.elapsed() >= REST_MIN);
    if has_rested || WRITTEN.get().is_none() {
        WRITTEN.set(Some(0));
    }
}

/// Something was written to a client. Returns whether a burst is over.
fn counts() -> bool {
    let Some(written) = WRITTEN.get() else { return false };
    let is_over = written + 1 >= BURST;
    WRITTEN.set(Some(if is_over { 0 } else { written + 1 }));
    is_over
}

/// Something was written to a client.
pub(super) fn wrote() {
    if counts() {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_over_after_many_answers_without_a_rest() {
        let answers = |count: u32| (0..count).filter(|_| counts()).count();
        assert_eq!(answers(10 * BURST), 0, "this thread does not only serve");
        waits();
        goes_on();
        assert_eq!(answers(BURST - 1), 0);
        waits();
        std::thread::sleep(REST_MIN);
        goes_on();
        assert_eq!(answers(BURST - 1), 0, "it has rested");
        assert_eq!((answers(1), answers(2 * BURST)), (1, 2));
    }
}
