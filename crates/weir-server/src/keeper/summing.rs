//! Summing counters up: what their changes made dirty, and all of today and yesterday for what the changes did not tell.
//!
//! Summing up again does no harm, so what a crash interrupts is done again.

use crate::keeper::metrics::metrics;
use std::time::Duration;

use parking_lot::Mutex;
use weir_keeper::Keeper;
use weir_keeper::aggregate::Dirty;
use weir_table::feed::{Change, Merge};
use weir_table::{AnyBackend, Write};

use weir_framework::app::App;
use weir_framework::jobs::{Counting, Done, Periodic, Result, Turn};

/// Orgs, apps and other things of the configuration that a round of a full pass looks at.
const PASS_ITEMS: u32 = 100;

/// A full pass over today and yesterday of every org, round by round.
struct Pass {
    app: App,
    keeper: Keeper<AnyBackend>,
    /// Where it goes on.
    passed: Mutex<Option<String>>,
}

impl Pass {
    fn new(app: &App, keeper: &Keeper<AnyBackend>) -> Pass {
        Pass { app: app.clone(), keeper: keeper.clone(), passed: Mutex::default() }
    }

    async fn round(&self) -> Result<Done> {
        let cursor = self.passed.lock().take();
        let passed = self.keeper.full_pass(cursor.as_deref(), PASS_ITEMS).await?;
        if let Ok(metrics) = metrics(&self.app) {
            metrics.summed(&passed.summed);
        }
        let more = passed.next.is_some();
        *self.passed.lock() = passed.next;
        Ok(Done { more, ..Done::all(passed.scopes) })
    }
}

/// Sums up what changes of the counters made dirty: once for a long window of them, because a busy total that is written for
/// every batch is paid for on DynamoDB each time.
pub(super) struct Aggregate {
    pass: Pass,
    every: Duration,
}

impl Aggregate {
    pub(super) fn new(app: &App, keeper: &Keeper<AnyBackend>, every: Duration) -> Aggregate {
        Aggregate { pass: Pass::new(app, keeper), every }
    }
}

impl Counting for Aggregate {
    type Tally = Dirty;

    fn name(&self) -> &str {
        "keeper-aggregate"
    }

    fn table(&self) -> &str {
        self.pass.keeper.tables().usage_agg_sharded.as_str()
    }

    fn every(&self) -> Option<Duration> {
        Some(self.every)
    }

    fn merge(&self) -> Option<Merge> {
        Some(Dirty::merge())
    }

    fn fold(&self, dirty: &mut Dirty, changes: Vec<Change>) -> Result<usize> {
        dirty.add(Dirty::of(&changes));
        Ok(dirty.len())
    }

    async fn writes(&self, dirty: Dirty, _: &Turn) -> Result<Vec<Write>> {
        let summed = self.pass.keeper.aggregate(&dirty).await?;
        if let Ok(metrics) = metrics(&self.pass.app) {
            metrics.summed(&summed);
        }
        Ok(Vec::new())
    }

    async fn full_pass(&self, _: &Turn) -> Result<Done> {
        self.pass.round().await
    }
}

/// Sums up today and yesterday of every org now and then.
pub(super) struct CatchUp {
    pass: Pass,
    every: Duration,
}

impl CatchUp {
    pub(super) fn new(app: &App, keeper: &Keeper<AnyBackend>, every: Duration) -> CatchUp {
        CatchUp { pass: Pass::new(app, keeper), every }
    }
}

impl Periodic for CatchUp {
    fn name(&self) -> &str {
        "keeper-catch-up"
    }

    fn every(&self) -> Duration {
        self.every
    }

    async fn run(&self, _: &Turn) -> Result<Done> {
        self.pass.round().await
    }
}
