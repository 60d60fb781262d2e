//! Test cases, one by one.

use serde_json::{Value, json};
use weir_framework::Code;

use crate::samples::problem;
use crate::scene::{Scene, texts};

const CASES: &str = "problems/baekjoon/1000/testcases";

async fn with_problem() -> Scene {
    let scene = Scene::start().await;
    scene.make("problems", &problem("1000")).await;
    scene
}

#[tokio::test]
async fn a_test_case_is_added_replaced_and_deleted() {
    let scene = with_problem().await;
    let reply = scene.post(CASES, &json!({"input": "2 2", "output": "4"})).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let added: Value = reply.json();
    assert_eq!(added["sample"], false);
    let one = format!("{CASES}/{}", added["id"].as_str().unwrap());
    let new = json!({"input": "3 3", "output": "6", "sample": true});
    let replaced: Value = scene.put(&one, &new).await.json();
    assert_eq!((&replaced["id"], &replaced["output"]), (&added["id"], &json!("6")));
    let mut outputs = scene.listed(CASES, "output").await;
    outputs.sort();
    assert_eq!(outputs, ["3", "6", "9"]);
    assert_eq!(scene.delete(&one).await.status, 204);
    scene.delete(&one).await.problem(Code::NOT_FOUND);
    scene.put(&one, &new).await.problem(Code::NOT_FOUND);
    assert_eq!(scene.listed(CASES, "output").await, ["3", "9"]);
}

#[tokio::test]
async fn test_cases_are_listed_by_page() {
    let scene = with_problem().await;
    let first = scene.read(&format!("{CASES}?limit=1")).await;
    assert_eq!(texts(&first["items"], "output"), ["3"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = scene.listed(&format!("{CASES}?cursor={cursor}"), "output").await;
    assert_eq!(rest, ["9"]);
}

#[tokio::test]
async fn what_is_invalid_is_refused_by_name() {
    let scene = with_problem().await;
    let good = json!({"input": "1", "output": "1"});
    let elsewhere = scene.post("problems/baekjoon/1/testcases", &good).await;
    elsewhere.problem(Code::NOT_FOUND);
    scene.get("problems/baekjoon/1/testcases").await.problem(Code::NOT_FOUND);
    for (body, code, field) in [
        (json!({"input": "1"}), Code::INVALID_REQUEST, "output"),
        (json!({"input": "1", "output": "1", "x": 1}), Code::INVALID_REQUEST, "x"),
        (
            json!({"input": "x".repeat(1024 * 1024 + 1), "output": ""}),
            Code::PAYLOAD_TOO_LARGE,
            "input",
        ),
    ] {
        let reply = scene.post(CASES, &body).await;
        assert_eq!(reply.problem(code).details["field"], field, "{}", reply.text());
    }
    scene.delete("problems/baekjoon/1000").await;
    scene.post(CASES, &good).await.problem(Code::STATE_CONFLICT);
}
