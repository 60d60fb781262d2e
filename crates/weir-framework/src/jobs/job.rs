//! What a domain writes: a [`PeriodicJob`] job or a [`FeedJob`] one.
//!
//! All are idempotent functions of the state of the store: they may be cut off at any `await`, and
//! are then run again. The driver owns period, lease, retry and shutdown.

use std::future::Future;
use std::time::Duration;

use weir_table::Write;
use weir_table::feed::{Change, Merge, Position};

use super::failure::{Failure, Result};
use super::run_context::RunContext;

/// Where a periodic job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// On one instance at a time, under a lease; the period is that of all instances together.
    OneInstance,
    /// On every instance.
    EveryInstance,
}

/// What a round of work came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// Items worked on.
    pub items: u64,
    /// Whether the bound was reached, so that the job wants another round at once.
    pub more: bool,
    /// Something to tell the operator.
    pub detail: Option<String>,
}

impl Done {
    /// All that there was: `items` of it.
    #[must_use]
    pub fn all(items: u64) -> Done {
        Done { items, ..Done::default() }
    }

    /// This round and the one after it.
    pub(super) fn then(self, next: Done) -> Done {
        Done {
            items: self.items.saturating_add(next.items),
            more: next.more,
            detail: next.detail.or(self.detail),
        }
    }
}

/// A job that runs every so often.
pub trait PeriodicJob: Send + Sync + 'static {
    /// Its name, which stays: 1 to 64 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;

    /// How long after the end of a run the next one begins.
    fn every(&self) -> Duration;

    /// Whether one instance runs it at a time, or all do.
    fn placement(&self) -> Placement {
        Placement::OneInstance
    }

    /// How long a run may take; none for the driver's setting.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// How many items a round may work on; none for the driver's setting.
    fn items_max(&self) -> Option<u64> {
        None
    }

    /// One round of work.
    fn run(&self, run: &RunContext) -> impl Future<Output = Result<Done>> + Send;
}

/// A job that follows a table's change feed, in long windows of changes, so that an item is written once however many
/// changes it counts.
pub trait FeedJob: Send + Sync + 'static {
    /// What the changes of a window came to so far.
    type Accumulator: Default + Send;

    /// Its name, which stays: 1 to 64 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;

    /// The table whose changes it follows.
    fn table(&self) -> &str;

    /// Where it begins when it has never run.
    fn start(&self) -> Position {
        Position::Oldest
    }

    /// How long after the end of a run the next one begins; none for the driver's setting. A run counts what there was when
    /// it began.
    fn every(&self) -> Option<Duration> {
        None
    }

    /// How long a run may take; none for the driver's setting.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Which changes of an item may be merged; none, if every one of them matters. A window that is resumed after a crash
    /// is read unmerged, and must come to the same writes.
    fn merge(&self) -> Option<Merge> {
        None
    }

    /// Adds changes to the accumulator. Returns how many entries it has now: when they are many the window ends.
    ///
    /// # Errors
    /// A change cannot be read.
    fn fold(&self, accumulator: &mut Self::Accumulator, changes: Vec<Change>) -> Result<usize>;

    /// What to write because of a window's changes: any number of writes, no item twice, none with a condition. The driver
    /// writes them in the order of their items, in several transactions if need be, each with a checkpoint; so each change
    /// counts once. After a crash the window is folded again and the items already written are skipped: **which items are
    /// written, and what is counted in each, must depend on the changes alone.**
    ///
    /// Work outside of tables can be done here too, if it may be repeated: after a crash the changes are read again.
    fn writes(
        &self,
        accumulator: Self::Accumulator,
        run: &RunContext,
    ) -> impl Future<Output = Result<Vec<Write>>> + Send;

    /// What is wrong with the job's data although its runs end well, such as a part that it could not handle and has set
    /// aside; asked after each run. The job counts as failed until there is nothing, and follows the feed all the same.
    fn fault(&self) -> Option<Failure> {
        None
    }

    /// Makes up for changes that the feed no longer had. The feed has been restarted by then, so changes made during the
    /// pass are also folded, maybe on another instance at the same time. What was written of a trimmed window stays.
    fn full_pass(&self, run: &RunContext) -> impl Future<Output = Result<Done>> + Send;
}
