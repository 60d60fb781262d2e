//! Comparison from rollups, and their verification.

use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, review};

#[tokio::test]
async fn models_are_compared_after_the_rollup() {
    let scene = Scene::start().await;
    scene.record(&review("r-1")).await;
    let mut failed = review("r-2");
    failed["responses"][1]["status"] = json!("timeout");
    failed["responses"][1]["findings"] = json!([]);
    scene.record(&failed).await;
    let accept = json!({"verdict": "accepted", "by": "octocat"});
    assert_eq!(scene.post("r-1/findings/claude-sonnet/1/feedback", &accept).await.status, 200);
    assert!(scene.run_job("reviews-rollup").await["items"].as_u64().unwrap() > 0);

    let all = scene.read("compare").await;
    assert_eq!(
        (&all["to"], &all["repo"], &all["days"]),
        (&json!("2026-01-16"), &Value::Null, &json!(1))
    );
    let [claude, llama] = all["models"].as_array().unwrap().as_slice() else { panic!("{all}") };
    assert_eq!((&claude["reviews"], &claude["findings"]["findings"]), (&json!(2), &json!(4)));
    assert_eq!(claude["findings"]["accepted"], 1);
    assert_eq!(claude["cost_usd"], "0.017800");
    assert_eq!((&llama["timeouts"], &llama["success_rate"]["value"]), (&json!(1), &json!(0.5)));
    assert_eq!(llama["acceptance_rate"]["value"], Value::Null, "nobody judged it");
    assert_eq!(llama["success_rate"]["interval"], Value::Null, "of a single day");
    assert_eq!(claude["by_severity"][0]["severity"], "critical");
    assert_eq!(all["pairs"][0]["models"], json!(["claude-sonnet", "meta/llama-3"]));
    assert_eq!(all["pairs"][0]["shared"], 1);

    let mine = scene.read("compare?repo=acme/weir&models=meta/llama-3,nobody").await;
    assert_eq!(mine["models"][1]["model_id"], "nobody");
    assert_eq!(mine["models"][1]["success_rate"]["value"], Value::Null);
    assert_eq!(mine["models"][0]["reviews"], 2);
    let other = scene.read("compare?repo=acme/other").await;
    assert_eq!(other["models"], json!([]));
    let earlier = scene.read("compare?from=2026-01-01&to=2026-01-15").await;
    assert_eq!(earlier["models"], json!([]), "the end is exclusive");

    let range = json!({"from": "2026-01-15", "to": "2026-01-16"});
    let verified: Value = scene.post("rollups/verify", &range).await.json();
    assert_eq!((&verified["differing"], &verified["is_pending"]), (&json!(0), &json!(false)));
    assert_eq!(scene.delete("r-2").await.status, 204);
    let pending: Value = scene.post("rollups/verify", &range).await.json();
    assert_eq!(pending["is_pending"], true);
    assert_ne!(pending["differing"], 0);
    scene.run_job("reviews-rollup").await;
    assert_eq!(scene.read("compare").await["models"][0]["reviews"], 1);
    let verified: Value = scene.post("rollups/verify", &range).await.json();
    assert_eq!(verified["differing"], 0);
}

#[tokio::test]
async fn a_wrong_verification_is_refused() {
    let scene = Scene::start().await;
    for (body, field) in [
        (json!({"from": "2026-01-15", "to": "2026-01-15"}), "to"),
        (json!({"from": "2026-01-01", "to": "2026-02-15"}), "to"),
        (json!({"from": "x", "to": "2026-02-15"}), "from"),
        (json!({"from": "2026-01-15", "to": "2026-01-16", "repo": "a"}), "repo"),
        (json!({"to": "2026-01-16"}), "from"),
    ] {
        let problem = scene.post("rollups/verify", &body).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{}", problem.detail);
    }
}
