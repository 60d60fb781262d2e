//! Windows of changes that are written in several transactions: each change counts once.

use std::collections::BTreeMap;
use std::time::Duration;

use weir_framework::jobs::{Done, FeedJob, Jobs, Result, RunContext, RunResult, Running, Settings};
use weir_table::expr::add;
use weir_table::feed::Change;
use weir_table::{AnyBackend, Key, Query, Store, Write};

use crate::places::{
    ORDERS, Place, TOTALS, embedded, embedded_with, on_both, order, quick, soon, until,
};
use crate::scripts::{Rounds, numbers};

/// Items that orders are counted in: two transactions hold them.
const PARTS: i64 = 150;

/// Counts orders by the remainder of their number, with an optional pause.
#[derive(Clone)]
struct Parts {
    pause: Duration,
    every: Option<Duration>,
    begun: Rounds,
    passes: Rounds,
}

impl Parts {
    fn new() -> Parts {
        let (begun, passes) = (Rounds::new(), Rounds::new());
        Parts { pause: Duration::ZERO, every: None, begun, passes }
    }
}

impl FeedJob for Parts {
    type Accumulator = BTreeMap<i64, (i64, i64)>;

    fn name(&self) -> &str {
        "parts"
    }

    fn table(&self) -> &str {
        ORDERS
    }

    fn every(&self) -> Option<Duration> {
        self.every
    }

    fn fold(&self, accumulator: &mut Self::Accumulator, changes: Vec<Change>) -> Result<usize> {
        for number in numbers(&changes) {
            let (count, sum) = accumulator.entry(number % PARTS).or_default();
            *count += 1;
            *sum += number;
        }
        Ok(accumulator.len())
    }

    async fn writes(
        &self,
        accumulator: Self::Accumulator,
        _run: &RunContext,
    ) -> Result<Vec<Write>> {
        self.begun.next();
        tokio::time::sleep(self.pause).await;
        let write = |(part, (count, sum)): (i64, (i64, i64))| {
            let update = add("count", count).add("sum", sum);
            Write::update(TOTALS, Key::partition(format!("part-{part}")), update).flushed()
        };
        Ok(accumulator.into_iter().map(write).collect())
    }

    async fn full_pass(&self, _run: &RunContext) -> Result<Done> {
        self.passes.next();
        Ok(Done::all(100))
    }
}

fn start(place: &Place, instance: &str, settings: Settings, job: &Parts) -> Running {
    Jobs::new(place.store.clone(), place.clock.clone(), instance)
        .settings(settings)
        .feed_job(job.clone())
        .start()
        .unwrap()
}

/// How many orders were counted, and their sum.
async fn counted(store: &Store<AnyBackend>) -> (i64, i64) {
    let mut total = (0, 0);
    for item in store.query(&Query::scan(TOTALS)).await.unwrap().items {
        total.0 += item.i64("count").unwrap_or(0);
        total.1 += item.i64("sum").unwrap_or(0);
    }
    total
}

fn sum(to: i64) -> (i64, i64) {
    (to, (0..to).sum())
}

async fn until_counted(store: &Store<AnyBackend>, wanted: (i64, i64)) {
    soon("the count", async {
        while counted(store).await != wanted {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

on_both!(windows_of_several_transactions_are_counted_once_though_drivers_are_killed);

async fn windows_of_several_transactions_are_counted_once_though_drivers_are_killed(place: Place) {
    let mut settings = quick();
    settings.window_max = 400;
    let mut job = Parts::new();
    job.pause = Duration::from_millis(1);
    let (rounds, life_us) = match place.store.backend().name() {
        "embedded" => (30, 8_000),
        _ => (4, 120_000),
    };
    let mut dice = fastrand::Rng::with_seed(7);
    let mut written = 0;
    for _ in 0..rounds {
        order(&place.store, written..written + 160).await;
        written += 160;
        // Two at once. Leases are over all the time, so that one takes the shard while the other
        // is still at its window; then both are killed, wherever they are.
        let pair = ["a", "b"].map(|name| start(&place, name, settings.clone(), &job));
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_micros(dice.u64(0..life_us))).await;
            place.clock.advance_ms(30_001);
        }
        drop(pair);
        let (count, _) = counted(&place.store).await;
        assert!(count <= written, "{count} of {written} are counted");
    }
    place.clock.advance_ms(30_001);
    let last = start(&place, "c", settings, &job);
    until_counted(&place.store, sum(written)).await;
    until(&last, "parts", |status| status.lag_ms == 0).await;
    last.run_now("parts").await.unwrap();
    assert_eq!(counted(&place.store).await, sum(written));
}

#[tokio::test]
async fn a_counting_job_reads_at_its_own_pace_or_when_it_is_asked() {
    let place = embedded().await;
    let mut job = Parts::new();
    job.every = Some(Duration::from_secs(3600));
    let running = start(&place, "a", quick(), &job);
    let status = until(&running, "parts", |status| status.runs == 1).await;
    assert_eq!((status.every_secs, status.last_items), (3600, Some(0)));
    order(&place.store, 0..1_300).await;
    let ran = running.run_now("parts").await.unwrap();
    assert_eq!(ran, RunResult::Done(Done::all(1_300)));
    assert_eq!(counted(&place.store).await, sum(1_300));
    assert_eq!(job.begun.count(), 2, "the first change, and the rest as one window");
    order(&place.store, 1_300..1_304).await;
    running.wake("parts").unwrap();
    until_counted(&place.store, sum(1_304)).await;
}

#[tokio::test]
async fn a_window_ends_at_its_bound_and_the_next_one_follows() {
    let place = embedded().await;
    order(&place.store, 0..2_500).await;
    let mut settings = quick();
    settings.window_max = 1_000;
    let job = Parts::new();
    let running = start(&place, "a", settings, &job);
    until(&running, "parts", |status| status.last_items == Some(2_500)).await;
    assert_eq!(counted(&place.store).await, sum(2_500));
    assert_eq!(job.begun.count(), 4);
}

#[tokio::test]
async fn a_counting_job_left_behind_does_a_full_pass_and_goes_on() {
    let place = embedded_with(|mut options| {
        options.segment_bytes_max = 4096;
        options.feed_bytes_max = 10_000;
        options
    })
    .await;
    order(&place.store, 0..10).await;
    let job = Parts::new();
    let running = start(&place, "a", quick(), &job);
    until_counted(&place.store, sum(10)).await;
    running.drain(Duration::from_secs(30)).await;
    order(&place.store, 10..400).await;
    let AnyBackend::Embedded(embedded) = place.store.backend() else {
        panic!("not embedded");
    };
    embedded.checkpoint().await.unwrap();
    let running = start(&place, "a", quick(), &job);
    until(&running, "parts", |status| status.last_items == Some(100)).await;
    let (before, sum) = counted(&place.store).await;
    order(&place.store, 1_000..1_003).await;
    until_counted(&place.store, (before + 3, sum + 3_003)).await;
    assert_eq!((before, job.passes.count()), (10, 1));
}
