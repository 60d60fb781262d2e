//! SARIF in both directions.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::{Scene, review, texts};

fn log(tools: &[&str]) -> Value {
    let result = json!({"ruleId": "B608", "level": "error", "message": {"text": "SQL injection"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": "src/login.py"},
            "region": {"startLine": 45, "endLine": 52}}}]});
    let run = |tool: &&str| json!({"tool": {"driver": {"name": tool}}, "results": [result]});
    json!({"version": "2.1.0", "runs": tools.iter().map(run).collect::<Vec<_>>()})
}

async fn send(scene: &Scene, tail: &str, log: &Value) -> Reply {
    let call = scene.call(Method::POST, tail).header("content-type", "application/sarif+json");
    call.body(serde_json::to_vec(log).unwrap()).send().await
}

#[tokio::test]
async fn findings_arrive_as_sarif() {
    let scene = Scene::start().await;
    let mut open = review("r-1");
    open["status"] = json!("in_progress");
    open.as_object_mut().unwrap().remove("responses");
    scene.record(&open).await;
    let added = send(&scene, "r-1/responses", &log(&["bandit"])).await;
    assert_eq!(added.status, 201, "{}", added.text());
    assert_eq!(added.json::<Value>()["model_id"], "bandit");
    let tail =
        "r-1/responses?model_id=x%2Fy&cost_usd=0.25&input_tokens=7&latency_ms=9&status=success";
    let named: Value = send(&scene, tail, &log(&["bandit"])).await.json();
    assert_eq!((&named["model_id"], &named["cost_usd"]), (&json!("x/y"), &json!("0.250000")));
    let findings = scene.read("r-1/findings").await;
    assert_eq!(texts(&findings["items"], "rule"), ["B608", "B608"]);
    assert_eq!(findings["items"][0]["line_end"], 52);

    let before = scene.stored().await;
    for (tail, log, field) in [
        ("r-1/responses", log(&["a", "b"]), "runs"),
        ("r-1/responses", log(&[]), "runs"),
        ("r-1/responses", json!({"version": "2.0.0", "runs": []}), "version"),
        ("r-1/responses?cost_usd=-1", log(&["a"]), "cost_usd"),
        ("r-1/responses?model_id=a%20b", log(&["a"]), "model_id"),
    ] {
        let problem = send(&scene, tail, &log).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{}", problem.detail);
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn a_review_is_read_as_sarif() {
    let scene = Scene::start().await;
    scene.record(&review("r-1")).await;
    let reply = scene.get("r-1/sarif").await;
    assert_eq!(reply.header("content-type"), "application/sarif+json");
    let consensus: Value = reply.json();
    assert_eq!(consensus["version"], "2.1.0");
    assert_eq!(consensus["runs"].as_array().unwrap().len(), 1);
    assert_eq!(consensus["runs"][0]["results"].as_array().unwrap().len(), 1);
    let all: Value = scene.get("r-1/sarif?findings=true").await.json();
    let results = |run: usize| all["runs"][run]["results"].as_array().unwrap().len();
    assert_eq!((results(0), results(1)), (2, 1));
    scene.get("r-1/sarif?findings=maybe").await.problem(Code::INVALID_REQUEST);
}
