//! A table with reviews and rollups, on the embedded store.

use std::time::Duration;

use weir_calendar::Day;
use weir_reviews::compare::{self, Comparison};
use weir_reviews::review::RecordedReview;
use weir_reviews::rollup::{
    self, DayRange, Level, RollupTable, RunReport, SummaryId, removal_writes, replacement_writes,
    writes,
};
use weir_table::embedded::{Embedded, Options};
use weir_table::{IndexSpec, Kind, Projection, Query, Store, TableSpec, Transaction, Write};

use crate::brute_force;
use crate::generate::{self, Shape};
use crate::unreliable::{Faults, Unreliable};

/// Start of the first day: 2037-01-23.
pub(crate) const START_MS: i64 = 2_116_281_600_000;
/// When the scene plays.
pub(crate) const NOW_MS: i64 = START_MS + 100 * 86_400_000;
/// Days that a run takes at most.
const BOUND: u64 = 100_000;

/// A few reviews of three models on three days in two repositories.
pub(crate) const SMALL: Shape =
    Shape { reviews: 12, repos: 2, days: 3, models: 3, issues: 5, start_ms: START_MS };

/// A table with reviews.
pub(crate) struct Scene {
    pub(crate) store: Store<Unreliable<Embedded>>,
    pub(crate) faults: Faults,
    pub(crate) table: RollupTable,
    _folder: tempfile::TempDir,
}

/// Plays a scenario, on one thread.
pub(crate) fn play(scenario: impl AsyncFnOnce(&Scene)) {
    play_with(None, scenario);
}

/// Plays a scenario on a store whose indexes may lag.
pub(crate) fn play_with(index_delay: Option<Duration>, scenario: impl AsyncFnOnce(&Scene)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { scenario(&Scene::new(index_delay).await).await });
}

impl Scene {
    async fn new(index_delay: Option<Duration>) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { index_delay, ..Options::new(folder.path()) };
        let inner = Embedded::open(options).unwrap();
        let cursors = inner.cursor_key();
        let faults = Faults::default();
        let store = Store::new(Unreliable { inner, faults: faults.clone() }, cursors);
        let table = RollupTable::new("quorum-metrics-test");
        store.create_table(&spec(&table.name)).await.unwrap();
        Scene { store, faults, table, _folder: folder }
    }

    /// Does writes together, without waiting for the disk.
    pub(crate) async fn transact(&self, writes: Vec<Write>) {
        let writes = writes.into_iter().map(Write::flushed);
        let done = self.store.transact(Transaction::new(writes)).await.unwrap();
        assert!(done.is_applied());
    }

    /// Records reviews.
    pub(crate) async fn record(&self, reviews: &[RecordedReview]) {
        for some in reviews.chunks(45) {
            let writes = some.iter().flat_map(|one| writes(one, &self.table, NOW_MS).unwrap());
            self.transact(writes.collect()).await;
        }
    }

    /// Replaces a review.
    pub(crate) async fn replace(&self, old: &RecordedReview, new: &RecordedReview) {
        let writes =
            replacement_writes(&SummaryId::of(&old.review), new, &self.table, NOW_MS).unwrap();
        self.transact(writes).await;
    }

    /// Deletes a review.
    pub(crate) async fn remove(&self, review: &RecordedReview) {
        self.transact(removal_writes(&SummaryId::of(&review.review), &self.table, NOW_MS)).await;
    }

    /// Runs the job once.
    pub(crate) async fn run(&self) -> weir_reviews::Result<RunReport> {
        rollup::run(&self.store, &self.table, NOW_MS, BOUND).await
    }

    /// Compares all models over all days.
    pub(crate) async fn compare(&self, level: &Level) -> Comparison {
        compare::read(&self.store, &self.table, level, days(), None).await.unwrap()
    }

    /// Asserts that rollups equal these reviews, at both levels, and that nothing waits.
    pub(crate) async fn assert_rolled_up(&self, reviews: &[RecordedReview]) {
        brute_force::assert_equals(&self.compare(&Level::All).await, reviews);
        for repo in 0..SMALL.repos {
            let own =
                reviews.iter().filter(|one| one.review.pull_request.repo == generate::repo(repo));
            let own: Vec<RecordedReview> = own.cloned().collect();
            brute_force::assert_equals(&self.compare(&repository(repo)).await, &own);
        }
        let report = rollup::verify(&self.store, &self.table, &Level::All, days()).await.unwrap();
        assert!(report.differences.is_empty(), "{report:?}");
        assert!(report.failures.is_empty() && !report.is_pending, "{report:?}");
    }

    /// Sort keys of a partition.
    pub(crate) async fn sort_keys(&self, partition: &str) -> Vec<String> {
        let query = Query::partition(self.table.name.clone(), partition);
        let page = self.store.query(&query).await.unwrap();
        page.items.iter().map(|item| item.s("SK").unwrap().to_owned()).collect()
    }
}

/// The schema of Quorum, as far as rollups need it.
fn spec(name: &str) -> TableSpec {
    TableSpec::new(name, "PK", Kind::S)
        .sort("SK", Kind::S)
        .attribute("GSI1PK", Kind::S)
        .attribute("GSI1SK", Kind::S)
        .index(IndexSpec {
            name: "GSI1".to_owned(),
            partition: "GSI1PK".into(),
            sort: Some("GSI1SK".into()),
            projection: Projection::All,
        })
        .ttl("ttl")
}

/// One of the repositories.
pub(crate) fn repository(number: usize) -> Level {
    Level::Repository(generate::owner(), generate::repo(number))
}

/// All days of the scene.
pub(crate) fn days() -> DayRange {
    let first = Day::utc(START_MS);
    DayRange::new(first, first.plus_days(20)).unwrap()
}

/// A few reviews.
pub(crate) fn reviews(seed: u64) -> Vec<RecordedReview> {
    generate::reviews(seed, SMALL).collect()
}
