//! Who reaches what: two users, a worker and a reader.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::{Scene, path};

async fn send(scene: &Scene, token: &str, method: Method, tail: &str, body: &Value) -> Reply {
    let call = scene.app.request(method, &path(tail)).bearer(token);
    if body.is_null() { call.send().await } else { call.json(body).send().await }
}

/// Requests about a user that the token of that user may send.
fn own(id: &str) -> Vec<(Method, String, Value)> {
    vec![
        (Method::POST, format!("users/{id}/usage"), json!({"action": "hint"})),
        (Method::GET, format!("users/{id}/usage"), Value::Null),
        (Method::GET, format!("users/{id}/usage?date=2026-01-15"), Value::Null),
        (Method::GET, format!("users/{id}/usage/log"), Value::Null),
    ]
}

/// Requests that only administrators may send, and readers if they are safe.
fn administrative(id: &str) -> Vec<(Method, String, Value)> {
    let user = json!({"email": "new@example.com", "name": "New"});
    let plan = json!({"name": "New", "max_hints_per_day": 1, "max_executions_per_day": 1});
    let get = |tail: String| (Method::GET, tail, Value::Null);
    vec![
        get("users".into()),
        get("users?email=ann@example.com".into()),
        get("users?google_id=1".into()),
        get("users?plan=1".into()),
        get(format!("users/{id}")),
        get("plans".into()),
        get("plans/1".into()),
        get("stats".into()),
        get("clock".into()),
        get("audit".into()),
        (Method::POST, "users".into(), user),
        (Method::PATCH, format!("users/{id}"), json!({"name": "Other"})),
        (Method::POST, format!("users/{id}/deactivate"), Value::Null),
        (Method::POST, format!("users/{id}/reactivate"), Value::Null),
        (Method::PUT, format!("users/{id}/plan"), json!({"plan_id": 2})),
        (Method::POST, format!("users/{id}/usage/recount"), json!({"date": "2026-01-15"})),
        (Method::POST, "stats/verify".into(), json!({"date": "2026-01-15"})),
        (Method::POST, "plans".into(), plan.clone()),
        (Method::PUT, "plans/1".into(), plan),
        (Method::DELETE, format!("users/{id}"), Value::Null),
        (Method::DELETE, "plans/3".into(), Value::Null),
    ]
}

#[tokio::test]
async fn a_users_token_reaches_that_user_and_nobody_else() {
    let scene = Scene::start().await;
    let (ann, ben) = (scene.user("ann", 1).await, scene.user("ben", 1).await);
    let body = json!({"action": "hint", "metadata": {"secret": "of ben"}});
    scene.done(Method::POST, &format!("users/{ben}/usage"), &body).await;
    let before = scene.stored().await;
    let token = scene.app.token(&format!("practice:user:{ann}")).await;
    for (number, (method, tail, body)) in own(&ben).into_iter().enumerate() {
        let theirs = send(&scene, &token, method.clone(), &tail, &body).await;
        let (_, tail, _) = own("nobody").swap_remove(number);
        let nobody = send(&scene, &token, method, &tail, &body).await;
        let shown = |reply: &Reply| reply.problem(Code::NOT_FOUND).detail;
        assert_eq!(shown(&theirs).replace(&ben, "nobody"), shown(&nobody), "{tail}");
    }
    // A body is not even read.
    let wrong = send(&scene, &token, Method::POST, &format!("users/{ben}/usage"), &json!({})).await;
    wrong.problem(Code::NOT_FOUND);
    for id in [&ann, &ben] {
        for (method, tail, body) in administrative(id) {
            let reply = send(&scene, &token, method, &tail, &body).await;
            reply.problem(Code::FORBIDDEN);
        }
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
    for (method, tail, body) in own(&ann) {
        let reply = send(&scene, &token, method, &tail, &body).await;
        assert_eq!(reply.status, 200, "{tail}: {}", reply.text());
    }
    let task = json!({"status": "SUCCESS"});
    send(&scene, &token, Method::PUT, "tasks/t", &task).await.problem(Code::FORBIDDEN);
    send(&scene, &token, Method::GET, "tasks/t", &Value::Null).await.problem(Code::FORBIDDEN);
}

#[tokio::test]
async fn a_users_reader_takes_nothing() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let token = scene.app.token(&format!("practice:user:{ann}:read")).await;
    for (method, tail, body) in own(&ann) {
        let expected = if method.is_safe() { 200 } else { 403 };
        let reply = send(&scene, &token, method, &tail, &body).await;
        assert_eq!(reply.status, expected, "{tail}: {}", reply.text());
    }
}

#[tokio::test]
async fn an_administrator_does_everything_and_a_reader_reads() {
    for (scope, reads_only) in [("practice", false), ("practice:read", true)] {
        let scene = Scene::start().await;
        let ann = scene.user("ann", 2).await;
        let token = scene.app.token(scope).await;
        for (method, tail, body) in own(&ann).into_iter().chain(administrative(&ann)) {
            let reply = send(&scene, &token, method.clone(), &tail, &body).await;
            let is_allowed = method.is_safe() || !reads_only;
            let is_done = (200..300).contains(&reply.status);
            assert_eq!(is_done, is_allowed, "{scope} {method} {tail}: {}", reply.text());
            assert!(is_done || reply.status == 403, "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn a_worker_stores_results_of_tasks_and_reads_nobody() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let token = scene.app.token("practice:worker").await;
    let task = json!({"status": "SUCCESS", "result": 1});
    assert_eq!(send(&scene, &token, Method::PUT, "tasks/t", &task).await.status, 200);
    assert_eq!(send(&scene, &token, Method::GET, "tasks/t", &Value::Null).await.status, 200);
    for (method, tail, body) in own(&ann).into_iter().chain(administrative(&ann)) {
        send(&scene, &token, method, &tail, &body).await.problem(Code::FORBIDDEN);
    }
}
