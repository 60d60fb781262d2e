//! Jobs that follow a feed: every change counts once, whatever happens to the instances.

use std::time::Duration;

use weir_framework::jobs::{Done, FeedJob, Jobs, Result, RunContext, RunResult, Running, Settings};
use weir_table::feed::Change;
use weir_table::{Item, Write};

use crate::places::{
    ORDERS, Place, TOTALS, embedded, on_both, order, quick, status, total, until, until_total,
};
use crate::scripts::{Count, Rounds, count, numbers};

fn start(place: &Place, instance: &str, settings: Settings, job: impl FeedJob) -> Running {
    Jobs::new(place.store.clone(), place.clock.clone(), instance)
        .settings(settings)
        .feed_job(job)
        .start()
        .unwrap()
}

fn sum(to: i64) -> (i64, i64) {
    (to, (0..to).sum())
}

on_both!(changes_are_counted_once_though_drivers_are_killed);

async fn changes_are_counted_once_though_drivers_are_killed(place: Place) {
    let settings = quick();
    let mut job = Count::new();
    job.pause = Duration::from_millis(2);
    let (mut written, mut kills) = (0, 0);
    let (orders, life_us) = match place.store.backend().name() {
        "embedded" => (600, 5_000),
        _ => (120, 50_000),
    };
    let mut dice = fastrand::Rng::with_seed(42);
    while written < orders {
        // Two at once. Leases are over all the time, so that one takes the shard while the other
        // is still at its window; then both are killed, wherever they are.
        let pair = ["a", "b"].map(|name| start(&place, name, settings.clone(), job.clone()));
        order(&place.store, written..written + 10).await;
        written += 10;
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_micros(dice.u64(0..life_us))).await;
            place.clock.advance_ms(30_001);
        }
        drop(pair);
        kills += 2;
        let (counted, _) = total(&place.store).await;
        assert!(counted <= written, "{counted} of {written} are counted");
    }
    place.clock.advance_ms(30_001);
    let last = start(&place, "c", settings, job);
    until_total(&place.store, sum(written)).await;
    until(&last, "count", |status| status.lag_ms == 0).await;
    last.run_now("count").await.unwrap();
    assert_eq!(total(&place.store).await, sum(written), "after {kills} kills");
}

#[tokio::test]
async fn a_panic_while_a_window_is_counted_loses_no_change() {
    #[derive(Clone)]
    struct Panics(Rounds);
    impl FeedJob for Panics {
        type Accumulator = Vec<i64>;
        fn name(&self) -> &str {
            "panics"
        }
        fn table(&self) -> &str {
            ORDERS
        }
        fn fold(&self, accumulator: &mut Vec<i64>, changes: Vec<Change>) -> Result<usize> {
            accumulator.extend(numbers(&changes));
            Ok(accumulator.len())
        }
        async fn writes(&self, accumulator: Vec<i64>, _run: &RunContext) -> Result<Vec<Write>> {
            let round = self.0.next();
            assert!(round.is_multiple_of(2), "this panic is part of a test");
            Ok(vec![count(&accumulator)])
        }
        async fn full_pass(&self, _run: &RunContext) -> Result<Done> {
            Ok(Done::default())
        }
    }
    let place = embedded().await;
    order(&place.store, 0..20).await;
    let running = start(&place, "a", quick(), Panics(Rounds::new()));
    until_total(&place.store, sum(20)).await;
    let status = until(&running, "panics", |status| status.lag_ms == 0).await;
    assert!(status.failures >= 1, "{status:?}");
}

#[tokio::test]
async fn writes_too_many_for_a_transaction_are_written_in_several() {
    /// Thirty items for each order.
    struct Many;
    impl FeedJob for Many {
        type Accumulator = Vec<i64>;
        fn name(&self) -> &str {
            "many"
        }
        fn table(&self) -> &str {
            ORDERS
        }
        fn fold(&self, accumulator: &mut Vec<i64>, changes: Vec<Change>) -> Result<usize> {
            accumulator.extend(numbers(&changes));
            Ok(accumulator.len())
        }
        async fn writes(&self, accumulator: Vec<i64>, _run: &RunContext) -> Result<Vec<Write>> {
            let part = |number: i64, part: i64| {
                let item = Item::new().with("id", format!("{number}-{part}"));
                Write::put(TOTALS, item).flushed()
            };
            let parts = |number: i64| (0..30).map(move |n| part(number, n));
            let puts = accumulator.iter().copied().flat_map(parts);
            Ok(puts.chain([count(&accumulator)]).collect())
        }
        async fn full_pass(&self, _run: &RunContext) -> Result<Done> {
            Ok(Done::default())
        }
    }
    let place = embedded().await;
    order(&place.store, 0..50).await;
    let running = start(&place, "a", quick(), Many);
    until_total(&place.store, sum(50)).await;
    let status = until(&running, "many", |status| status.lag_ms == 0).await;
    assert_eq!(status.failures, 0, "{status:?}");
}

#[tokio::test]
async fn work_outside_of_tables_is_done_before_the_position_moves() {
    /// Counts in memory.
    #[derive(Clone)]
    struct Outside(Rounds);
    impl FeedJob for Outside {
        type Accumulator = Vec<i64>;
        fn name(&self) -> &str {
            "outside"
        }
        fn table(&self) -> &str {
            ORDERS
        }
        fn fold(&self, accumulator: &mut Vec<i64>, changes: Vec<Change>) -> Result<usize> {
            accumulator.extend(numbers(&changes));
            Ok(accumulator.len())
        }
        async fn writes(&self, accumulator: Vec<i64>, _run: &RunContext) -> Result<Vec<Write>> {
            for _ in accumulator {
                self.0.next();
            }
            Ok(Vec::new())
        }
        async fn full_pass(&self, _run: &RunContext) -> Result<Done> {
            Ok(Done::default())
        }
    }
    let place = embedded().await;
    order(&place.store, 0..9).await;
    let job = Outside(Rounds::new());
    let running = start(&place, "a", quick(), job.clone());
    job.0.reach(9).await;
    until(&running, "outside", |status| status.last_items == Some(9)).await;
    drop(running);
    let again = start(&place, "a", quick(), job.clone());
    let ran = again.run_now("outside").await.unwrap();
    assert_eq!(ran, RunResult::Done(Done::all(0)));
    assert_eq!(job.0.count(), 9);
}

#[tokio::test]
async fn lag_is_the_age_of_what_was_handled_last_while_there_is_more() {
    /// Writes a window whenever the test allows one.
    #[derive(Clone)]
    struct Gated(std::sync::Arc<tokio::sync::Semaphore>, Rounds);
    impl FeedJob for Gated {
        type Accumulator = Vec<i64>;
        fn name(&self) -> &str {
            "gated"
        }
        fn table(&self) -> &str {
            ORDERS
        }
        fn fold(&self, accumulator: &mut Vec<i64>, changes: Vec<Change>) -> Result<usize> {
            accumulator.extend(numbers(&changes));
            Ok(accumulator.len())
        }
        async fn writes(&self, _accumulator: Vec<i64>, _run: &RunContext) -> Result<Vec<Write>> {
            self.1.next();
            self.0.acquire().await?.forget();
            Ok(Vec::new())
        }
        async fn full_pass(&self, _run: &RunContext) -> Result<Done> {
            Ok(Done::default())
        }
    }
    let place = embedded().await;
    order(&place.store, 0..1).await;
    place.clock.advance_ms(4_000);
    order(&place.store, 1..2).await;
    place.clock.advance_ms(1_000);
    let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let job = Gated(gate.clone(), Rounds::new());
    let running = start(&place, "a", quick(), job.clone());
    job.1.reach(1).await;
    assert_eq!(status(&running, "gated").lag_ms, 5_000, "of the first that waits");
    gate.add_permits(1);
    job.1.reach(2).await;
    assert_eq!(status(&running, "gated").lag_ms, 5_000, "the first is the last handled");
    gate.add_permits(1);
    let status = until(&running, "gated", |status| status.runs == 1).await;
    assert_eq!((status.lag_ms, status.last_items), (0, Some(2)));
}

#[tokio::test]
async fn a_woken_feed_job_reads_at_once() {
    let place = embedded().await;
    let mut settings = quick();
    settings.feed_poll = Duration::from_secs(3600);
    let running = start(&place, "a", settings, Count::new());
    until(&running, "count", |status| status.runs == 1).await;
    order(&place.store, 0..4).await;
    running.wake("count").unwrap();
    until(&running, "count", |status| status.last_items == Some(4)).await;
    order(&place.store, 4..6).await;
    let ran = running.run_now("count").await.unwrap();
    assert_eq!(ran, RunResult::Done(Done::all(2)));
    assert_eq!(total(&place.store).await, sum(6));
}
