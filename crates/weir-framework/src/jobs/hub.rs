//! What all jobs of a driver share.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Error, Get, Item, Store, Write, Written};

use super::erased::Boxed;
use super::failure::Failure;
use super::job::Done;
use super::pace::millis;
use super::record::Ended;
use super::settings::Settings;
use super::turn::{Phase, Turn};

#[derive(Debug)]
pub(super) struct Hub {
    pub(super) store: Store<AnyBackend>,
    pub(super) clock: Clock,
    pub(super) instance: String,
    pub(super) settings: Settings,
    pub(super) phase: watch::Receiver<Phase>,
}

impl Hub {
    // A back-end's futures are deeply nested types, too deep for the compiler when ours come on
    // top; a box ends that.

    pub(super) fn get<'a>(&'a self, get: &'a Get) -> Boxed<'a, Result<Option<Item>, Error>> {
        Box::pin(self.store.get(get))
    }

    pub(super) fn write(&self, write: Write) -> Boxed<'_, Result<Written, Error>> {
        Box::pin(self.store.write(write))
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// When it will be `wait` later.
    pub(super) fn later_ms(&self, wait: Duration) -> u64 {
        self.now_ms().saturating_add(millis(wait))
    }

    pub(super) fn turn(&self, items_max: u64, lost: &watch::Receiver<bool>) -> Turn {
        Turn::new(self.now_ms(), items_max, self.phase.clone(), lost.clone())
    }

    pub(super) fn start(&self) -> Started {
        Started { at_ms: self.now_ms(), at: Instant::now() }
    }

    /// How a run that began at `started` ended.
    pub(super) fn ended(&self, started: Started, result: &Result<Done, Failure>) -> Ended {
        let done = result.as_ref().cloned().unwrap_or_default();
        // The detail is a job's own text, bounded as an error's is.
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

/// When a run began: by the clock of the day, and by one that only goes forward.
#[derive(Debug, Clone, Copy)]
pub(super) struct Started {
    pub(super) at_ms: u64,
    pub(super) at: Instant,
}
