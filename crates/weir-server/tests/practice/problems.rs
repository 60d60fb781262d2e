//! Problems.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::samples::problem;
use crate::scene::{Scene, texts};

const AT: &str = "problems/baekjoon/1000";

#[tokio::test]
async fn a_problem_is_created_and_read_back() {
    let scene = Scene::start().await;
    let reply = scene.post("problems", &problem("1000")).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let created: Value = reply.json();
    assert_eq!(created["id"], "baekjoon/1000");
    assert_eq!(created["is_completed"], false);
    assert_eq!(created.get("solution_code"), None);

    let found = scene.read(AT).await;
    for field in ["title", "problem_url", "tags", "solution_code", "constraints", "metadata"] {
        assert_eq!(found[field], problem("1000")[field], "{field}");
    }
    assert_eq!(found["created_at"], "2026-01-15T12:00:00.000Z");
    assert_eq!(found.get("test_cases"), None);
    let whole = scene.read(&format!("{AT}?include=testcases")).await;
    assert_eq!(texts(&whole["test_cases"], "output"), ["3", "9"]);
    assert_eq!(whole["test_cases"][0]["sample"], true);

    let again = scene.post("problems", &problem("1000")).await;
    again.problem(Code::STATE_CONFLICT);
    scene.get("problems/baekjoon/1001").await.problem(Code::NOT_FOUND);
    let include = scene.get(&format!("{AT}?include=history")).await;
    assert_eq!(include.problem(Code::INVALID_REQUEST).details["field"], "include");
}

#[tokio::test]
async fn only_platform_id_and_title_are_required() {
    let scene = Scene::start().await;
    let least = json!({"platform": "leetcode", "problem_id": "two-sum", "title": "Two Sum"});
    let created = scene.make("problems", &least).await;
    assert_eq!((&created["tags"], &created["metadata"]), (&json!([]), &json!({})));
    for missing in ["platform", "problem_id", "title"] {
        let mut body = least.clone();
        body.as_object_mut().unwrap().remove(missing);
        let reply = scene.post("problems", &body).await;
        assert_eq!(reply.problem(Code::INVALID_REQUEST).details["field"], missing);
    }
}

#[tokio::test]
async fn a_partial_update_changes_what_it_names() {
    let scene = Scene::start().await;
    scene.make("problems", &problem("1000")).await;
    let change = json!({"title": "Sum", "language": null, "tags": ["sums"], "version": 1});
    let reply = scene.patch(AT, &change).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let found = scene.read(AT).await;
    assert_eq!(
        (&found["title"], &found["language"], &found["tags"]),
        (&json!("Sum"), &Value::Null, &json!(["sums"]))
    );
    assert_eq!(found["solution_code"], problem("1000")["solution_code"]);
    scene.patch(AT, &change).await.problem(Code::STATE_CONFLICT);
    assert_eq!(scene.listed("problems?tag=sums", "problem_id").await, ["1000"]);
    assert_eq!(scene.listed("problems?tag=math", "problem_id").await, [""; 0]);
    scene.patch("problems/x/y", &json!({"title": "Sum"})).await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn lists_are_by_status_platform_and_tag() {
    let scene = Scene::start().await;
    for id in ["1000", "1001", "1002"] {
        scene.make("problems", &problem(id)).await;
        scene.app.clock.advance_ms(1_000);
    }
    scene.make(&format!("{AT}/publish"), &json!({})).await;
    let marked = scene.make("problems/baekjoon/1001/review", &json!({"review_notes": "odd"})).await;
    assert_eq!((&marked["needs_review"], &marked["review_notes"]), (&json!(true), &json!("odd")));
    let list = async |query: &str| scene.listed(&format!("problems{query}"), "problem_id").await;
    assert_eq!(list("").await, ["1002", "1001", "1000"]);
    assert_eq!(list("?status=published").await, ["1000"]);
    assert_eq!(list("?status=draft&platform=baekjoon&tag=math").await, ["1002", "1001"]);
    assert_eq!(list("?status=needs_review").await, ["1001"]);
    assert_eq!(list("?platform=leetcode").await, [""; 0]);
    let verified = scene.make("problems/baekjoon/1001/verify", &json!({})).await;
    assert_eq!(verified["verified_by_admin"], true);
    assert_eq!(list("?status=needs_review").await, [""; 0]);
    assert_eq!(list("?status=verified").await, ["1001"]);

    let first = scene.read("problems?limit=2").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(list(&format!("?limit=2&cursor={cursor}")).await, ["1000"]);
    let wrong = scene.get("problems?status=lost").await.problem(Code::INVALID_REQUEST);
    assert_eq!(wrong.details["field"], "status");
}

#[tokio::test]
async fn a_deleted_problem_can_be_restored_and_a_purged_one_is_gone() {
    let scene = Scene::start().await;
    scene.make("problems", &problem("1000")).await;
    let reply = scene.delete(&format!("{AT}?reason=a%20copy")).await;
    assert_eq!(reply.status, 200);
    let deleted: Value = reply.json();
    assert_eq!(
        (&deleted["is_deleted"], &deleted["deleted_reason"]),
        (&json!(true), &json!("a copy"))
    );
    assert_eq!(scene.listed("problems", "problem_id").await, [""; 0]);
    assert_eq!(scene.listed("problems?status=deleted", "problem_id").await, ["1000"]);
    scene.patch(AT, &json!({"title": "Sum"})).await.problem(Code::STATE_CONFLICT);
    let restored = scene.make(&format!("{AT}/restore"), &json!({})).await;
    assert_eq!((&restored["is_deleted"], &restored["deleted_at"]), (&json!(false), &Value::Null));

    let both = scene.delete(&format!("{AT}?hard=true&reason=x")).await;
    assert_eq!(both.problem(Code::INVALID_REQUEST).details["field"], "reason");
    assert_eq!(scene.delete(&format!("{AT}?hard=true")).await.status, 204);
    scene.get(AT).await.problem(Code::NOT_FOUND);
    scene.delete(&format!("{AT}?hard=true")).await.problem(Code::NOT_FOUND);
    let left = scene.stored().await;
    assert!(!left.contains("PROB#"), "{left}");
}

#[tokio::test]
async fn what_is_invalid_is_refused_by_name_and_not_written() {
    let scene = Scene::start().await;
    let before = scene.stored().await;
    let with = |field: &str, value: Value| {
        let mut body = problem("1000");
        body[field] = value;
        body
    };
    let long = || json!("x".repeat(1024 * 1024 + 1));
    let large = json!({"input": "x".repeat(1024 * 1024), "output": ""});
    for (body, code, field) in [
        (with("platform", json!("a/b")), Code::INVALID_REQUEST, "platform"),
        (with("problem_id", json!("#")), Code::INVALID_REQUEST, "problem_id"),
        (with("title", json!(" ")), Code::INVALID_REQUEST, "title"),
        (with("problem_url", json!("ftp://x")), Code::INVALID_REQUEST, "problem_url"),
        (with("tags", json!(["a", "#"])), Code::INVALID_REQUEST, "tags[1]"),
        (with("metadata", json!([1])), Code::INVALID_REQUEST, "metadata"),
        (with("unknown", json!(1)), Code::INVALID_REQUEST, "unknown"),
        (with("solution_code", long()), Code::PAYLOAD_TOO_LARGE, "solution_code"),
        (with("constraints", long()), Code::PAYLOAD_TOO_LARGE, "constraints"),
        (
            with("test_cases", json!([{"input": "", "output": long()}])),
            Code::PAYLOAD_TOO_LARGE,
            "test_cases[0].output",
        ),
        (with("test_cases", json!(vec![large; 9])), Code::PAYLOAD_TOO_LARGE, "problem"),
    ] {
        let reply = scene.post("problems", &body).await;
        assert_eq!(reply.problem(code).details["field"], field, "{}", reply.text());
    }
    let body = vec![b' '; 10 * 1024 * 1024 + 1];
    let call = scene.call(Method::POST, "problems").header("content-type", "application/json");
    let problem = call.body(body).send().await.problem(Code::PAYLOAD_TOO_LARGE);
    assert!(problem.detail.contains("10485760 bytes"), "{}", problem.detail);
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn three_megabytes_are_read_back_whole() {
    let scene = Scene::start().await;
    // Letters that do not compress well, so that texts leave the item.
    let noise = |seed: u64| -> String {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..1_000_000).map(|_| random.alphanumeric()).collect()
    };
    let mut body = problem("1000");
    body["solution_code"] = json!(noise(1));
    body["test_cases"] = json!([{"input": noise(2), "output": noise(3)}]);
    scene.make("problems", &body).await;
    let whole = scene.read(&format!("{AT}?include=testcases")).await;
    assert_eq!(whole["solution_code"], body["solution_code"]);
    assert_eq!(whole["test_cases"][0]["input"], body["test_cases"][0]["input"]);
    assert_eq!(whole["test_cases"][0]["output"], body["test_cases"][0]["output"]);
    assert_eq!(scene.delete(&format!("{AT}?hard=true")).await.status, 204);
}
