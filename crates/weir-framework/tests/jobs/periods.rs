//! When a job runs: its period, retries, panics, deadlines, more to do, wake and run now.

use std::time::Duration;

use weir_api::server::{JobOutcome, JobState};
use weir_framework::jobs::{Done, Jobs, RunResult};
use weir_framework::time::rfc3339;

use crate::places::{Place, embedded, quick, status, until};
use crate::scripts::{Count, Script, failure};

fn jobs(place: &Place, instance: &str) -> Jobs {
    Jobs::new(place.store.clone(), place.clock.clone(), instance).settings(quick())
}

#[tokio::test]
async fn a_job_runs_again_after_its_period() {
    for job in [Script::idle(), Script::idle().everywhere()] {
        let place = embedded().await;
        let job = job.every_ms(3);
        let running = jobs(&place, "a").periodic_job(job.clone()).start().unwrap();
        job.begun().reach(5).await;
        let status = until(&running, "script", |status| status.runs >= 5).await;
        assert_eq!(status.failures, 0);
        assert_eq!(status.last_outcome, Some(JobOutcome::Ok));
        assert_eq!(status.last_items, Some(1));
        assert_eq!(status.last_finished_at, Some(rfc3339(place.clock.now_ms())));
    }
}

#[tokio::test]
async fn a_failed_run_is_tried_again_long_before_the_period_is_over() {
    let act = |round, _| async move {
        if round < 4 {
            return Err(failure());
        }
        Ok(Done::all(round))
    };
    for job in [Script::new(act), Script::new(act).everywhere()] {
        let place = embedded().await;
        let running = jobs(&place, "a").periodic_job(job).start().unwrap();
        let status = until(&running, "script", |status| status.runs == 4).await;
        assert_eq!((status.failures, status.last_items), (3, Some(4)));
        assert_eq!(status.last_error, None);
    }
}

#[tokio::test]
async fn a_failed_job_says_why_until_it_runs_again() {
    let place = embedded().await;
    let mut settings = quick();
    settings.backoff_first = Duration::from_secs(3600);
    settings.backoff_max = Duration::from_secs(3600);
    let job = Script::new(|round, _| async move {
        match round {
            1 => Err(failure()),
            _ => Ok(Done::all(0)),
        }
    });
    let running = jobs(&place, "a").settings(settings).periodic_job(job).start().unwrap();
    let status = until(&running, "script", |status| status.state == JobState::Failed).await;
    assert_eq!(status.last_error.as_deref(), Some("the wind has turned"));
    assert_eq!((status.runs, status.failures), (1, 1));
    assert_eq!(status.last_outcome, Some(JobOutcome::Failed));
    let ran = running.run_now("script").await.unwrap();
    assert_eq!(ran, RunResult::Done(Done::all(0)));
    let status = until(&running, "script", |status| status.state == JobState::Idle).await;
    assert_eq!((status.runs, status.failures), (2, 1));
}

#[tokio::test]
async fn a_panic_is_a_failed_run_and_the_job_goes_on() {
    let act = |round, _| async move {
        assert!(round > 2, "this panic is part of a test");
        Ok(Done::all(0))
    };
    for job in [Script::new(act), Script::new(act).everywhere()] {
        let place = embedded().await;
        let running = jobs(&place, "a").periodic_job(job).start().unwrap();
        let status = until(&running, "script", |status| status.runs == 3).await;
        assert_eq!(status.failures, 2);
    }
}

#[tokio::test]
async fn a_run_past_its_deadline_is_dropped() {
    let act = |round, _| async move {
        if round == 1 {
            std::future::pending::<()>().await;
        }
        Ok(Done::all(0))
    };
    for job in [Script::new(act), Script::new(act).everywhere()] {
        let place = embedded().await;
        let job = job.deadline_ms(20);
        let running = jobs(&place, "a").periodic_job(job).start().unwrap();
        let status = until(&running, "script", |status| status.runs == 2).await;
        assert_eq!(status.failures, 1);
    }
}

#[tokio::test]
async fn a_job_with_more_to_do_goes_on_at_once() {
    let act = |round, _| async move {
        Ok(Done { items: 10, more: round < 8, detail: Some(format!("round {round}")) })
    };
    for job in [Script::new(act), Script::new(act).everywhere()] {
        let place = embedded().await;
        let mut settings = quick();
        settings.rounds_max = 3;
        let jobs = jobs(&place, "a").settings(settings);
        let running = jobs.periodic_job(job.clone()).start().unwrap();
        let status = until(&running, "script", |status| status.runs == 3).await;
        assert_eq!(status.last_items, Some(20), "of the last two rounds");
        assert_eq!(status.last_detail.as_deref(), Some("round 8"));
        assert_eq!(job.begun().count(), 8);
    }
}

#[tokio::test]
async fn a_woken_job_runs_before_it_is_due() {
    for job in [Script::idle(), Script::idle().everywhere()] {
        let place = embedded().await;
        let running = jobs(&place, "a").periodic_job(job.clone()).start().unwrap();
        until(&running, "script", |status| status.runs == 1).await;
        running.wake("script").unwrap();
        job.begun().reach(2).await;
    }
}

#[tokio::test]
async fn a_run_that_is_asked_for_tells_its_result() {
    let act = |round, _| async move {
        match round {
            3 => Err(failure()),
            round => Ok(Done::all(round)),
        }
    };
    for job in [Script::new(act), Script::new(act).everywhere()] {
        let place = embedded().await;
        let running = jobs(&place, "a").periodic_job(job.clone()).start().unwrap();
        until(&running, "script", |status| status.runs == 1).await;
        let ran = running.run_now("script").await.unwrap();
        assert_eq!(ran, RunResult::Done(Done::all(2)));
        let ran = running.run_now("script").await.unwrap();
        assert_eq!(ran, RunResult::Failed(failure()));
        let error = running.run_now("other").await.unwrap_err();
        assert_eq!(error.to_string(), "job: \"other\" not found");
    }
}

#[tokio::test]
async fn a_job_is_overdue_from_when_it_was_due() {
    let place = embedded().await;
    let job = Script::idle().every_ms(100_000);
    let running = jobs(&place, "a").periodic_job(job).start().unwrap();
    let status = until(&running, "script", |status| status.runs == 1).await;
    assert_eq!((status.lag_ms, status.every_secs), (0, 100));
    place.clock.advance_ms(160_000);
    assert_eq!(status_of(&running).lag_ms, 60_000);
}

fn status_of(running: &weir_framework::jobs::Running) -> weir_api::server::Job {
    status(running, "script")
}

#[tokio::test]
async fn a_job_with_no_period_to_speak_of_runs_when_asked() {
    let place = embedded().await;
    let job = Script::idle().every_ms(u64::MAX);
    let running = jobs(&place, "a").periodic_job(job.clone()).start().unwrap();
    until(&running, "script", |status| status.runs == 1).await;
    let ran = running.run_now("script").await.unwrap();
    assert_eq!(ran, RunResult::Done(Done::all(1)));
    assert_eq!(job.begun().count(), 2);
}

#[tokio::test]
async fn a_job_that_needs_no_lease_runs_on_every_instance() {
    let place = embedded().await;
    let (a, b) = (Script::idle().everywhere(), Script::idle().everywhere());
    let _a = jobs(&place, "a").periodic_job(a.clone()).start().unwrap();
    let _b = jobs(&place, "b").periodic_job(b.clone()).start().unwrap();
    a.begun().reach(1).await;
    b.begun().reach(1).await;
}

#[tokio::test]
async fn jobs_that_cannot_be_run_are_refused() {
    let place = embedded().await;
    let start = |jobs: Jobs| jobs.start().err().unwrap().to_string();
    let twice = jobs(&place, "a").periodic_job(Script::idle());
    assert_eq!(start(twice.periodic_job(Script::idle())), "job: there are two named \"script\"");
    let never = jobs(&place, "a").periodic_job(Script::idle().every_ms(0));
    assert_eq!(start(never), "every: of the job \"script\" is zero");
    let nobody = jobs(&place, "").feed_job(Count::new());
    assert_eq!(start(nobody), "instance_id: has 1 to 255 bytes");
}

#[tokio::test]
async fn a_store_without_the_table_fails_the_run_and_nothing_else() {
    let place = embedded().await;
    place.store.delete_table("weir-jobs").await.unwrap();
    let job = Script::idle();
    let running = jobs(&place, "a").periodic_job(job.clone()).start().unwrap();
    let status = until(&running, "script", |status| status.state == JobState::Failed).await;
    assert!(status.last_error.unwrap().contains("weir-jobs"));
    assert_eq!(job.begun().count(), 0);
    let spec = weir_framework::jobs::table_spec();
    place.store.create_table(&spec).await.unwrap();
    until(&running, "script", |status| status.state == JobState::Idle).await;
}
