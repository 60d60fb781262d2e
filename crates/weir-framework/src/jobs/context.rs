//! The context that all jobs of a driver share: store, clock, instance, settings, phase.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Error, Get, Item, Store, Write, Written};

use super::backoff::millis;
use super::erased::Boxed;
use super::failure::Failure;
use super::job::Done;
use super::record::Ended;
use super::run_context::{Phase, RunContext};
use super::settings::Settings;

#[derive(Debug)]
pub(super) struct Context {
    pub(super) store: Store<AnyBackend>,
    pub(super) clock: Clock,
    pub(super) instance: String,
    pub(super) settings: Settings,
    pub(super) phase: watch::Receiver<Phase>,
}

impl Context {
    // The futures of a back-end are deeply nested types. Without the box, ours on top would exceed the
    // compiler's limit.

    pub(super) fn get<'a>(&'a self, get: &'a Get) -> Boxed<'a, Result<Option<Item>, Error>> {
        Box::pin(self.store.get(get))
    }

    pub(super) fn write(&self, write: Write) -> Boxed<'_, Result<Written, Error>> {
        Box::pin(self.store.write(write))
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The time `wait` from now.
    pub(super) fn later_ms(&self, wait: Duration) -> u64 {
        self.now_ms().saturating_add(millis(wait))
    }

    pub(super) fn run(&self, items_max: u64, lost: &watch::Receiver<bool>) -> RunContext {
        RunContext::new(self.now_ms(), items_max, self.phase.clone(), lost.clone())
    }

    pub(super) fn start(&self) -> Started {
        Started { at_ms: self.now_ms(), at: Instant::now() }
    }

    /// The record of a run that began at `started`.
    pub(super) fn ended(&self, started: Started, result: &Result<Done, Failure>) -> Ended {
        let done = result.as_ref().cloned().unwrap_or_default();
        // A job writes the detail, so it is bounded like the text of an error.
        let detail = done.detail.map(|text| Failure::new(text).text().to_owned());
        Ended {
            started_ms: started.at_ms,
            finished_ms: self.now_ms(),
            duration_ms: millis(started.at.elapsed()),
            items: done.items,
            detail: detail.filter(|text| !text.is_empty()),
            error: result.as_ref().err().map(|failure| failure.text().to_owned()),
        }
    }
}

/// When a run began, by the wall clock and by the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Started {
    pub(super) at_ms: u64,
    pub(super) at: Instant,
}
