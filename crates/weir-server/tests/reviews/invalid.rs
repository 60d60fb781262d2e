//! Bad input: the error names the field, and nothing is written.

use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, finding, response, review};

/// A change that makes a good review wrong.
type Change = fn(&mut Value);

#[tokio::test]
async fn a_wrong_review_is_refused_with_its_field_and_not_written() {
    let scene = Scene::start().await;
    let before = scene.stored().await;
    let cases: [(&str, Change); 34] = [
        ("responses[0].findings[1].severity", |r| {
            r["responses"][0]["findings"][1]["severity"] = json!("awful");
        }),
        ("responses[0].findings[0].line_end", |r| {
            r["responses"][0]["findings"][0]["line_end"] = json!(44);
        }),
        ("responses[0].findings[0].line_start", |r| {
            r["responses"][0]["findings"][0]["line_start"] = json!(0);
        }),
        ("responses[0].findings[1].finding_id", |r| {
            r["responses"][0]["findings"][1]["finding_id"] = json!("1");
        }),
        ("responses[0].findings[0].finding_id", |r| {
            r["responses"][0]["findings"][0]["finding_id"] = json!("a#b");
        }),
        ("responses[0].findings[0].category", |r| {
            r["responses"][0]["findings"][0]["category"] = json!("a b");
        }),
        ("responses[0].findings[0].title", |r| {
            r["responses"][0]["findings"][0]["title"] = json!(" ");
        }),
        ("responses[0].findings[0].file_path", |r| {
            r["responses"][0]["findings"][0]["file_path"] = json!("");
        }),
        ("responses[0].findings[0].rule", |r| {
            r["responses"][0]["findings"][0]["rule"] = json!("");
        }),
        ("responses[0].findings[0].model_id", |r| {
            r["responses"][0]["findings"][0]["model_id"] = json!("other");
        }),
        ("responses[0].model_id", |r| r["responses"][0]["model_id"] = json!("a#b")),
        ("responses[1].model_id", |r| r["responses"][1]["model_id"] = json!("claude-sonnet")),
        ("responses[0].status", |r| r["responses"][0]["status"] = json!("ok")),
        ("responses[0].cost_usd", |r| r["responses"][0]["cost_usd"] = json!("-1")),
        ("responses[0].cost_usd", |r| r["responses"][0]["cost_usd"] = json!("1000000.1")),
        ("responses[0].cost_usd", |r| r["responses"][0]["cost_usd"] = json!(0.5)),
        ("responses[0].latency_ms", |r| r["responses"][0]["latency_ms"] = json!(86_400_001)),
        ("responses[0].input_tokens", |r| r["responses"][0]["input_tokens"] = json!(-1)),
        ("responses[0].output_tokens", |r| {
            r["responses"][0]["output_tokens"] = json!(1_000_000_000_001_u64);
        }),
        ("owner", |r| r["owner"] = json!("a/b")),
        ("repo", |r| r["repo"] = json!("..")),
        ("review_id", |r| r["review_id"] = json!("a b")),
        ("review_id", |r| r["review_id"] = json!("compare")),
        ("requested_by", |r| r["requested_by"] = json!("a b")),
        ("pr_number", |r| r["pr_number"] = json!(0)),
        ("pr_title", |r| r["pr_title"] = json!(7)),
        ("files[1]", |r| r["files"][1] = json!("a\u{0}b")),
        ("created_at", |r| r["created_at"] = json!("yesterday")),
        ("created_at", |r| r["created_at"] = json!("2026-01-15T12:01:01Z")),
        ("created_at", |r| r["created_at"] = json!("2025-10-17T12:00:00Z")),
        ("status", |r| r["status"] = json!("failed")),
        ("responses", |r| r["status"] = json!("in_progress")),
        ("colour", |r| r["colour"] = json!("red")),
        ("responses[0].findings[0].colour", |r| {
            r["responses"][0]["findings"][0]["colour"] = json!("red");
        }),
    ];
    for (field, change) in cases {
        let mut wrong = review("r-1");
        change(&mut wrong);
        let reply = scene.post("", &wrong).await;
        let problem = reply.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{}", reply.text());
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn a_wrong_consensus_is_refused() {
    let scene = Scene::start().await;
    let before = scene.stored().await;
    let good = json!({"consensus_id": "c", "members": [{"model_id": "claude-sonnet", "finding_id": "1"},
        {"model_id": "meta/llama-3", "finding_id": "1"}], "severity": "high", "file_path": "a",
        "line_start": 1, "line_end": 1, "title": "t", "merged_description": "d"});
    let cases: [(&str, Change); 6] = [
        ("consensus[0].members[1]", |c| c["members"][1]["finding_id"] = json!("9")),
        ("consensus[0].members[1]", |c| c["members"][1]["model_id"] = json!("nobody")),
        ("consensus[0].members", |c| c["members"].as_array_mut().unwrap().truncate(1)),
        ("consensus[0].line_end", |c| c["line_end"] = json!(0)),
        ("consensus[0].consensus_id", |c| c["consensus_id"] = json!("a b")),
        ("consensus[0].members[0].model_id", |c| c["members"][0]["model_id"] = json!("a b")),
    ];
    for (field, change) in cases {
        let mut wrong = review("r-1");
        let mut consensus = good.clone();
        change(&mut consensus);
        wrong["consensus"] = json!([consensus]);
        let problem = scene.post("", &wrong).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{}", problem.detail);
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn a_wrong_step_is_refused_and_changes_nothing() {
    let scene = Scene::start().await;
    let mut open = review("r-1");
    open["status"] = json!("in_progress");
    open.as_object_mut().unwrap().remove("responses");
    scene.record(&open).await;
    let before = scene.stored().await;
    let mut wrong = response("a", vec![finding("1"), finding("1")]);
    let problem = scene.post("r-1/responses", &wrong).await.problem(Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "findings[1].finding_id");
    wrong["findings"][1]["severity"] = json!("awful");
    let problem = scene.post("r-1/responses", &wrong).await.problem(Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "findings[1].severity");
    let good = response("a", vec![]);
    scene.post("r-1/responses?model_id=a", &good).await.problem(Code::INVALID_REQUEST);
    scene.post("nobody/responses", &good).await.problem(Code::NOT_FOUND);
    let both = json!({"status": "failed", "consensus": []});
    scene.post("r-1/complete", &both).await.problem(Code::INVALID_REQUEST);
    let other = json!({"review_id": "r-2", "owner": "acme", "repo": "weir", "pr_number": 7,
        "pr_title": "", "pr_url": ""});
    let problem = scene.put("r-1", &other).await.problem(Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "review_id");
    let plain = scene.call(axum::http::Method::POST, "").body("{}").send().await;
    plain.problem(Code::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(scene.stored().await, before, "nothing has changed");
}
