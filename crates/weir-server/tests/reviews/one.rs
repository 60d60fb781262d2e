//! One review, its parts, its report, and feedback.

use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, review, texts};

#[tokio::test]
async fn a_review_has_the_parts_that_are_included() {
    let scene = Scene::start().await;
    scene.record(&review("r-1")).await;
    let plain = scene.read("r-1").await;
    assert_eq!(plain["files"], json!(["src/login.py", "src/other.py"]));
    assert_eq!(plain["requested_by"], "octocat");
    for part in ["responses", "findings", "consensus"] {
        assert_eq!(plain[part], Value::Null);
        let with = scene.read(&format!("r-1?include={part}")).await;
        assert!(with[part].is_array(), "{with}");
        assert_eq!(with["pr_title"], plain["pr_title"]);
    }
    let whole = scene.read("r-1?include=responses,findings,consensus").await;
    assert_eq!(whole["responses"], scene.read("r-1/responses").await["items"]);
    assert_eq!(whole["findings"], scene.read("r-1/findings").await["items"]);
    assert_eq!(whole["consensus"], scene.read("r-1/consensus").await["items"]);
    assert_eq!(whole["responses"][0]["cost_usd"], "0.008900");
    let [one, two, three] = whole["findings"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!(
        [&one["in_consensus"], &two["in_consensus"], &three["in_consensus"]],
        [true, false, true]
    );
    assert_eq!((&two["category"], &one["category"]), (&Value::Null, &json!("security")));
    assert_eq!(whole["consensus"][0]["agreeing_models"], whole["models_used"]);
    for wrong in ["r-1?include=", "r-1?include=raw", "r-1?colour=red"] {
        scene.get(wrong).await.problem(Code::INVALID_REQUEST);
    }
    for missing in ["nobody", "nobody/findings", "nobody/sarif", "nobody/report"] {
        scene.get(missing).await.problem(Code::NOT_FOUND);
    }
}

#[tokio::test]
async fn parts_are_read_page_by_page() {
    let scene = Scene::start().await;
    scene.record(&review("r-1")).await;
    let (mut seen, mut tail) = (Vec::new(), "r-1/findings?limit=1".to_owned());
    loop {
        let page = scene.read(&tail).await;
        seen.extend(texts(&page["items"], "model_id"));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        tail = format!("r-1/findings?limit=1&cursor={cursor}");
    }
    assert_eq!(seen, ["claude-sonnet", "claude-sonnet", "meta/llama-3"]);
    scene.get("r-1/findings?cursor=x").await.problem(Code::INVALID_REQUEST);
    scene.get("r-1/findings?limit=0").await.problem(Code::INVALID_REQUEST);
}

#[tokio::test]
async fn raw_output_comes_back_as_it_was_sent() {
    let scene = Scene::start().await;
    let mut body = review("r-1");
    body["responses"][1]["raw"] = json!("plain text with \"quotes\"");
    scene.record(&body).await;
    let reply = scene.get("r-1/raw/meta%2Fllama-3").await;
    assert_eq!(reply.text(), r#""plain text with \"quotes\"""#);
    assert_eq!(reply.header("content-type"), "application/json");
    let responses = scene.read("r-1/responses").await;
    let key = responses["items"][1]["raw_key"].as_str().unwrap();
    assert!(key.starts_with("acme/weir/7/meta%2Fllama-3/2026-01-15T11:00:00.000Z"), "{key}");
    scene.get("r-1/raw/claude-sonnet").await.problem(Code::NOT_FOUND);
    scene.get("r-1/raw/nobody").await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn a_report_is_for_people() {
    let scene = Scene::start().await;
    scene.record(&review("r-1")).await;
    for (tail, kind) in [
        ("r-1/report", "text/markdown; charset=utf-8"),
        ("r-1/report?format=markdown", "text/markdown; charset=utf-8"),
        ("r-1/report?format=text", "text/plain; charset=utf-8"),
    ] {
        let reply = scene.get(tail).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, kind));
        assert!(reply.text().contains("SQL injection"), "{}", reply.text());
        assert!(reply.text().contains("claude-sonnet"), "{}", reply.text());
    }
    scene.get("r-1/report?format=pdf").await.problem(Code::INVALID_REQUEST);
}

#[tokio::test]
async fn people_accept_and_dismiss_findings() {
    let scene = Scene::start().await;
    let mut body = review("r-1");
    body["responses"][1]["findings"][0]["finding_id"] = json!("a/b c".replace(' ', "?"));
    scene.record(&body).await;
    let tail = "r-1/findings/meta%2Fllama-3/a%2Fb%3Fc/feedback";
    let accept = json!({"verdict": "accepted", "by": "octocat"});
    let judged: Value = scene.post(tail, &accept).await.json();
    assert_eq!(judged["finding_id"], "a/b?c");
    let feedback =
        json!({"verdict": "accepted", "by": "octocat", "at": "2026-01-15T12:00:00.000Z"});
    assert_eq!(judged["feedback"], feedback);
    scene.app.clock.advance_ms(1_000);
    let again: Value = scene.post(tail, &accept).await.json();
    assert_eq!(again["feedback"], feedback, "the same again changes nothing");
    let dismiss = json!({"verdict": "dismissed", "by": "hubot"});
    assert_eq!(scene.post(tail, &dismiss).await.status, 200);
    let findings = scene.read("r-1/findings").await;
    assert_eq!(findings["items"][2]["feedback"]["verdict"], "dismissed");
    for (tail, body, code) in [
        (tail, json!({"verdict": "maybe", "by": "x"}), Code::INVALID_REQUEST),
        (tail, json!({"verdict": "accepted", "by": "a b"}), Code::INVALID_REQUEST),
        (tail, json!({"verdict": "accepted"}), Code::INVALID_REQUEST),
        ("r-1/findings/nobody/1/feedback", accept.clone(), Code::NOT_FOUND),
        ("nobody/findings/claude-sonnet/1/feedback", accept.clone(), Code::NOT_FOUND),
    ] {
        scene.post(tail, &body).await.problem(code);
    }
}
