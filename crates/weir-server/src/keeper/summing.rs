//! Jobs that aggregate counters into totals: those that the change feed reports, and regularly all of today and yesterday.
//!
//! Aggregation is idempotent, so a run that a crash interrupts is repeated.

use std::time::Duration;

use parking_lot::Mutex;
use weir_keeper::Keeper;
use weir_keeper::aggregate::{AggregateReport, DirtySet};
use weir_table::feed::{Change, Merge};
use weir_table::{AnyBackend, Write};

use super::metrics::metrics;
use weir_framework::app::App;
use weir_framework::jobs::{Done, Failure, FeedJob, PeriodicJob, Result, RunContext};

/// Name of the job that follows the counters' feed.
pub(super) const AGGREGATE: &str = "keeper-aggregate";
/// Items of the configuration that one run of a full pass visits.
const PASS_ITEMS: u32 = 100;

/// A full pass over today and yesterday of every org, in several runs.
struct FullPass {
    app: App,
    keeper: Keeper<AnyBackend>,
    progress: Mutex<Progress>,
}

/// How far a pass has come.
#[derive(Default)]
struct Progress {
    /// Where the next run continues.
    cursor: Option<String>,
    /// Scopes that failed so far, and why the first did.
    failed: u64,
    first_failure: Option<String>,
}

impl Progress {
    fn add(&mut self, report: &AggregateReport) {
        self.failed += report.failed;
        self.first_failure = self.first_failure.take().or_else(|| report.first_failure.clone());
    }

    /// The result of a pass that is complete. A scope that cannot be summed fails it, after all others were served.
    fn result(self, items: u64) -> Result<Done> {
        match self.first_failure {
            None => Ok(Done::all(items)),
            Some(first) => {
                let failed = self.failed;
                Err(Failure::new(format!(
                    "totals or scopes that cannot be summed, so that their chains are closed: {failed}; the first: {first}"
                )))
            }
        }
    }
}

impl FullPass {
    fn new(app: &App, keeper: &Keeper<AnyBackend>) -> FullPass {
        FullPass { app: app.clone(), keeper: keeper.clone(), progress: Mutex::default() }
    }

    async fn run(&self) -> Result<Done> {
        let mut progress = std::mem::take(&mut *self.progress.lock());
        let passed = self.keeper.full_pass(progress.cursor.as_deref(), PASS_ITEMS).await?;
        if let Ok(metrics) = metrics(&self.app) {
            metrics.summed(&passed.report);
        }
        progress.add(&passed.report);
        if passed.next.is_none() {
            return progress.result(passed.scopes);
        }
        progress.cursor = passed.next;
        *self.progress.lock() = progress;
        Ok(Done { more: true, ..Done::all(passed.scopes) })
    }
}

/// Aggregates the counters that the change feed reports. One write for a long window of changes, because DynamoDB bills every
/// write of a busy total.
pub(super) struct Aggregate {
    pass: FullPass,
    every: Duration,
}

impl Aggregate {
    pub(super) fn new(app: &App, keeper: &Keeper<AnyBackend>, every: Duration) -> Aggregate {
        Aggregate { pass: FullPass::new(app, keeper), every }
    }
}

impl FeedJob for Aggregate {
    type Accumulator = DirtySet;

    fn name(&self) -> &str {
        AGGREGATE
    }

    fn table(&self) -> &str {
        self.pass.keeper.tables().usage_agg_sharded.as_str()
    }

    fn every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn merge(&self) -> Option<Merge> {
        Some(DirtySet::merge())
    }

    fn fold(&self, dirty: &mut DirtySet, changes: Vec<Change>) -> Result<usize> {
        dirty.add(DirtySet::from_changes(&changes));
        Ok(dirty.len())
    }

    async fn writes(&self, dirty: DirtySet, _: &RunContext) -> Result<Vec<Write>> {
        let summed = self.pass.keeper.aggregate(&dirty).await?;
        if let Ok(metrics) = metrics(&self.pass.app) {
            metrics.summed(&summed);
        }
        Ok(Vec::new())
    }

    fn fault(&self) -> Option<Failure> {
        self.pass.keeper.unsummed_totals().map(Failure::new)
    }

    async fn full_pass(&self, _: &RunContext) -> Result<Done> {
        self.pass.run().await
    }
}

/// Aggregates today and yesterday of every org, in case the feed missed a change.
pub(super) struct CatchUp {
    pass: FullPass,
    every: Duration,
}

impl CatchUp {
    pub(super) fn new(app: &App, keeper: &Keeper<AnyBackend>, every: Duration) -> CatchUp {
        CatchUp { pass: FullPass::new(app, keeper), every }
    }
}

impl PeriodicJob for CatchUp {
    fn name(&self) -> &str {
        "keeper-catch-up"
    }

    fn every(&self) -> Duration {
        self.every
    }

    async fn run(&self, _: &RunContext) -> Result<Done> {
        self.pass.run().await
    }
}
