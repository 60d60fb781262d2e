//! The context of one round of a job: its time, its bound, and whether to stop.

use tokio::sync::watch;

/// The phases of the driver's shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Jobs run.
    Serving,
    /// No new runs; those under way finish.
    Draining,
    /// Runs under way are dropped.
    CutOff,
}

/// The context of one round of a job.
#[derive(Debug, Clone)]
pub struct RunContext {
    now_ms: u64,
    items_max: u64,
    phase: watch::Receiver<Phase>,
    lost: watch::Receiver<bool>,
}

impl RunContext {
    pub(super) fn new(
        now_ms: u64,
        items_max: u64,
        phase: watch::Receiver<Phase>,
        lost: watch::Receiver<bool>,
    ) -> RunContext {
        RunContext { now_ms, items_max, phase, lost }
    }

    /// A context outside any driver, which nothing stops: for a domain's own tests.
    #[must_use]
    pub fn at(now_ms: u64, items_max: u64) -> RunContext {
        let (_, phase) = watch::channel(Phase::Serving);
        let (_, lost) = watch::channel(false);
        RunContext::new(now_ms, items_max, phase, lost)
    }

    /// When the round began, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// How many items the round may work on. A job that reaches it returns with `more` set.
    #[must_use]
    pub fn items_max(&self) -> u64 {
        self.items_max
    }

    /// Whether to end the round early: the driver is stopping, or another instance may have the
    /// job by now. A run that does not heed it is dropped a while later, at an `await`.
    #[must_use]
    pub fn stopping(&self) -> bool {
        *self.phase.borrow() != Phase::Serving || *self.lost.borrow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_stops_when_the_driver_drains_or_the_lease_is_lost() {
        assert!(!RunContext::at(5, 10).stopping());
        let (drain, phase) = watch::channel(Phase::Serving);
        let (lose, lost) = watch::channel(false);
        let run = RunContext::new(5, 10, phase, lost);
        assert!(!run.stopping());
        lose.send_replace(true);
        assert!(run.stopping());
        lose.send_replace(false);
        drain.send_replace(Phase::Draining);
        assert!(run.stopping());
    }
}
