//! Recording in one call and step by step.

use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, finding, response, review, texts};

#[tokio::test]
async fn a_review_is_recorded_once_and_replaced_on_demand() {
    let scene = Scene::start().await;
    let recorded = scene.record(&review("r-1")).await;
    assert_eq!(recorded["review_id"], "r-1");
    assert_eq!(recorded["status"], "completed");
    assert_eq!(recorded["created_at"], "2026-01-15T11:00:00.000Z");
    assert_eq!(recorded["models_used"], json!(["claude-sonnet", "meta/llama-3"]));
    assert_eq!(
        (&recorded["total_findings"], &recorded["consensus_findings"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(recorded["total_cost_usd"], "0.017800");

    let before = scene.stored().await;
    let again = scene.post("", &review("r-1")).await;
    assert_eq!(again.status, 200, "{}", again.text());
    assert_eq!(scene.put("r-1", &review("r-1")).await.status, 200);
    let mut other = review("r-1");
    other["responses"].as_array_mut().unwrap().truncate(1);
    scene.post("", &other).await.problem(Code::STATE_CONFLICT);
    scene.put("r-1", &other).await.problem(Code::STATE_CONFLICT);
    assert_eq!(scene.stored().await, before, "nothing has changed");

    assert_eq!(scene.put("r-1?replace=true", &other).await.status, 201);
    let replaced = scene.read("r-1?include=findings").await;
    assert_eq!(replaced["models_used"], json!(["claude-sonnet"]));
    assert_eq!(texts(&replaced["findings"], "finding_id"), ["1", "2"]);
}

#[tokio::test]
async fn a_review_without_an_id_gets_one() {
    let scene = Scene::start().await;
    let mut body = review("r-1");
    body.as_object_mut().unwrap().remove("review_id");
    let (one, two) = (scene.record(&body).await, scene.record(&body).await);
    assert_ne!(one["review_id"], two["review_id"]);
    let id = one["review_id"].as_str().unwrap();
    assert_eq!(scene.read(id).await["pr_title"], "Add a thing");
    assert_eq!(scene.put("mine", &body).await.status, 201);
    assert_eq!(scene.read("mine").await["review_id"], "mine");
}

#[tokio::test]
async fn a_review_is_recorded_step_by_step() {
    let scene = Scene::start().await;
    let mut open = review("r-1");
    open["status"] = json!("in_progress");
    open.as_object_mut().unwrap().remove("responses");
    assert_eq!(scene.record(&open).await["status"], "in_progress");
    assert_eq!(scene.post("", &open).await.status, 200, "the same again");
    scene.post("?replace=true", &open).await.problem(Code::INVALID_REQUEST);

    let (one, two) = (response("a", vec![finding("1")]), response("x/b", vec![finding("1")]));
    let added = scene.post("r-1/responses", &one).await;
    assert_eq!((added.status, &added.json::<Value>()["findings_count"]), (201, &json!(1)));
    assert_eq!(scene.post("r-1/responses", &one).await.status, 200);
    let other = response("a", vec![]);
    scene.post("r-1/responses", &other).await.problem(Code::STATE_CONFLICT);
    assert_eq!(scene.post("r-1/responses", &two).await.status, 201);
    assert_eq!(scene.read("r-1").await["status"], "in_progress");

    let completed: Value = scene.post("r-1/complete", &json!({})).await.json();
    assert_eq!(
        (&completed["status"], &completed["consensus_findings"]),
        (&json!("completed"), &json!(1))
    );
    assert_eq!(scene.post("r-1/complete", &json!({})).await.status, 200, "the same again");
    scene.post("r-1/responses", &response("c", vec![])).await.problem(Code::STATE_CONFLICT);
    let failed = json!({"status": "failed"});
    scene.post("r-1/complete", &failed).await.problem(Code::STATE_CONFLICT);
    scene.post("nobody/complete", &failed).await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn a_review_is_given_up() {
    let scene = Scene::start().await;
    let mut open = review("r-1");
    open["status"] = json!("in_progress");
    open.as_object_mut().unwrap().remove("responses");
    scene.record(&open).await;
    let failed: Value = scene.post("r-1/complete", &json!({"status": "failed"})).await.json();
    assert_eq!(failed["status"], "failed");
}

#[tokio::test]
async fn a_consensus_of_the_client_counts() {
    let scene = Scene::start().await;
    let mut body = review("r-1");
    let member = |model: &str| json!({"model_id": model, "finding_id": "1"});
    body["consensus"] = json!([{"consensus_id": "mine", "members": [member("claude-sonnet"), member("meta/llama-3")],
        "severity": "critical", "category": "security", "file_path": "src/login.py", "line_start": 45,
        "line_end": 52, "title": "SQL injection", "merged_description": "Both say so."}]);
    scene.record(&body).await;
    let page = scene.read("r-1/consensus").await;
    let found = &page["items"][0];
    assert_eq!((&found["consensus_id"], &found["severity"]), (&json!("mine"), &json!("critical")));
    assert_eq!(found["finding_ids"], json!(["1", "1"]));
    assert_eq!(found["members"][1], member("meta/llama-3"));
    assert_eq!((&found["agreement_ratio"], &found["confidence"]), (&json!(1.0), &json!("high")));
    body["consensus"] = json!([]);
    let none = scene.put("r-1?replace=true", &body).await;
    assert_eq!(none.json::<Value>()["consensus_findings"], 0, "none was found");
}

#[tokio::test]
async fn a_deleted_review_leaves_nothing() {
    let scene = Scene::start().await;
    let empty = scene.stored().await;
    let mut body = review("r-1");
    body["responses"][0]["raw"] = json!({"text": "what it said"});
    scene.record(&body).await;
    assert_eq!(scene.read("r-1/raw/claude-sonnet").await, json!({"text": "what it said"}));
    assert_eq!(scene.delete("r-1").await.status, 204);
    scene.get("r-1").await.problem(Code::NOT_FOUND);
    scene.get("r-1/raw/claude-sonnet").await.problem(Code::NOT_FOUND);
    scene.delete("r-1").await.problem(Code::NOT_FOUND);
    for list in ["", "repos/acme/weir", "repos/acme/weir/costs", "users/octocat"] {
        assert_eq!(scene.read(list).await["items"], json!([]), "{list}");
    }
    scene.run_job("reviews-deletions").await;
    scene.run_job("reviews-rollup").await;
    let raw = scene.app.data().unwrap().join("reviews-raw");
    let files = walk(&raw).into_iter().filter(|path| path.is_file()).count();
    assert_eq!(files, 0, "no raw output remains");
    assert_eq!(scene.stored().await, empty);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: std::path::PathBuf| {
        let inner = if path.is_dir() { walk(&path) } else { Vec::new() };
        [path].into_iter().chain(inner)
    };
    entries.flat_map(below).collect()
}
