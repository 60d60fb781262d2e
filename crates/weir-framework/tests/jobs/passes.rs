//! Full passes: when the feed no longer has what comes next.

use std::time::Duration;

use weir_api::server::{Job, JobState};
use weir_framework::jobs::{Done, FeedJob, JOBS_TABLE, Jobs, Result, RunContext, Running};
use weir_table::feed::Change;
use weir_table::{AnyBackend, Get, Item, Key, Write};

use crate::places::{ORDERS, Place, embedded_with, order, quick, total, until, until_total};
use crate::scripts::{Rounds, count, failure, numbers};

/// Counts orders; its full pass does what the test says of each try.
#[derive(Clone)]
struct Passing {
    passes: Rounds,
    pass: fn(u64) -> Pass,
}

#[derive(Clone, Copy, PartialEq)]
enum Pass {
    Ends,
    Fails,
    Hangs,
    HasMore,
}

impl Passing {
    fn new(pass: fn(u64) -> Pass) -> Passing {
        let passes = Rounds::new();
        Passing { passes, pass }
    }
}

impl FeedJob for Passing {
    type Accumulator = Vec<i64>;

    fn name(&self) -> &str {
        "passing"
    }

    fn table(&self) -> &str {
        ORDERS
    }

    fn fold(&self, accumulator: &mut Vec<i64>, changes: Vec<Change>) -> Result<usize> {
        accumulator.extend(numbers(&changes));
        Ok(accumulator.len())
    }

    async fn writes(&self, accumulator: Vec<i64>, _run: &RunContext) -> Result<Vec<Write>> {
        Ok(vec![count(&accumulator)])
    }

    async fn full_pass(&self, _run: &RunContext) -> Result<Done> {
        let done = Done::all(100);
        match (self.pass)(self.passes.next()) {
            Pass::Ends => Ok(done),
            Pass::Fails => Err(failure()),
            Pass::Hangs => std::future::pending().await,
            Pass::HasMore => Ok(Done { more: true, ..done }),
        }
    }
}

fn start(place: &Place, instance: &str, job: &Passing) -> Running {
    Jobs::new(place.store.clone(), place.clock.clone(), instance)
        .settings(quick())
        .feed_job(job.clone())
        .start()
        .unwrap()
}

/// A store whose feed keeps little, and a job that was left behind in it after ten orders.
async fn left_behind() -> Place {
    let place = embedded_with(|mut options| {
        options.segment_bytes_max = 4096;
        options.feed_bytes_max = 10_000;
        options
    })
    .await;
    order(&place.store, 0..10).await;
    let job = Passing::new(|_| Pass::Ends);
    let running = start(&place, "a", &job);
    until(&running, "passing", |status| status.last_items == Some(10)).await;
    running.drain(Duration::from_secs(30)).await;
    order(&place.store, 10..400).await;
    let AnyBackend::Embedded(embedded) = place.store.backend() else {
        panic!("not embedded");
    };
    embedded.checkpoint().await.unwrap();
    assert_eq!(job.passes.count(), 0);
    place
}

async fn item(place: &Place) -> Item {
    let get = Get::new(JOBS_TABLE, Key::new("JOBS", "JOB#passing"));
    place.store.get(&get).await.unwrap().unwrap()
}

/// The job counts what comes after its pass, and nothing of what was trimmed.
async fn goes_on(place: &Place) {
    let (before, _) = total(&place.store).await;
    order(&place.store, 1000..1003).await;
    until_total(&place.store, (before + 3, (0..10).sum::<i64>() + 3003)).await;
}

#[tokio::test]
async fn a_job_left_behind_does_one_full_pass_and_goes_on() {
    let place = left_behind().await;
    let job = Passing::new(|_| Pass::Ends);
    let running = start(&place, "a", &job);
    let status = until(&running, "passing", |status| status.last_items == Some(100)).await;
    assert_eq!(status.failures, 0);
    goes_on(&place).await;
    assert_eq!(job.passes.count(), 1);
    let item = item(&place).await;
    assert_eq!(item.i64("passes_owed"), Some(1));
    assert_eq!(item.i64("passes_done"), Some(1));
}

#[tokio::test]
async fn a_full_pass_that_fails_is_tried_again() {
    let place = left_behind().await;
    let job = Passing::new(|pass| if pass < 3 { Pass::Fails } else { Pass::Ends });
    let running = start(&place, "a", &job);
    job.passes.reach(3).await;
    let status = until(&running, "passing", |status| status.last_items == Some(100)).await;
    assert_eq!((status.failures, status.last_error), (2, None));
    goes_on(&place).await;
    assert_eq!(job.passes.count(), 3);
}

#[tokio::test]
async fn a_job_that_owes_a_full_pass_reads_on_and_is_not_well() {
    let place = left_behind().await;
    let mut settings = quick();
    settings.backoff_first = Duration::from_secs(3600);
    settings.backoff_max = Duration::from_secs(3600);
    let job = Passing::new(|_| Pass::Fails);
    let running = Jobs::new(place.store.clone(), place.clock.clone(), "a")
        .settings(settings)
        .feed_job(job.clone())
        .start()
        .unwrap();
    until(&running, "passing", |status| status.state == JobState::Failed).await;
    goes_on(&place).await;
    let read = |status: &Job| status.last_items != Some(0) && status.state == JobState::Failed;
    let status = until(&running, "passing", read).await;
    assert_eq!(status.last_error.as_deref(), Some("the wind has turned"));
    assert_eq!(job.passes.count(), 1);
}

#[tokio::test]
async fn a_full_pass_goes_on_in_rounds_while_there_is_more() {
    let place = left_behind().await;
    let job = Passing::new(|pass| if pass < 5 { Pass::HasMore } else { Pass::Ends });
    let running = start(&place, "a", &job);
    until(&running, "passing", |status| status.last_items == Some(500)).await;
    goes_on(&place).await;
    assert_eq!(job.passes.count(), 5);
}

#[tokio::test]
async fn a_full_pass_that_a_killed_instance_owed_is_done_by_another() {
    let place = left_behind().await;
    let dying = Passing::new(|_| Pass::Hangs);
    let a = start(&place, "a", &dying);
    dying.passes.reach(1).await;
    let heir = Passing::new(|_| Pass::Ends);
    let b = start(&place, "b", &heir);
    drop(a);
    place.clock.advance_ms(30_001);
    heir.passes.reach(1).await;
    until(&b, "passing", |status| status.last_items == Some(100)).await;
    goes_on(&place).await;
    assert_eq!(heir.passes.count(), 1);
    assert_eq!(item(&place).await.i64("passes_done"), Some(1));
}
