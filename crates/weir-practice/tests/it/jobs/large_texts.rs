//! Texts of jobs that do not fit into an item are in objects.

use weir_practice::Settings;
use weir_practice::jobs::{Completion, NewJob};
use weir_practice::kinds::JobStatus;
use weir_practice::objects::Objects;
use weir_practice::{Error, Practice};
use weir_testkit::watched::Strike;

use super::samples::{SCRIPT, new_script, script, worker};
use crate::problem_samples::noise;
use crate::scene::{NOW_MS, Scene};

scenes!(
    large_texts_are_read_back_whole,
    a_large_result_may_push_other_texts_out,
    a_job_submitted_twice_leaves_no_objects,
    a_submission_that_fails_leaves_nothing_for_long,
    without_object_storage_the_field_is_named,
);

const MIB: usize = 1024 * 1024;

fn large(id: &str) -> NewJob {
    let solution_code = Some(noise(MIB, 1));
    NewJob { solution_code, constraints: Some(noise(MIB, 2)), ..new_script(id) }
}

async fn large_texts_are_read_back_whole(scene: &Scene) {
    let practice = &scene.practice;
    let new = large("1");
    let submitted = practice.submit_job(SCRIPT, &new).await.unwrap().job;
    assert_eq!(submitted.solution_code, new.solution_code);
    assert_eq!(scene.object_names().await.len(), 2);
    let claimed = practice.claim_job(&script("1"), &worker("w")).await.unwrap();
    assert_eq!(claimed.job.constraints, new.constraints);
    let code = Some(noise(MIB, 3));
    let completion = Completion { generator_code: code.clone(), problem: None };
    for _ in 0..2 {
        let done = practice.complete_job(&script("1"), 1, &completion).await.unwrap();
        assert_eq!(
            (done.generator_code, done.solution_code),
            (code.clone(), new.solution_code.clone())
        );
    }
    let read = practice.job(&script("1")).await.unwrap();
    assert_eq!((read.generator_code, read.constraints), (code, new.constraints));
    assert_eq!(scene.object_names().await.len(), 3);
    // Nothing is swept that a job names.
    practice.sweep_objects(NOW_MS + 86_400_000, 100).await.unwrap();
    assert_eq!(scene.object_names().await.len(), 3);
}

async fn a_large_result_may_push_other_texts_out(scene: &Scene) {
    let practice = &scene.practice;
    let new = NewJob { solution_code: Some(noise(300 * 1024, 1)), ..new_script("1") };
    practice.submit_job(SCRIPT, &new).await.unwrap();
    assert_eq!(scene.object_names().await, [""; 0]);
    practice.claim_job(&script("1"), &worker("w")).await.unwrap();
    let code = Some(noise(200 * 1024, 2));
    let completion = Completion { generator_code: code.clone(), problem: None };
    practice.complete_job(&script("1"), 1, &completion).await.unwrap();
    let read = practice.job(&script("1")).await.unwrap();
    assert_eq!((read.generator_code, read.solution_code), (code, new.solution_code));
    assert_eq!(scene.object_names().await.len(), 1);
}

async fn a_job_submitted_twice_leaves_no_objects(scene: &Scene) {
    let practice = &scene.practice;
    assert!(practice.submit_job(SCRIPT, &large("1")).await.unwrap().is_new);
    let again = practice.submit_job(SCRIPT, &large("1")).await.unwrap();
    assert!(!again.is_new);
    assert_eq!(again.job.solution_code, large("1").solution_code);
    assert_eq!(scene.object_names().await.len(), 2);
    // A completion that loses its race stores nothing either.
    practice.claim_job(&script("1"), &worker("w")).await.unwrap();
    practice.cancel_job(&script("1"), "ann").await.unwrap();
    let completion = Completion { generator_code: Some(noise(MIB, 3)), problem: None };
    let late = practice.complete_job(&script("1"), 1, &completion).await.unwrap_err();
    assert!(matches!(late, Error::LeaseLost { .. }), "{late}");
    assert_eq!(scene.object_names().await.len(), 2);
}

async fn a_submission_that_fails_leaves_nothing_for_long(scene: &Scene) {
    let practice = &scene.practice;
    for skip in 0..2 {
        scene.watch.fail_once(skip, Strike::Before);
        practice.submit_job(SCRIPT, &large("1")).await.unwrap_err();
        scene.watch.cancel();
    }
    practice.sweep_objects(NOW_MS + 2 * 3_600_000, 100).await.unwrap();
    scene.assert_empty().await;
    practice.submit_job(SCRIPT, &large("1")).await.unwrap();
    assert_eq!(scene.status(&script("1")).await, JobStatus::Pending);
}

async fn without_object_storage_the_field_is_named(scene: &Scene) {
    let (store, clock) = (scene.store.clone(), scene.clock.clone());
    let none = Objects::unavailable();
    let practice = Practice::new(store, none, clock, Settings::default()).unwrap();
    let error = practice.submit_job(SCRIPT, &large("1")).await.unwrap_err().to_string();
    assert!(error.starts_with("solution_code: ") || error.starts_with("constraints: "), "{error}");
    assert_eq!(scene.items().await, 0);
}
