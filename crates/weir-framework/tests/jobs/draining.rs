//! How jobs stop.

use std::sync::Arc;
use std::time::Duration;

use weir_api::server::JobState;
use weir_framework::jobs::{Done, Jobs, RunResult};

use crate::places::{embedded, order, quick, status, until};
use crate::scripts::{Count, Rounds, Script};

#[tokio::test]
async fn a_drain_waits_for_a_run_under_way() {
    for is_alone in [true, false] {
        let place = embedded().await;
        let finished = Rounds::new();
        let noted = finished.clone();
        let job = Script::new(move |_, run| {
            let noted = noted.clone();
            async move {
                while !run.stopping() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
                noted.next();
                Ok(Done::all(5))
            }
        });
        let job = if is_alone { job } else { job.everywhere() };
        let running = Jobs::new(place.store.clone(), place.clock.clone(), "a")
            .settings(quick())
            .periodic_job(job.clone())
            .start()
            .unwrap();
        job.begun().reach(1).await;
        assert_eq!(running.drain(Duration::from_secs(30)).await, 0);
        assert_eq!(finished.count(), 1);
        let status = status(&running, "script");
        assert_eq!(status.state, JobState::Stopping);
        assert_eq!((status.runs, status.last_items), (1, Some(5)));
        assert_eq!(status.leased_by, None);
    }
}

#[tokio::test]
async fn a_drained_driver_begins_nothing() {
    let place = embedded().await;
    let job = Script::idle().every_ms(1);
    let running = Jobs::new(place.store.clone(), place.clock.clone(), "a")
        .settings(quick())
        .periodic_job(job.clone())
        .start()
        .unwrap();
    job.begun().reach(3).await;
    assert_eq!(running.drain(Duration::from_secs(30)).await, 0);
    let begun = job.begun().count();
    running.wake("script").unwrap();
    assert_eq!(running.run_now("script").await.unwrap(), RunResult::Stopping);
    assert_eq!(job.begun().count(), begun);
    assert_eq!(running.drain(Duration::from_secs(30)).await, 0);
}

#[tokio::test]
async fn whoever_waits_for_a_run_hears_that_the_driver_stops() {
    let place = embedded().await;
    let job = Script::endless();
    let running = Jobs::new(place.store.clone(), place.clock.clone(), "a")
        .settings(quick())
        .periodic_job(job.clone())
        .start()
        .unwrap();
    job.begun().reach(1).await;
    // Requests and the shutdown of a server share it.
    let running = Arc::new(running);
    let asker = Arc::clone(&running);
    let requested_run = tokio::spawn(async move { asker.run_now("script").await });
    let drained = tokio::spawn(async move { running.drain(Duration::from_millis(5)).await });
    assert_eq!(requested_run.await.unwrap().unwrap(), RunResult::Stopping);
    assert_eq!(drained.await.unwrap(), 1);
}

#[tokio::test]
async fn a_drained_feed_job_gives_its_shards_over_at_once() {
    let place = embedded().await;
    order(&place.store, 0..10).await;
    let start = |instance: &str, job: Count| {
        Jobs::new(place.store.clone(), place.clock.clone(), instance)
            .settings(quick())
            .feed_job(job)
            .start()
            .unwrap()
    };
    let a = start("a", Count::new());
    until(&a, "count", |status| status.last_items == Some(10)).await;
    assert_eq!(a.drain(Duration::from_secs(30)).await, 0);
    order(&place.store, 10..15).await;
    let b = start("b", Count::new());
    // The clock stands still, so the leases that a had are not over.
    until(&b, "count", |status| status.last_items == Some(5)).await;
}
