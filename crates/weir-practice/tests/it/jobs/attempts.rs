//! A job whose workers die again and again fails.

use weir_practice::jobs::JobRef;
use weir_practice::keys::List;
use weir_practice::kinds::JobStatus;
use weir_practice::{Error, Practice, Settings};
use weir_table::clock::Clock;

use super::samples::{LEASE_MS, SCRIPT, generated, worker};
use crate::scene::{Scene, Watched};

scenes!(
    a_job_whose_workers_die_fails_in_the_end,
    the_number_of_attempts_can_be_configured,
    a_job_fails_although_nobody_asks_for_it,
    a_retry_counts_anew_and_fencing_numbers_grow,
    a_worker_that_lives_keeps_its_last_attempt,
);

/// Lets the lease of a job end, as this process sees it. Returns whether it claims the job then.
async fn outlive(practice: &Practice<Watched>, clock: &Clock, job: &JobRef) -> Result<u64, Error> {
    for _ in 0..2 {
        practice.claim_job(job, &worker("next")).await.unwrap_err();
        clock.advance_ms(LEASE_MS / 2);
    }
    practice.claim_job(job, &worker("next")).await.map(|claimed| claimed.lease.fence)
}

async fn exhaust(practice: &Practice<Watched>, clock: &Clock, job: &JobRef, attempts: u64) {
    let first = practice.claim_job(job, &worker("first")).await.unwrap().lease.fence;
    for attempt in 1..attempts {
        assert_eq!(outlive(practice, clock, job).await.unwrap(), first + attempt);
    }
}

async fn a_job_whose_workers_die_fails_in_the_end(scene: &Scene) {
    let job = scene.submit("1").await;
    exhaust(&scene.practice, &scene.clock, &job, 5).await;
    assert_eq!(scene.practice.job(&job).await.unwrap().summary.attempts, 5);
    let error = outlive(&scene.practice, &scene.clock, &job).await.unwrap_err();
    assert!(error.to_string().contains("the job is FAILED"), "{error}");
    let failed = scene.practice.job(&job).await.unwrap().summary;
    assert_eq!((failed.status, failed.lease), (JobStatus::Failed, None));
    let message = failed.error_message.unwrap();
    assert!(message.starts_with("the job was claimed 5 times"), "{message}");
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Failed), 1).await;
    scene.listed(List::JobLeases(SCRIPT), 0).await;
    // The last worker comes back too late.
    let late = scene.practice.complete_job(&job, 5, &generated()).await.unwrap_err();
    assert!(matches!(late, Error::LeaseLost { .. }), "{late}");
}

async fn the_number_of_attempts_can_be_configured(scene: &Scene) {
    let settings = Settings { job_attempts_max: 1, ..Settings::default() };
    let (practice, clock) = scene.process_with(0, settings);
    let job = scene.submit("1").await;
    exhaust(&practice, &clock, &job, 1).await;
    outlive(&practice, &clock, &job).await.unwrap_err();
    assert_eq!(scene.status(&job).await, JobStatus::Failed);
}

async fn a_job_fails_although_nobody_asks_for_it(scene: &Scene) {
    let settings = Settings { job_attempts_max: 2, ..Settings::default() };
    let (practice, clock) = scene.process_with(0, settings);
    let job = scene.submit("1").await;
    exhaust(&practice, &clock, &job, 2).await;
    scene.listed(List::JobLeases(SCRIPT), 1).await;
    for _ in 0..3 {
        practice.observe_leases(SCRIPT).await.unwrap();
        clock.advance_ms(LEASE_MS / 2);
    }
    assert_eq!(scene.status(&job).await, JobStatus::Failed);
    assert_eq!(practice.observe_leases(SCRIPT).await.unwrap(), 0);
    assert_eq!(practice.claim_next_job(SCRIPT, &worker("w")).await.unwrap(), None);
}

async fn a_retry_counts_anew_and_fencing_numbers_grow(scene: &Scene) {
    let job = scene.submit("1").await;
    for round in 0..2 {
        exhaust(&scene.practice, &scene.clock, &job, 5).await;
        outlive(&scene.practice, &scene.clock, &job).await.unwrap_err();
        let retried = scene.practice.retry_job(&job, "ann").await.unwrap().summary;
        assert_eq!((retried.status, retried.attempts), (JobStatus::Pending, 0), "{round}");
    }
    let claimed = scene.practice.claim_job(&job, &worker("w")).await.unwrap();
    assert_eq!((claimed.lease.fence, claimed.job.summary.attempts), (11, 1));
    scene.practice.complete_job(&job, 11, &generated()).await.unwrap();
}

async fn a_worker_that_lives_keeps_its_last_attempt(scene: &Scene) {
    let job = scene.submit("1").await;
    exhaust(&scene.practice, &scene.clock, &job, 5).await;
    let (other, clock) = scene.process(0);
    for _ in 0..2 {
        other.claim_job(&job, &worker("b")).await.unwrap_err();
        clock.advance_ms(LEASE_MS / 2);
    }
    // It has seen that the lease is over, and is held back until a heartbeat has come.
    let hold = scene.watch.hold();
    let late = async { other.claim_job(&job, &worker("b")).await };
    let beat = async {
        hold.is_held().await;
        scene.practice.heartbeat_job(&job, 5, None).await.unwrap();
        hold.go_on();
    };
    let (late, ()) = tokio::join!(late, beat);
    late.unwrap_err();
    assert_eq!(scene.status(&job).await, JobStatus::Processing);
    scene.practice.complete_job(&job, 5, &generated()).await.unwrap();
}
