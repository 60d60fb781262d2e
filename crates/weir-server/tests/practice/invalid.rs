//! Bad input: the error names the field, and nothing is written.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::Scene;

/// A good body with one field changed.
fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

/// Wrong bodies of a route, each with the field that its error names.
type Cases = Vec<(&'static str, Value)>;

fn users() -> Cases {
    let good = || json!({"email": "ann@example.com", "name": "Ann"});
    vec![
        ("email", with(good(), "email", json!("ann"))),
        ("email", with(good(), "email", json!("a#b@c"))),
        ("email", with(good(), "email", json!(7))),
        ("email", with(good(), "email", Value::Null)),
        ("email", json!({"name": "Ann"})),
        ("name", with(good(), "name", json!(" "))),
        ("name", with(good(), "name", json!("a\nb"))),
        ("name", with(good(), "name", json!("x".repeat(201)))),
        ("picture_url", with(good(), "picture_url", json!("ftp://x"))),
        ("google_id", with(good(), "google_id", json!("a@b"))),
        ("google_id", with(good(), "google_id", json!(""))),
        ("plan_id", with(good(), "plan_id", json!(0))),
        ("plan_id", with(good(), "plan_id", json!(-1))),
        ("plan_id", with(good(), "plan_id", json!(1_u64 << 53))),
        ("plan_id", with(good(), "plan_id", json!(1e30))),
        ("is_staff", with(good(), "is_staff", json!("yes"))),
        ("is_active", with(good(), "is_active", json!(false))),
    ]
}

fn patches() -> Cases {
    vec![
        ("email", json!({"email": "ann"})),
        ("name", json!({"name": ""})),
        ("picture_url", json!({"picture_url": "x"})),
        ("google_id", json!({"google_id": "a/b"})),
        ("plan_id", json!({"plan_id": 2})),
        ("id", json!({"id": "7"})),
    ]
}

fn plans() -> Cases {
    let good = || json!({"name": "Team", "max_hints_per_day": 1, "max_executions_per_day": 1});
    let limit = |field: &'static str| {
        [json!(-2), json!(1_000_000_001), json!(1e40), json!(1.5), json!("5"), Value::Null]
            .map(|value| (field, with(good(), field, value)))
    };
    let mut cases = vec![
        ("name", with(good(), "name", json!(""))),
        ("description", with(good(), "description", json!(5))),
        ("can_register_problems", with(good(), "can_register_problems", json!(1))),
        ("id", with(good(), "id", json!(9))),
        ("max_hints_per_day", json!({"name": "Team", "max_executions_per_day": 1})),
    ];
    cases.extend(limit("max_hints_per_day"));
    cases.extend(limit("max_executions_per_day"));
    cases.extend(limit("max_problems"));
    cases
}

fn usage() -> Cases {
    let good = || json!({"action": "hint"});
    let deep = (0..20).fold(Value::Null, |inner, _| json!({"a": inner}));
    vec![
        ("action", json!({})),
        ("action", json!({"action": "sleep"})),
        ("problem_id", with(good(), "problem_id", json!("a/b"))),
        ("problem_id", with(good(), "problem_id", json!(""))),
        ("metadata", with(good(), "metadata", json!([1]))),
        ("metadata", with(good(), "metadata", json!("x"))),
        ("metadata", with(good(), "metadata", json!({"a": 1e200}))),
        ("metadata", with(good(), "metadata", deep)),
        ("idempotency_key", with(good(), "idempotency_key", json!(""))),
        ("idempotency_key", with(good(), "idempotency_key", json!("x".repeat(256)))),
        ("idempotency_key", with(good(), "idempotency_key", json!("a\tb"))),
        ("count", with(good(), "count", json!(5))),
    ]
}

#[tokio::test]
async fn a_wrong_body_is_refused_with_its_field_and_not_written() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let before = scene.stored().await;
    let recounts: Cases = vec![
        ("date", json!({})),
        ("date", json!({"date": "2026-02-30"})),
        ("date", json!({"date": "today"})),
        ("day", json!({"date": "2026-01-15", "day": 1})),
    ];
    let tasks: Cases = vec![
        ("status", json!({})),
        ("status", json!({"status": "done"})),
        ("status", json!({"status": ""})),
        ("result", json!({"status": "SUCCESS", "result": 1e200})),
        ("id", json!({"status": "SUCCESS", "id": "x"})),
    ];
    let moves: Cases = vec![
        ("plan_id", json!({})),
        ("plan_id", json!({"plan_id": -1})),
        ("plan_id", json!({"plan_id": "1"})),
        ("plan", json!({"plan_id": 1, "plan": 2})),
    ];
    for (method, tail, cases) in [
        (Method::POST, "users".to_owned(), users()),
        (Method::PATCH, format!("users/{ann}"), patches()),
        (Method::PUT, format!("users/{ann}/plan"), moves),
        (Method::POST, format!("users/{ann}/usage"), usage()),
        (Method::POST, format!("users/{ann}/usage/recount"), recounts.clone()),
        (Method::POST, "stats/verify".to_owned(), recounts),
        (Method::POST, "plans".to_owned(), plans()),
        (Method::PUT, "plans/1".to_owned(), plans()),
        (Method::PUT, "tasks/t".to_owned(), tasks),
    ] {
        for (field, body) in cases {
            let reply = scene.send(method.clone(), &tail, &body).await;
            let problem = reply.problem(Code::INVALID_REQUEST);
            assert_eq!(problem.details["field"], field, "{method} {tail} {body}: {}", reply.text());
        }
        let empty = scene.call(method.clone(), &tail).header("content-type", "application/json");
        empty.body("").send().await.problem(Code::INVALID_REQUEST);
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn metadata_that_is_too_large_is_refused_by_name() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let body = json!({"action": "hint", "metadata": {"a": "x".repeat(17_000)}});
    let reply = scene.post(&format!("users/{ann}/usage"), &body).await;
    assert_eq!(reply.problem(Code::PAYLOAD_TOO_LARGE).details["field"], "metadata");
    let body = json!({"name": "T", "description": "x".repeat(9_000), "max_hints_per_day": 1, "max_executions_per_day": 1});
    let reply = scene.post("plans", &body).await;
    assert_eq!(reply.problem(Code::PAYLOAD_TOO_LARGE).details["field"], "description");
    assert_eq!(scene.read(&format!("users/{ann}/usage")).await["actions"][0]["count"], 0);
}

#[tokio::test]
async fn wrong_paths_and_queries_are_refused_by_name() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    for (tail, field) in [
        ("users/a%23b".to_owned(), "user_id"),
        ("users/a%2Fb".to_owned(), "user_id"),
        (format!("users/{}", "x".repeat(65)), "user_id"),
        ("plans/0".to_owned(), "plan_id"),
        ("plans/01".to_owned(), "plan_id"),
        ("plans/-1".to_owned(), "plan_id"),
        ("plans/free".to_owned(), "plan_id"),
        ("tasks/a%20b".to_owned(), "task_id"),
        ("users?email=ann".to_owned(), "email"),
        ("users?google_id=a%40b".to_owned(), "google_id"),
        ("users?plan=0".to_owned(), "plan"),
        ("users?plan=-1".to_owned(), "plan"),
        ("users?plan=x".to_owned(), "plan"),
        ("users?name=ann".to_owned(), "name"),
        ("users?limit=0".to_owned(), "limit"),
        ("users?limit=101".to_owned(), "limit"),
        ("users?cursor=x".to_owned(), "cursor"),
        ("plans?cursor=x".to_owned(), "cursor"),
        ("audit?cursor=x".to_owned(), "cursor"),
        ("audit?from=now".to_owned(), "from"),
        ("audit?subject=".to_owned(), "subject"),
        ("audit?subject=a%0Ab".to_owned(), "subject"),
        (format!("users/{ann}/usage?date=2026-13-01"), "date"),
        (format!("users/{ann}/usage?day=2026-01-01"), "day"),
        (format!("users/{ann}/usage/log?date=x"), "date"),
        (format!("users/{ann}/usage/log?limit=999"), "limit"),
    ] {
        let reply = scene.get(&tail).await;
        let problem = reply.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{tail}: {}", reply.text());
    }
}
