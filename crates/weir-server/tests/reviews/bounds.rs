//! Bounds: above them a clear error and nothing written, at them correct handling.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, finding, response, review};

const TEXT_MAX: usize = 64 * 1024;
const BODY_MAX: usize = 10 * 1024 * 1024;

fn findings(count: usize) -> Vec<Value> {
    let distinct = |number: usize| {
        let mut one = finding(&format!("f{number}"));
        one["line_start"] = json!(number * 10 + 1);
        one["line_end"] = json!(number * 10 + 2);
        one
    };
    (0..count).map(distinct).collect()
}

fn with_responses(responses: Vec<Value>) -> Value {
    let mut body = review("r-1");
    body["responses"] = json!(responses);
    body
}

#[tokio::test]
async fn what_exceeds_a_bound_is_refused_by_name_and_not_written() {
    let scene = Scene::start().await;
    let before = scene.stored().await;
    let long = |field: &str| {
        let mut one = finding("1");
        one[field] = json!("x".repeat(TEXT_MAX + 1));
        with_responses(vec![response("m", vec![one])])
    };
    let mut titled = review("r-1");
    titled["pr_title"] = json!("x".repeat(TEXT_MAX + 1));
    let mut raw = response("m", vec![]);
    raw["raw"] = json!("x".repeat(5 * 1024 * 1024));
    let models = (0..21).map(|number| response(&format!("m{number}"), vec![])).collect();
    for (body, field, bound) in [
        (with_responses(vec![response("m", findings(2_001))]), "findings", "2000"),
        (with_responses(models), "responses", "20"),
        (long("description"), "responses[0].findings[0].description", "65536"),
        (long("suggestion"), "responses[0].findings[0].suggestion", "65536"),
        (long("title"), "responses[0].findings[0].title", "65536"),
        (titled, "pr_title", "65536"),
        (with_responses(vec![raw]), "responses[0].raw", "5242880"),
    ] {
        let reply = scene.post("", &body).await;
        let problem = reply.problem(Code::PAYLOAD_TOO_LARGE);
        assert_eq!(problem.details["field"], field, "{}", reply.text());
        assert!(problem.detail.contains(bound), "{}", reply.text());
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn a_body_may_have_ten_mebibytes_where_reviews_are_recorded() {
    let scene = Scene::start().await;
    let mut body = serde_json::to_vec(&review("r-1")).unwrap();
    body.resize(BODY_MAX, b' ');
    let send = |tail: &str, body: Vec<u8>| {
        let call = scene.call(Method::POST, tail).header("content-type", "application/json");
        call.body(body).send()
    };
    assert_eq!(send("", body.clone()).await.status, 201);
    body.push(b' ');
    for tail in ["", "r-1/responses", "r-1/complete"] {
        let problem = send(tail, body.clone()).await.problem(Code::PAYLOAD_TOO_LARGE);
        assert!(problem.detail.contains("10485760 bytes"), "{tail}: {}", problem.detail);
    }
    // Other routes keep the bound of the listener.
    body.truncate(1024 * 1024 + 1);
    let feedback = "r-1/findings/claude-sonnet/1/feedback";
    let problem = send(feedback, body.clone()).await.problem(Code::PAYLOAD_TOO_LARGE);
    assert!(problem.detail.contains("1048576 bytes"), "{}", problem.detail);
}

#[tokio::test]
async fn a_review_may_have_two_thousand_findings() {
    let scene = Scene::start().await;
    let body = with_responses(vec![response("a", findings(1_000)), response("b", findings(1_000))]);
    let recorded = scene.record(&body).await;
    assert_eq!(recorded["total_findings"], 2_000);
    let whole = scene.read("r-1?include=findings").await;
    assert_eq!(whole["findings"].as_array().unwrap().len(), 2_000);
    assert_eq!(scene.delete("r-1").await.status, 204);
}

#[tokio::test]
async fn a_model_that_repeats_itself_agrees_with_nobody() {
    let scene = Scene::start().await;
    let same = (0..500).map(|number| finding(&format!("f{number}"))).collect();
    let body = with_responses(vec![response("a", same), response("b", vec![])]);
    let recorded = scene.record(&body).await;
    assert_eq!(
        (&recorded["total_findings"], &recorded["consensus_findings"]),
        (&json!(500), &json!(0))
    );
}

#[tokio::test]
async fn steps_together_keep_to_the_bounds() {
    let scene = Scene::start().await;
    let mut open = review("r-1");
    open["status"] = json!("in_progress");
    open.as_object_mut().unwrap().remove("responses");
    scene.record(&open).await;
    for (model, count) in [("a", 1_500), ("b", 500)] {
        let reply = scene.post("r-1/responses", &response(model, findings(count))).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
    }
    let one_more = scene.post("r-1/responses", &response("c", findings(1))).await;
    assert_eq!(one_more.problem(Code::PAYLOAD_TOO_LARGE).details["field"], "findings");
}
