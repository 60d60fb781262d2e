//! Type-erased jobs, for the driver.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use weir_table::Write;
use weir_table::feed::{Change, Merge, Position};

use super::failure::{Failure, Result};
use super::job::{Done, FeedJob, PeriodicJob, Placement};
use super::run_context::RunContext;

/// A boxed future.
pub(super) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A type-erased [`PeriodicJob`].
pub(super) trait AnyPeriodic: Send + Sync {
    fn name(&self) -> &str;
    fn every(&self) -> Duration;
    fn placement(&self) -> Placement;
    fn deadline(&self) -> Option<Duration>;
    fn items_max(&self) -> Option<u64>;
    fn run<'a>(&'a self, run: &'a RunContext) -> Boxed<'a, Result<Done>>;
}

impl<J: PeriodicJob> AnyPeriodic for J {
    fn name(&self) -> &str {
        PeriodicJob::name(self)
    }

    fn every(&self) -> Duration {
        PeriodicJob::every(self)
    }

    fn placement(&self) -> Placement {
        PeriodicJob::placement(self)
    }

    fn deadline(&self) -> Option<Duration> {
        PeriodicJob::deadline(self)
    }

    fn items_max(&self) -> Option<u64> {
        PeriodicJob::items_max(self)
    }

    fn run<'a>(&'a self, run: &'a RunContext) -> Boxed<'a, Result<Done>> {
        Box::pin(PeriodicJob::run(self, run))
    }
}

/// A type-erased [`FeedJob`].
pub(super) trait AnyFeedJob: Send + Sync {
    fn name(&self) -> &str;
    fn table(&self) -> &str;
    fn start(&self) -> Position;
    fn every(&self) -> Option<Duration>;
    fn deadline(&self) -> Option<Duration>;
    fn merge(&self) -> Option<Merge>;
    fn fault(&self) -> Option<Failure>;
    /// An empty accumulator for a window.
    fn accumulator(&self) -> Box<dyn AnyAccumulator + '_>;
    fn full_pass<'a>(&'a self, run: &'a RunContext) -> Boxed<'a, Result<Done>>;
}

/// The accumulator of a [`FeedJob`] job, with its job.
pub(super) trait AnyAccumulator: Send {
    fn fold(&mut self, changes: Vec<Change>) -> Result<usize>;
    fn writes<'a>(self: Box<Self>, run: &'a RunContext) -> Boxed<'a, Result<Vec<Write>>>
    where
        Self: 'a;
}

struct JobAccumulator<'j, J: FeedJob> {
    job: &'j J,
    accumulator: J::Accumulator,
}

impl<J: FeedJob> AnyAccumulator for JobAccumulator<'_, J> {
    fn fold(&mut self, changes: Vec<Change>) -> Result<usize> {
        self.job.fold(&mut self.accumulator, changes)
    }

    fn writes<'a>(self: Box<Self>, run: &'a RunContext) -> Boxed<'a, Result<Vec<Write>>>
    where
        Self: 'a,
    {
        let JobAccumulator { job, accumulator } = *self;
        Box::pin(job.writes(accumulator, run))
    }
}

impl<J: FeedJob> AnyFeedJob for J {
    fn name(&self) -> &str {
        FeedJob::name(self)
    }

    fn table(&self) -> &str {
        FeedJob::table(self)
    }

    fn start(&self) -> Position {
        FeedJob::start(self)
    }

    fn every(&self) -> Option<Duration> {
        FeedJob::every(self)
    }

    fn deadline(&self) -> Option<Duration> {
        FeedJob::deadline(self)
    }

    fn merge(&self) -> Option<Merge> {
        FeedJob::merge(self)
    }

    fn fault(&self) -> Option<Failure> {
        FeedJob::fault(self)
    }

    fn accumulator(&self) -> Box<dyn AnyAccumulator + '_> {
        Box::new(JobAccumulator { job: self, accumulator: J::Accumulator::default() })
    }

    fn full_pass<'a>(&'a self, run: &'a RunContext) -> Boxed<'a, Result<Done>> {
        Box::pin(FeedJob::full_pass(self, run))
    }
}
