//! How much a thread answers before it lets others run.
//!
//! A thread that serves goes on as long as requests come, and the system interrupts it only after
//! milliseconds. A client that shares its processor then waits as long to read what was answered first. So
//! after a burst of answers without a rest the thread offers its processor to whoever waits for it.

use std::cell::Cell;

/// Answers in a burst. More than a client's thread has under way is common only where there are many.
const BURST: u32 = 48;

thread_local! {
    /// What this thread has written since it last rested; none on a thread that does more than serve.
    static WRITTEN: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Begins to count on this thread, or anew: there was nothing to do.
pub(super) fn rested() {
    WRITTEN.set(Some(0));
}

/// Something was written to a client.
pub(super) fn wrote() {
    if let Some(written) = WRITTEN.get() {
        let is_over = written >= BURST;
        WRITTEN.set(Some(if is_over { 0 } else { written + 1 }));
        if is_over {
            std::thread::yield_now();
        }
    }
}
