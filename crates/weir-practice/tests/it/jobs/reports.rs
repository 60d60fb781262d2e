//! How jobs end: workers report, administrators cancel and retry.

use weir_practice::Error;
use weir_practice::audit::AuditAction;
use weir_practice::ids::{Platform, ProblemId, ProblemRef};
use weir_practice::jobs::{Claim, Completion};
use weir_practice::keys::List;
use weir_practice::kinds::JobStatus;
use weir_table::audit::EventRange;
use weir_testkit::watched::Strike;

use super::samples::{
    EXTRACTION, SCRIPT, at_once, generated, new_extraction, script, step, worker,
};
use crate::scene::Scene;

scenes!(
    a_worker_completes_its_job_once,
    a_failed_job_is_retried,
    a_cancelled_job_refuses_its_worker,
    an_extraction_names_its_problem,
    of_concurrent_ends_one_wins,
    a_lost_response_is_repeated,
    bad_reports_change_nothing,
);

async fn a_worker_completes_its_job_once(scene: &Scene) {
    let practice = &scene.practice;
    let job = scene.submit("1").await;
    let lease = practice.claim_job(&job, &worker("w")).await.unwrap().lease;
    scene.watch.reset();
    practice.heartbeat_job(&job, lease.fence, None).await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.gets, calls.writes, calls.transactions), (1, 1, 0));
    scene.watch.reset();
    let done = practice.complete_job(&job, lease.fence, &generated()).await.unwrap();
    let calls = scene.watch.calls();
    assert_eq!((calls.batch_gets, calls.transactions, calls.gets), (1, 1, 0));
    assert_eq!((done.summary.status, done.summary.lease.clone()), (JobStatus::Completed, None));
    assert_eq!(done.generator_code.as_deref(), Some("print(1, 2)"));
    assert_eq!(practice.job(&job).await.unwrap(), done);
    assert_eq!(practice.complete_job(&job, lease.fence, &generated()).await.unwrap(), done);

    for late in [
        practice.fail_job(&job, lease.fence, "late").await.unwrap_err(),
        practice.heartbeat_job(&job, lease.fence, None).await.unwrap_err(),
        practice.report_progress(&job, lease.fence, &step("late")).await.unwrap_err(),
        practice.claim_job(&job, &worker("w")).await.unwrap_err(),
        practice.retry_job(&job, "ann").await.unwrap_err(),
        practice.cancel_job(&job, "ann").await.unwrap_err(),
    ] {
        assert!(late.is_conflict(), "{late}");
    }
    assert_eq!(practice.job(&job).await.unwrap(), done);
}

async fn a_failed_job_is_retried(scene: &Scene) {
    let practice = &scene.practice;
    let job = scene.submit("1").await;
    for attempt in 1..=3 {
        let lease = practice.claim_job(&job, &worker("w")).await.unwrap().lease;
        assert_eq!(lease.fence, attempt);
        let failed = practice.fail_job(&job, lease.fence, "it broke").await.unwrap();
        assert_eq!(failed.summary.error_message.as_deref(), Some("it broke"));
        scene.watch.reset();
        let retried = practice.retry_job(&job, "ann").await.unwrap();
        assert_eq!((scene.watch.calls().batch_gets, scene.watch.calls().transactions), (1, 1));
        assert_eq!(retried.summary.status, JobStatus::Pending);
        assert_eq!((retried.summary.error_message, retried.summary.attempts), (None, 0));
        let late = practice.complete_job(&job, lease.fence, &generated()).await.unwrap_err();
        assert!(matches!(late, Error::LeaseLost { .. }), "{late}");
    }
    let range = EventRange::default();
    let events = practice.audit_events(Some("job script-generation/1"), &range).await.unwrap();
    let actions: Vec<_> = events.items.iter().map(|one| one.action).collect();
    assert_eq!(actions, [AuditAction::JobRetried; 3]);
}

async fn a_cancelled_job_refuses_its_worker(scene: &Scene) {
    let practice = &scene.practice;
    let (pending, claimed) = (scene.submit("1").await, scene.submit("2").await);
    let lease = practice.claim_job(&claimed, &worker("w")).await.unwrap().lease;
    for job in [&pending, &claimed] {
        let cancelled = practice.cancel_job(job, "ann").await.unwrap();
        assert_eq!(cancelled.summary.status, JobStatus::Cancelled);
        assert_eq!(practice.cancel_job(job, "ann").await.unwrap(), cancelled);
        assert!(practice.claim_job(job, &worker("w")).await.unwrap_err().is_conflict());
    }
    for late in [
        practice.heartbeat_job(&claimed, lease.fence, None).await.unwrap_err(),
        practice.report_progress(&claimed, lease.fence, &step("late")).await.unwrap_err(),
        practice.complete_job(&claimed, lease.fence, &generated()).await.unwrap_err(),
        practice.fail_job(&claimed, lease.fence, "late").await.unwrap_err(),
    ] {
        assert!(matches!(late, Error::LeaseLost { .. }), "{late}");
    }
    scene.listed(List::JobsOfStatus(SCRIPT, JobStatus::Cancelled), 2).await;
    scene.listed(List::JobLeases(SCRIPT), 0).await;
}

async fn an_extraction_names_its_problem(scene: &Scene) {
    let practice = &scene.practice;
    let job = practice.submit_job(EXTRACTION, &new_extraction()).await.unwrap().job.summary.job;
    let lease = practice.claim_job(&job, &worker("w")).await.unwrap().lease;
    let problem = ProblemRef {
        platform: Platform::new("baekjoon").unwrap(),
        id: ProblemId::new("1000").unwrap(),
    };
    let result = Completion { problem: Some(problem.clone()), generator_code: None };
    let done = practice.complete_job(&job, lease.fence, &result).await.unwrap().summary.fields;
    assert_eq!((done.platform, done.problem_id), (Some(problem.platform), Some(problem.id)));
}

async fn of_concurrent_ends_one_wins(scene: &Scene) {
    for round in 0..5 {
        let job = scene.submit(&round.to_string()).await;
        let fence = scene.practice.claim_job(&job, &worker("w")).await.unwrap().lease.fence;
        let ended = at_once(6, |number| {
            let (practice, job) = (scene.process(0).0, job.clone());
            async move {
                match number % 3 {
                    0 => practice.complete_job(&job, fence, &generated()).await,
                    1 => practice.fail_job(&job, fence, "it broke").await,
                    _ => practice.cancel_job(&job, "ann").await,
                }
            }
        })
        .await;
        let status = scene.status(&job).await;
        assert_ne!(status, JobStatus::Processing);
        for one in ended {
            match one {
                Ok(job) => assert_eq!(job.summary.status, status),
                Err(error) => assert!(error.is_conflict(), "{error}"),
            }
        }
    }
}

async fn a_lost_response_is_repeated(scene: &Scene) {
    let practice = &scene.practice;
    let job = scene.submit("1").await;
    let fence = practice.claim_job(&job, &worker("w")).await.unwrap().lease.fence;
    scene.watch.fail_once(1, Strike::After);
    let lost = practice.complete_job(&job, fence, &generated()).await.unwrap_err();
    assert!(lost.is_unavailable(), "{lost}");
    let done = practice.complete_job(&job, fence, &generated()).await.unwrap();
    assert_eq!(done.summary.status, JobStatus::Completed);
}

async fn bad_reports_change_nothing(scene: &Scene) {
    let practice = &scene.practice;
    let missing = script("missing");
    for error in [
        practice.job(&missing).await.unwrap_err(),
        practice.claim_job(&missing, &worker("w")).await.unwrap_err(),
        practice.heartbeat_job(&missing, 1, None).await.unwrap_err(),
        practice.complete_job(&missing, 1, &generated()).await.unwrap_err(),
        practice.cancel_job(&missing, "ann").await.unwrap_err(),
        practice.report_progress(&missing, 1, &step("x")).await.unwrap_err(),
    ] {
        assert!(error.is_not_found(), "{error}");
    }
    let job = scene.submit("1").await;
    for error in [
        practice.heartbeat_job(&job, 0, None).await.unwrap_err(),
        practice.complete_job(&job, 0, &generated()).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::LeaseLost { .. }), "{error}");
    }
    for lease_ms in [0, 999, 3_600_001] {
        let claim = Claim { lease_ms: Some(lease_ms), ..worker("w") };
        let error = practice.claim_job(&job, &claim).await.unwrap_err();
        assert!(error.to_string().starts_with("lease_ms"), "{error}");
    }
    let fence = practice.claim_job(&job, &worker("w")).await.unwrap().lease.fence;
    let before = practice.job(&job).await.unwrap();
    let large = Completion { generator_code: Some("x".repeat(1_048_577)), problem: None };
    for (error, field) in [
        (practice.complete_job(&job, fence, &large).await.unwrap_err(), "generator_code"),
        (
            practice.complete_job(&job, fence, &Completion::default()).await.unwrap_err(),
            "generator_code",
        ),
        (practice.fail_job(&job, fence, " ").await.unwrap_err(), "error_message"),
        (practice.fail_job(&job, fence, &"x".repeat(70_000)).await.unwrap_err(), "error_message"),
        (practice.heartbeat_job(&job, fence, Some(1)).await.unwrap_err(), "lease_ms"),
        (practice.report_progress(&job, fence, &step("")).await.unwrap_err(), "step"),
        (practice.cancel_job(&job, "").await.unwrap_err(), "actor"),
    ] {
        assert!(error.to_string().starts_with(field), "{error}");
    }
    assert_eq!(practice.job(&job).await.unwrap(), before);
}
