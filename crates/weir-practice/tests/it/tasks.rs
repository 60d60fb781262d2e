//! Results of tasks.

use weir_practice::Error;
use weir_practice::ids::TaskId;
use weir_practice::tasks::{NewTaskResult, TaskStatus};
use weir_table::Value;

use crate::scene::{NOW_MS, Scene};

scenes!(
    the_last_result_wins_until_the_task_has_ended,
    a_result_expires_after_30_days,
    a_result_of_the_source_is_read,
    bad_results_name_their_field,
);

pub(crate) fn task() -> TaskId {
    TaskId::new("6c3d2f6e-1c1b-4c0e-9f57-0d6f2a9d1c55").unwrap()
}

pub(crate) fn result(status: &str) -> NewTaskResult {
    let result = Some(Value::map([("of", status)]));
    NewTaskResult { status: TaskStatus::new(status).unwrap(), result, traceback: None }
}

async fn the_last_result_wins_until_the_task_has_ended(scene: &Scene) {
    let practice = &scene.practice;
    assert!(practice.task_result(&task()).await.unwrap_err().is_not_found());
    for status in ["PENDING", "STARTED", "PROGRESS", "RETRY", "STARTED"] {
        practice.put_task_result(&task(), &result(status)).await.unwrap();
    }
    scene.clock.advance_ms(5_000);
    let failed = practice.put_task_result(&task(), &result("FAILURE")).await.unwrap();
    assert_eq!((failed.created_s, failed.updated_s), (NOW_MS / 1000, NOW_MS / 1000 + 5));

    let late = practice.put_task_result(&task(), &result("STARTED")).await.unwrap_err();
    assert!(matches!(late, Error::Conflict(_)), "{late}");
    assert_eq!(practice.task_result(&task()).await.unwrap(), failed);
    scene.watch.reset();
    practice.put_task_result(&task(), &result("SUCCESS")).await.unwrap();
    assert_eq!((scene.watch.calls().writes, scene.watch.take_reads()), (1, 0));
    let found = practice.task_result(&task()).await.unwrap();
    assert_eq!(scene.watch.take_reads(), 1);
    assert_eq!(found.result, Some(Value::map([("of", "SUCCESS")])));
}

async fn a_result_expires_after_30_days(scene: &Scene) {
    let practice = &scene.practice;
    let stored = practice.put_task_result(&task(), &result("SUCCESS")).await.unwrap();
    assert_eq!(stored.expires_s, Some(NOW_MS / 1000 + 30 * 86_400));
    scene.clock.advance_ms(30 * 86_400_000 - 1);
    practice.task_result(&task()).await.unwrap();
    scene.clock.advance_ms(1);
    assert!(practice.task_result(&task()).await.unwrap_err().is_not_found());
    // An expired result does not keep a new task with the same id from its states.
    practice.put_task_result(&task(), &result("PENDING")).await.unwrap();
    assert_eq!(practice.task_result(&task()).await.unwrap().status.as_str(), "PENDING");
}

async fn a_result_of_the_source_is_read(scene: &Scene) {
    let dat = Value::map([("sts", Value::from("SUCCESS")), ("res", Value::Null)]);
    let theirs = weir_table::Item::new()
        .with("PK", "TRES#t-1")
        .with("SK", "META")
        .with("tp", "tres")
        .with("dat", dat)
        .with("crt", 5);
    let write = weir_table::Write::put(scene.practice.table().clone(), theirs);
    scene.practice.write(write).await.unwrap();
    let found = scene.practice.task_result(&TaskId::new("t-1").unwrap()).await.unwrap();
    assert_eq!((found.result, found.created_s, found.expires_s), (None, 5, None));
}

async fn bad_results_name_their_field(scene: &Scene) {
    TaskStatus::new("done").unwrap_err();
    let deep = (0..40).fold(Value::from(1), |value, _| Value::list([value]));
    for (wrong, field) in [
        (NewTaskResult { traceback: Some("x".repeat(70_000)), ..result("FAILURE") }, "traceback"),
        (NewTaskResult { result: Some("x".repeat(300_000).into()), ..result("SUCCESS") }, "result"),
        (NewTaskResult { result: Some(deep), ..result("SUCCESS") }, "result"),
    ] {
        let error = scene.practice.put_task_result(&task(), &wrong).await.unwrap_err();
        assert!(error.to_string().starts_with(field), "{error}");
    }
    let levels = |n| (1..n).fold(Value::from(1), |value, _| Value::list([value]));
    let deepest = NewTaskResult { result: Some(levels(30)), ..result("SUCCESS") };
    assert_eq!(scene.watch.calls().writes, 0);
    scene.practice.put_task_result(&task(), &deepest).await.unwrap();
}
