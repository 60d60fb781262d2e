//! Jobs as the driver keeps them, without their types.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use weir_table::Write;
use weir_table::feed::{Change, Merge, Position};

use super::failure::Result;
use super::job::{Counting, Done, Periodic, Place};
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

/// [`Counting`] as the driver keeps it, without its type.
pub(super) trait AnyCounting: Send + Sync {
    fn name(&self) -> &str;
    fn table(&self) -> &str;
    fn start(&self) -> Position;
    fn every(&self) -> Option<Duration>;
    fn deadline(&self) -> Option<Duration>;
    fn merge(&self) -> Option<Merge>;
    /// An empty tally for a window.
    fn tally(&self) -> Box<dyn AnyTally + '_>;
    fn full_pass<'a>(&'a self, turn: &'a Turn) -> Boxed<'a, Result<Done>>;
}

/// The tally of a [`Counting`] job, with its job.
pub(super) trait AnyTally: Send {
    fn fold(&mut self, changes: Vec<Change>) -> Result<usize>;
    fn writes<'a>(self: Box<Self>, turn: &'a Turn) -> Boxed<'a, Result<Vec<Write>>>
    where
        Self: 'a;
}

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

impl<J: Counting> AnyCounting for J {
    fn name(&self) -> &str {
        Counting::name(self)
    }

    fn table(&self) -> &str {
        Counting::table(self)
    }

    fn start(&self) -> Position {
        Counting::start(self)
    }

    fn every(&self) -> Option<Duration> {
        Counting::every(self)
    }

    fn deadline(&self) -> Option<Duration> {
        Counting::deadline(self)
    }

    fn merge(&self) -> Option<Merge> {
        Counting::merge(self)
    }

    fn tally(&self) -> Box<dyn AnyTally + '_> {
        Box::new(Tallied { job: self, tally: J::Tally::default() })
    }

    fn full_pass<'a>(&'a self, turn: &'a Turn) -> Boxed<'a, Result<Done>> {
        Box::pin(Counting::full_pass(self, turn))
    }
}
