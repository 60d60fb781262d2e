//! One job on several instances.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use weir_api::server::JobState;
use weir_framework::jobs::{Done, JOBS_TABLE, Jobs, RunResult, Settings};
use weir_table::clock::Clock;
use weir_table::expr::set;
use weir_table::{Key, Query, Write};

use crate::places::{NOW_MS, Place, embedded, on_both, quick, soon, until};
use crate::scripts::Script;

on_both!(
    only_one_instance_runs_a_job_at_a_time,
    the_period_is_that_of_all_instances_together,
    a_job_of_a_killed_instance_is_taken_over_when_its_lease_is_over,
    a_drained_instance_gives_its_job_over_at_once,
);

fn jobs(place: &Place, instance: &str, settings: Settings) -> Jobs {
    Jobs::new(place.store.clone(), place.clock.clone(), instance).settings(settings)
}

async fn only_one_instance_runs_a_job_at_a_time(place: Place) {
    let inside = Arc::new(AtomicU64::new(0));
    let job = Script::new(move |_, _| {
        let inside = Arc::clone(&inside);
        async move {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two run at once");
            tokio::time::sleep(Duration::from_millis(1)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            Ok(Done::all(1))
        }
    });
    let job = job.every_ms(1);
    let mut running = Vec::new();
    for instance in ["a", "b", "c"] {
        let jobs = jobs(&place, instance, quick()).periodic_job(job.clone());
        running.push(jobs.start().unwrap());
    }
    job.begun().reach(40).await;
    for running in &running {
        running.drain(Duration::from_secs(10)).await;
    }
    let item = place.store.query(&Query::scan(JOBS_TABLE)).await.unwrap();
    let item = &item.items[0];
    assert_eq!(item.i64("runs"), i64::try_from(job.begun().count()).ok());
    assert_eq!(item.i64("failures"), Some(0));
    assert_eq!(item.get("owner"), None);
}

async fn the_period_is_that_of_all_instances_together(place: Place) {
    let job = Script::idle();
    let a = jobs(&place, "a", quick()).periodic_job(job.clone()).start();
    let a = a.unwrap();
    until(&a, "script", |status| status.runs == 1).await;
    let b = jobs(&place, "b", quick()).periodic_job(job.clone()).start();
    let b = b.unwrap();
    let status = until(&b, "script", |status| status.runs == 1).await;
    assert_eq!(status.last_items, Some(1), "b tells what a did");
    assert_eq!(job.begun().count(), 1);
    place.clock.advance_ms(3_600_000);
    // Both are woken, and one of them finds that the other was faster.
    a.wake("script").unwrap();
    b.wake("script").unwrap();
    job.begun().reach(2).await;
}

async fn a_job_of_a_killed_instance_is_taken_over_when_its_lease_is_over(place: Place) {
    let dying = Script::endless();
    let a = jobs(&place, "a", quick()).periodic_job(dying.clone()).start();
    dying.begun().reach(1).await;
    let heir = Script::idle();
    let b = jobs(&place, "b", quick()).periodic_job(heir.clone()).start();
    let b = b.unwrap();
    let status = until(&b, "script", |status| status.state == JobState::WaitingForLease).await;
    assert_eq!(status.leased_by.as_deref(), Some("a"));
    let ran = b.run_now("script").await.unwrap();
    assert_eq!(ran, RunResult::Elsewhere("a".into()));
    drop(a);
    place.clock.advance_ms(29_999);
    let ran = b.run_now("script").await.unwrap();
    assert_eq!(ran, RunResult::Elsewhere("a".into()));
    assert_eq!(heir.begun().count(), 0);
    place.clock.advance_ms(1);
    let status = until(&b, "script", |status| status.runs == 1).await;
    assert_eq!((status.state, status.leased_by), (JobState::Idle, None));
}

async fn a_drained_instance_gives_its_job_over_at_once(place: Place) {
    let slow = Script::endless();
    let a = jobs(&place, "a", quick()).periodic_job(slow.clone()).start();
    let a = a.unwrap();
    slow.begun().reach(1).await;
    let heir = Script::idle();
    let b = jobs(&place, "b", quick()).periodic_job(heir.clone()).start();
    let b = b.unwrap();
    until(&b, "script", |status| status.state == JobState::WaitingForLease).await;
    assert_eq!(a.drain(Duration::from_millis(5)).await, 1);
    // The clock stands still, so the lease that a had is not over.
    heir.begun().reach(1).await;
}

#[tokio::test]
async fn an_instance_that_comes_back_under_its_name_goes_on_at_once() {
    let place = embedded().await;
    let dying = Script::endless();
    let a = jobs(&place, "a", quick()).periodic_job(dying.clone()).start();
    dying.begun().reach(1).await;
    drop(a);
    let heir = Script::idle();
    let _a = jobs(&place, "a", quick()).periodic_job(heir.clone()).start();
    heir.begun().reach(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_renewed_while_a_long_run_goes_on() {
    let mut place = embedded().await;
    place.clock = Clock::System;
    let mut settings = quick();
    // Renewed every second: a machine that stands still for less loses nothing.
    settings.lease = Duration::from_secs(3);
    let job = Script::new(|_, run| async move {
        tokio::time::sleep(Duration::from_secs(4)).await;
        Ok(Done { detail: Some(run.stopping().to_string()), ..Done::default() })
    });
    let a = jobs(&place, "a", settings.clone()).periodic_job(job.clone());
    let a = a.start().unwrap();
    job.begun().reach(1).await;
    let other = Script::idle();
    let b = jobs(&place, "b", settings).periodic_job(other.clone()).start();
    let status = until(&a, "script", |status| status.runs == 1).await;
    assert_eq!(status.last_detail.as_deref(), Some("false"));
    assert_eq!(other.begun().count(), 0);
    drop(b);
}

#[tokio::test]
async fn a_run_whose_lease_is_lost_is_told_to_stop() {
    let place = embedded().await;
    let mut settings = quick();
    settings.lease = Duration::from_millis(900);
    let heeds = Script::new(|_, run| async move {
        while !run.stopping() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Done::all(3))
    });
    let a = jobs(&place, "a", settings).periodic_job(heeds.clone()).start();
    let a = a.unwrap();
    heeds.begun().reach(1).await;
    seize(&place).await;
    until(&a, "script", |status| status.state == JobState::WaitingForLease).await;
    assert_eq!(heeds.begun().count(), 1);
}

#[tokio::test]
async fn a_run_that_does_not_heed_the_loss_of_its_lease_is_dropped() {
    let place = embedded().await;
    let mut settings = quick();
    settings.lease = Duration::from_millis(900);
    let job = Script::endless();
    let a = jobs(&place, "a", settings).periodic_job(job.clone()).start();
    let a = a.unwrap();
    job.begun().reach(1).await;
    seize(&place).await;
    let status = until(&a, "script", |status| status.leased_by.as_deref() == Some("z")).await;
    assert_eq!(status.last_error.unwrap(), "the lease was lost during the run");
}

/// Another instance takes the job over.
async fn seize(place: &Place) {
    let key = Key::new("JOBS", "JOB#script");
    let taken = set("owner", "z")
        .set("fence", 999)
        .set("beat", 999)
        .set("lease_ms", 3_600_000)
        .set("lease_until_ms", NOW_MS + 3_600_000);
    let write = Write::update(JOBS_TABLE, key, taken);
    place.store.write(write).await.unwrap();
}

#[tokio::test]
async fn a_clock_set_back_does_not_keep_a_job_from_running() {
    let mut place = embedded().await;
    let mut settings = quick();
    settings.lease = Duration::from_millis(100);
    let dying = Script::endless();
    let a = jobs(&place, "a", settings.clone()).periodic_job(dying.clone());
    let a = a.start().unwrap();
    dying.begun().reach(1).await;
    drop(a);
    // Ten years ago the lease is far from over, and so is the wait for the second run.
    place.clock = Clock::manual(NOW_MS - 10 * 365 * 24 * 3_600_000);
    let heir = Script::idle().every_ms(50);
    let b = jobs(&place, "b", settings).periodic_job(heir.clone()).start();
    let b = b.unwrap();
    heir.begun().reach(1).await;
    until(&b, "script", |status| status.state == JobState::Idle).await;
    b.drain(Duration::from_secs(10)).await;
    place.clock = Clock::manual(NOW_MS - 20 * 365 * 24 * 3_600_000);
    let begun = heir.begun().count();
    let c = jobs(&place, "c", quick()).periodic_job(heir.clone()).start();
    soon("a run after the clock was set back", heir.begun().reach(begun + 1)).await;
    drop(c);
}
