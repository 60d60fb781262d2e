//! The traits that domains implement: [`PeriodicJob`] and [`FeedJob`].
//!
//! Jobs are idempotent functions of the state of the store: they may be dropped at any `await` and then run
//! again. The driver owns period, lease, retry and shutdown.

use std::future::Future;
use std::time::Duration;

use weir_table::Write;
use weir_table::feed::{Change, Merge, Position};

use super::failure::{Failure, Result};
use super::run_context::RunContext;

/// The instances that run a periodic job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// On one instance at a time, under a lease; the period is that of all instances together.
    OneInstance,
    /// On every instance.
    EveryInstance,
}

/// The result of a round of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// Number of processed items.
    pub items: u64,
    /// Whether the round reached its bound, so that another round follows at once.
    pub more: bool,
    /// A message for the operator.
    pub detail: Option<String>,
}

impl Done {
    /// A round that processed all `items` items.
    #[must_use]
    pub fn all(items: u64) -> Done {
        Done { items, ..Done::default() }
    }

    /// Adds the result of the next round.
    pub(super) fn then(self, next: Done) -> Done {
        Done {
            items: self.items.saturating_add(next.items),
            more: next.more,
            detail: next.detail.or(self.detail),
        }
    }
}

/// A job that runs periodically.
pub trait PeriodicJob: Send + Sync + 'static {
    /// The name of the job, which must not change: 1 to 64 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;

    /// Time between the end of a run and the start of the next.
    fn every(&self) -> Duration;

    /// Whether one instance at a time runs the job, or all do.
    fn placement(&self) -> Placement {
        Placement::OneInstance
    }

    /// Maximum duration of a run; none for the driver's setting.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Maximum number of items of a round; none for the driver's setting.
    fn items_max(&self) -> Option<u64> {
        None
    }

    /// One round of work.
    fn run(&self, run: &RunContext) -> impl Future<Output = Result<Done>> + Send;
}

/// A job that follows a table's change feed, in long windows of changes, so that an item is written once however many
/// changes it counts.
pub trait FeedJob: Send + Sync + 'static {
    /// The accumulated changes of a window.
    type Accumulator: Default + Send;

    /// The name of the job, which must not change: 1 to 64 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;

    /// The table whose changes the job follows.
    fn table(&self) -> &str;

    /// The position at which the job starts when it has never run.
    fn start(&self) -> Position {
        Position::Oldest
    }

    /// Time between the end of a run and the start of the next; none for the driver's setting. A run processes the changes that
    /// exist when it starts.
    fn every(&self) -> Option<Duration> {
        None
    }

    /// Maximum duration of a run; none for the driver's setting.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// The changes of an item that may be merged; none if every one matters. A window that is resumed after a crash is read
    /// unmerged and must result in the same writes.
    fn merge(&self) -> Option<Merge> {
        None
    }

    /// Adds changes to the accumulator. Returns its number of entries; the window ends when there are many.
    ///
    /// # Errors
    /// A change cannot be read.
    fn fold(&self, accumulator: &mut Self::Accumulator, changes: Vec<Change>) -> Result<usize>;

    /// The writes that follow from a window's changes: any number, no item twice, none with a condition. The driver writes
    /// them in the order of their items, in several transactions if necessary, each with a checkpoint, so each change counts
    /// once. After a crash the driver folds the window again and skips the items already written: **the items written, and
    /// the changes counted in each, must depend on the changes alone.**
    ///
    /// This method may also do work outside of tables if it can be repeated: after a crash the changes are read again.
    fn writes(
        &self,
        accumulator: Self::Accumulator,
        run: &RunContext,
    ) -> impl Future<Output = Result<Vec<Write>>> + Send;

    /// What is wrong with the job's data although its runs succeed, such as a part that it could not process and has set
    /// aside; checked after each run. The job counts as failed until there is nothing, and follows the feed all the same.
    fn fault(&self) -> Option<Failure> {
        None
    }

    /// Makes a full pass for changes that the feed no longer has. The feed has been restarted by then, so changes during the
    /// pass are folded as well, possibly on another instance at the same time. Writes of a trimmed window stay.
    fn full_pass(&self, run: &RunContext) -> impl Future<Output = Result<Done>> + Send;
}
