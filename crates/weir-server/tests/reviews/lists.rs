//! Lists across reviews: the newest first, by time, page by page.

use serde_json::json;
use weir_framework::Code;

use crate::scene::{Scene, review, texts};

/// Three reviews, an hour apart.
async fn three() -> Scene {
    let scene = Scene::start().await;
    for (id, hour) in [("r-1", 9), ("r-2", 10), ("r-3", 11)] {
        let mut body = review(id);
        body["created_at"] = json!(format!("2026-01-15T{hour:02}:00:00Z"));
        scene.record(&body).await;
    }
    scene
}

const LISTS: [&str; 4] = ["", "repos/acme/weir", "dates/2026-01-15", "users/octocat"];

#[tokio::test]
async fn reviews_are_listed_newest_first() {
    let scene = three().await;
    for list in LISTS {
        assert_eq!(scene.ids(list).await, ["r-3", "r-2", "r-1"], "{list}");
        let range = format!("{list}?from=2026-01-15T10:00:00Z&to=2026-01-15T11:00:00Z");
        assert_eq!(scene.ids(&range).await, ["r-2"], "{list}: the end is exclusive");
    }
    for empty in ["repos/acme/other", "dates/2026-01-14", "users/hubot", "models/nobody"] {
        assert_eq!(scene.read(empty).await["items"], json!([]), "{empty}");
    }
}

#[tokio::test]
async fn cursors_are_stable_while_reviews_arrive() {
    let scene = three().await;
    for (number, list) in LISTS.into_iter().enumerate() {
        let first = scene.read(&format!("{list}?limit=1")).await;
        let newest = texts(&first["items"], "review_id");
        let mut late = review(&format!("late-{number}"));
        late["created_at"] = json!(format!("2026-01-15T11:3{number}:00Z"));
        scene.record(&late).await;
        let cursor = first["next_cursor"].as_str().unwrap();
        let rest = scene.ids(&format!("{list}?limit=100&cursor={cursor}")).await;
        assert!(!rest.contains(&newest[0]) && rest.ends_with(&["r-1".to_owned()]), "{rest:?}");
        assert!(!rest.contains(&format!("late-{number}")), "{rest:?}");
        // A cursor is for one list.
        let other = LISTS[(number + 1) % LISTS.len()];
        scene.get(&format!("{other}?cursor={cursor}")).await.problem(Code::INVALID_REQUEST);
    }
}

#[tokio::test]
async fn what_models_said_is_listed_with_its_review() {
    let scene = three().await;
    let responses = scene.read("models/meta%2Fllama-3?limit=2").await;
    assert_eq!(texts(&responses["items"], "review_id"), ["r-3", "r-2"]);
    let newest = &responses["items"][0];
    assert_eq!(
        (&newest["model_id"], &newest["latency_ms"]),
        (&json!("meta/llama-3"), &json!(12_500))
    );
    assert_eq!(newest["created_at"], "2026-01-15T11:00:00.000Z");

    let high = scene.read("findings?severity=high").await;
    assert_eq!(high["items"].as_array().unwrap().len(), 6);
    assert_eq!(scene.read("findings?severity=low").await["items"].as_array().unwrap().len(), 3);
    assert_eq!(scene.read("findings?severity=info").await["items"], json!([]));
    let security = scene.read("findings?category=security").await;
    assert_eq!(security["items"].as_array().unwrap().len(), 6);
    assert!(security["items"].as_array().unwrap().iter().all(|one| one["category"] == "security"));

    let consensus = scene.read("consensus").await;
    assert_eq!(texts(&consensus["items"], "review_id"), ["r-3", "r-2", "r-1"]);
    assert_eq!(consensus["items"][0]["agreement_count"], 2);

    let costs = scene.read("repos/acme/weir/costs").await;
    assert_eq!(costs["items"].as_array().unwrap().len(), 6);
    assert_eq!(costs["items"][0]["cost_usd"], "0.008900");
}

#[tokio::test]
async fn wrong_lists_are_refused_with_the_field() {
    let scene = three().await;
    for (tail, field) in [
        ("findings", "severity"),
        ("findings?severity=high&category=security", "severity"),
        ("findings?severity=High", "severity"),
        ("findings?category=a%23b", "category"),
        ("dates/2026-1-5", "date"),
        ("dates/2026-02-30", "date"),
        ("repos/a%23b/weir", "owner"),
        ("repos/acme/a%2Fb", "repo"),
        ("models/a%20b", "model_id"),
        ("users/a%20b", "user"),
        ("?from=yesterday", "from"),
        ("?to=2026-01-15", "to"),
        ("?limit=101", "limit"),
        ("?cursor=x", "cursor"),
        ("compare?from=2026-01-15&to=2026-01-15", "to"),
        ("compare?from=2024-01-15&to=2026-01-15", "to"),
        ("compare?from=x", "from"),
        ("compare?repo=acme", "repo"),
        ("compare?repo=acme/a/b", "repo"),
        ("compare?models=a,,b", "models"),
        ("a%23b", "review_id"),
    ] {
        let problem = scene.get(tail).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{tail}: {}", problem.detail);
    }
}
