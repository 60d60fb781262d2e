//! Results of tasks.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::Scene;

#[tokio::test]
async fn a_result_is_stored_until_it_expires() {
    let scene = Scene::start().await;
    scene.get("tasks/t-1").await.problem(Code::NOT_FOUND);
    scene.done(Method::PUT, "tasks/t-1", &json!({"status": "STARTED"})).await;
    for result in [json!({"a": [1, 2.5, null]}), json!("text"), json!(7), json!([true])] {
        let body = json!({"status": "SUCCESS", "result": result, "traceback": "none"});
        let stored = scene.done(Method::PUT, "tasks/t-1", &body).await;
        let expected = json!({"id": "t-1", "status": "SUCCESS", "result": result, "traceback": "none",
            "created_at": "2026-01-15T12:00:00.000Z", "updated_at": "2026-01-15T12:00:00.000Z",
            "expires_at": "2026-02-14T12:00:00.000Z"});
        assert_eq!(stored, expected);
        assert_eq!(scene.read("tasks/t-1").await, expected);
    }
    let late = scene.send(Method::PUT, "tasks/t-1", &json!({"status": "STARTED"})).await;
    late.problem(Code::STATE_CONFLICT);
    scene.app.clock.advance_ms(31 * 86_400_000);
    scene.get("tasks/t-1").await.problem(Code::NOT_FOUND);
    let again = scene.done(Method::PUT, "tasks/t-1", &json!({"status": "STARTED"})).await;
    assert_eq!(again["result"], Value::Null);
}

#[tokio::test]
async fn a_result_that_is_too_large_is_refused_by_name() {
    let scene = Scene::start().await;
    for (field, body) in [
        ("result", json!({"status": "SUCCESS", "result": "x".repeat(400_000)})),
        ("traceback", json!({"status": "FAILURE", "traceback": "x".repeat(70_000)})),
    ] {
        let reply = scene.send(Method::PUT, "tasks/t-1", &body).await;
        assert_eq!(reply.problem(Code::PAYLOAD_TOO_LARGE).details["field"], field);
    }
    scene.get("tasks/t-1").await.problem(Code::NOT_FOUND);
}
