//! Recorded runs, and the public feed.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::samples::run;
use crate::scene::Scene;

fn with(field: &str, value: Value) -> Value {
    let mut body = run();
    body[field] = value;
    body
}

#[tokio::test]
async fn a_run_is_recorded_once_and_read_back() {
    let scene = Scene::start().await;
    let body = with("idempotency_key", json!("run-1"));
    let reply = scene.post("history", &body).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let recorded: Value = reply.json();
    assert_eq!(recorded.get("code"), None);
    let again = scene.post("history", &body).await;
    assert_eq!((again.status, again.json::<Value>()["id"].clone()), (200, recorded["id"].clone()));
    let found = scene.read(&format!("history/{}", recorded["id"].as_str().unwrap())).await;
    for (field, sent) in run().as_object().unwrap() {
        assert_eq!(&found[field], sent, "{field}");
    }
    assert_eq!(found["is_code_public"], false);
    let mut other = body.clone();
    other["code"] = json!("print(4)");
    scene.post("history", &other).await.problem(Code::STATE_CONFLICT);

    let named = scene.make("history", &with("history_id", json!("42"))).await;
    assert_eq!(named["id"], "42");
    scene.get("history/43").await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn public_runs_are_in_the_feed_newest_first() {
    let scene = Scene::start().await;
    for id in ["1", "2", "3"] {
        let mut body = with("history_id", json!(id));
        body["is_code_public"] = json!(id != "2");
        scene.make("history", &body).await;
        scene.app.clock.advance_ms(1_000);
    }
    assert_eq!(scene.listed("feed", "id").await, ["3", "1"]);
    let reply = scene.patch("history/2", &json!({"is_code_public": true})).await;
    assert_eq!(reply.json::<Value>()["is_code_public"], true);
    assert_eq!(scene.listed("feed", "id").await, ["3", "2", "1"]);
    let first = scene.read("feed?limit=2").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(scene.listed(&format!("feed?cursor={cursor}"), "id").await, ["1"]);
    scene.patch("history/3", &json!({"is_code_public": false})).await;
    assert_eq!(scene.listed("feed", "id").await, ["2", "1"]);
    scene.patch("history/9", &json!({"is_code_public": true})).await.problem(Code::NOT_FOUND);
    let empty = scene.patch("history/1", &json!({})).await;
    assert_eq!(empty.problem(Code::INVALID_REQUEST).details["field"], "is_code_public");
}

#[tokio::test]
async fn hints_are_added() {
    let scene = Scene::start().await;
    scene.make("history", &with("history_id", json!("1"))).await;
    let more = scene.make("history/1/hints", &json!({"hints": ["sort it", "twice"]})).await;
    assert_eq!(more["hints"], json!(["read the input", "sort it", "twice"]));
    let none = scene.post("history/1/hints", &json!({"hints": []})).await;
    assert_eq!(none.problem(Code::INVALID_REQUEST).details["field"], "hints");
    let many = scene.post("history/1/hints", &json!({"hints": vec!["x"; 101]})).await;
    assert_eq!(many.problem(Code::PAYLOAD_TOO_LARGE).details["field"], "hints");
    scene
        .post("history/1/hints", &json!({"hints": vec!["x"; 98]}))
        .await
        .problem(Code::STATE_CONFLICT);
    assert_eq!(scene.read("history/1").await["hints"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn the_runs_of_a_user_are_listed() {
    let scene = Scene::start().await;
    for (id, user) in [("1", "ann"), ("2", "ben"), ("3", "ann")] {
        let mut body = with("history_id", json!(id));
        body["user_id"] = json!(user);
        scene.make("history", &body).await;
        scene.app.clock.advance_ms(1_000);
    }
    assert_eq!(scene.listed("users/ann/history", "id").await, ["3", "1"]);
    assert_eq!(scene.listed("users/ben/history", "id").await, ["2"]);
}

#[tokio::test]
async fn what_is_invalid_is_refused_by_name_and_not_written() {
    let scene = Scene::start().await;
    let before = scene.stored().await;
    for (body, code, field) in [
        (with("platform", json!("#")), Code::INVALID_REQUEST, "platform"),
        (with("problem_number", json!("")), Code::INVALID_REQUEST, "problem_number"),
        (with("history_id", json!("a/b")), Code::INVALID_REQUEST, "history_id"),
        (with("passed_count", json!(-1)), Code::INVALID_REQUEST, "passed_count"),
        (with("result_summary", json!(1)), Code::INVALID_REQUEST, "result_summary"),
        (with("other", json!(1)), Code::INVALID_REQUEST, "other"),
        (with("code", json!("x".repeat(1024 * 1024 + 1))), Code::PAYLOAD_TOO_LARGE, "code"),
        (with("hints", json!(["x".repeat(8 * 1024 + 1)])), Code::PAYLOAD_TOO_LARGE, "hints[0]"),
    ] {
        let reply = scene.post("history", &body).await;
        assert_eq!(reply.problem(code).details["field"], field, "{}", reply.text());
    }
    let mut both = with("history_id", json!("1"));
    both["idempotency_key"] = json!("k");
    let reply = scene.post("history", &both).await;
    assert_eq!(reply.problem(Code::INVALID_REQUEST).details["field"], "idempotency_key");
    let body = vec![b' '; 10 * 1024 * 1024 + 1];
    let call = scene.call(Method::POST, "history").header("content-type", "application/json");
    call.body(body).send().await.problem(Code::PAYLOAD_TOO_LARGE);
    assert_eq!(scene.stored().await, before);
}
