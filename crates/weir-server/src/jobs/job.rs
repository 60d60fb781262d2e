//! What a domain writes: a [`Periodic`] job or a [`Fed`] one.
//!
//! Both are idempotent functions of the state of the store: they may be cut off at any `await`, and
//! are then run again. The driver owns period, lease, retry and shutdown.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use weir_table::Write;
use weir_table::feed::{Change, Position};

use super::failure::Result;
use super::turn::Turn;

/// Where a periodic job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On one instance at a time, under a lease; the period is that of all instances together.
    Alone,
    /// On every instance.
    Everywhere,
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
pub trait Periodic: Send + Sync + 'static {
    /// Its name, which stays: 1 to 64 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;

    /// How long after the end of a run the next one begins.
    fn every(&self) -> Duration;

    /// Whether one instance runs it at a time, or all do.
    fn place(&self) -> Place {
        Place::Alone
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
    fn run(&self, turn: &Turn) -> impl Future<Output = Result<Done>> + Send;
}

/// A job that follows a table's change feed.
pub trait Fed: Send + Sync + 'static {
    /// Its name, which stays: 1 to 64 of `a-z`, `0-9`, `-` and `_`.
    fn name(&self) -> &str;

    /// The table whose changes it follows.
    fn table(&self) -> &str;

    /// Where it begins when it has never run.
    fn start(&self) -> Position {
        Position::Oldest
    }

    /// How long a run may take; none for the driver's setting.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// What to write because of `changes`, at most 99 writes and no item twice. The driver writes
    /// it together with the feed's position, so each change counts once; when a condition of it is
    /// refused it asks again, and when it is too much for one transaction it asks with fewer
    /// changes.
    ///
    /// A job whose work is not in a table does it here and returns no writes. After a crash it
    /// sees changes again.
    fn handle(
        &self,
        changes: &[Change],
        turn: &Turn,
    ) -> impl Future<Output = Result<Vec<Write>>> + Send;

    /// Makes good for changes that the feed no longer had. By then the feed begins anew, so what
    /// changes during the pass also comes to [`Fed::handle`], maybe on another instance at the
    /// same time.
    fn full_pass(&self, turn: &Turn) -> impl Future<Output = Result<Done>> + Send;
}

/// A future in a box.
pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// [`Periodic`] as the driver keeps it, without its type.
pub(super) trait AnyPeriodic: Send + Sync {
    fn name(&self) -> &str;
    fn every(&self) -> Duration;
    fn place(&self) -> Place;
    fn deadline(&self) -> Option<Duration>;
    fn items_max(&self) -> Option<u64>;
    fn run<'a>(&'a self, turn: &'a Turn) -> Boxed<'a, Result<Done>>;
}

impl<J: Periodic> AnyPeriodic for J {
    fn name(&self) -> &str {
        Periodic::name(self)
    }

    fn every(&self) -> Duration {
        Periodic::every(self)
    }

    fn place(&self) -> Place {
        Periodic::place(self)
    }

    fn deadline(&self) -> Option<Duration> {
        Periodic::deadline(self)
    }

    fn items_max(&self) -> Option<u64> {
        Periodic::items_max(self)
    }

    fn run<'a>(&'a self, turn: &'a Turn) -> Boxed<'a, Result<Done>> {
        Box::pin(Periodic::run(self, turn))
    }
}

/// [`Fed`] as the driver keeps it, without its type.
pub(super) trait AnyFed: Send + Sync {
    fn name(&self) -> &str;
    fn table(&self) -> &str;
    fn start(&self) -> Position;
    fn deadline(&self) -> Option<Duration>;
    fn handle<'a>(&'a self, changes: &'a [Change], turn: &'a Turn)
    -> Boxed<'a, Result<Vec<Write>>>;
    fn full_pass<'a>(&'a self, turn: &'a Turn) -> Boxed<'a, Result<Done>>;
}

impl<J: Fed> AnyFed for J {
    fn name(&self) -> &str {
        Fed::name(self)
    }

    fn table(&self) -> &str {
        Fed::table(self)
    }

    fn start(&self) -> Position {
        Fed::start(self)
    }

    fn deadline(&self) -> Option<Duration> {
        Fed::deadline(self)
    }

    fn handle<'a>(
        &'a self,
        changes: &'a [Change],
        turn: &'a Turn,
    ) -> Boxed<'a, Result<Vec<Write>>> {
        Box::pin(Fed::handle(self, changes, turn))
    }

    fn full_pass<'a>(&'a self, turn: &'a Turn) -> Boxed<'a, Result<Done>> {
        Box::pin(Fed::full_pass(self, turn))
    }
}
