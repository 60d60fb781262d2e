//! Jobs as the driver keeps them, without their types.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use weir_table::Write;
use weir_table::feed::{Change, Merge, Position};

use super::failure::{Failure, Result};
use super::job::{Counting, Done, Fed, Periodic, Place};
use super::turn::Turn;

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

/// [`Fed`] or [`Counting`] as the driver keeps it, without its type.
pub(super) trait AnyFed: Send + Sync {
    fn name(&self) -> &str;
    fn table(&self) -> &str;
    fn start(&self) -> Position;
    fn every(&self) -> Option<Duration>;
    fn deadline(&self) -> Option<Duration>;
    fn merge(&self) -> Option<Merge>;
    /// What a job that counts folds a stretch into; none of a job that handles batches.
    fn tally(&self) -> Option<Box<dyn AnyTally + '_>>;
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

    fn every(&self) -> Option<Duration> {
        None
    }

    fn deadline(&self) -> Option<Duration> {
        Fed::deadline(self)
    }

    fn merge(&self) -> Option<Merge> {
        None
    }

    fn tally(&self) -> Option<Box<dyn AnyTally + '_>> {
        None
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

/// The tally of a [`Counting`] job, with its job.
pub(super) trait AnyTally: Send {
    fn fold(&mut self, changes: Vec<Change>) -> Result<usize>;
    fn writes<'a>(self: Box<Self>, turn: &'a Turn) -> Boxed<'a, Result<Vec<Write>>>
    where
        Self: 'a;
}

/// A [`Counting`] job.
pub(super) struct Counts<J>(pub(super) J);

struct Tallied<'j, J: Counting> {
    job: &'j J,
    tally: J::Tally,
}

impl<J: Counting> AnyTally for Tallied<'_, J> {
    fn fold(&mut self, changes: Vec<Change>) -> Result<usize> {
        self.job.fold(&mut self.tally, changes)
    }

    fn writes<'a>(self: Box<Self>, turn: &'a Turn) -> Boxed<'a, Result<Vec<Write>>>
    where
        Self: 'a,
    {
        let Tallied { job, tally } = *self;
        Box::pin(job.writes(tally, turn))
    }
}

impl<J: Counting> AnyFed for Counts<J> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn table(&self) -> &str {
        self.0.table()
    }

    fn start(&self) -> Position {
        self.0.start()
    }

    fn every(&self) -> Option<Duration> {
        self.0.every()
    }

    fn deadline(&self) -> Option<Duration> {
        self.0.deadline()
    }

    fn merge(&self) -> Option<Merge> {
        self.0.merge()
    }

    fn tally(&self) -> Option<Box<dyn AnyTally + '_>> {
        Some(Box::new(Tallied { job: &self.0, tally: J::Tally::default() }))
    }

    fn handle<'a>(&'a self, _: &'a [Change], _: &'a Turn) -> Boxed<'a, Result<Vec<Write>>> {
        Box::pin(async { Err(Failure::new("a job that counts handles no batches")) })
    }

    fn full_pass<'a>(&'a self, turn: &'a Turn) -> Boxed<'a, Result<Done>> {
        Box::pin(self.0.full_pass(turn))
    }
}
