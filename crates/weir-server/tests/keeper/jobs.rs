//! Background jobs of the keeper.

use serde_json::{Value, json};

use crate::scene::{ORG, Scene, at, used};

#[tokio::test]
async fn every_job_runs_and_updates_metrics() {
    let (scene, client) = Scene::with_app().await;
    // The run at the start is over when this one is.
    scene.run("keeper-aggregate").await;
    assert_eq!(scene.submit(&client, &used(1)).await.status, 202);
    scene.app.clock.advance_ms(4_000);
    scene.run("keeper-aggregate").await;
    for job in ["keeper-catch-up", "keeper-notices"] {
        scene.run(job).await;
    }
    assert_eq!(scene.select(&client).await.status, 200);
    let metrics = scene.get("/metrics").await.text();
    for line in [
        "weir_keeper_aggregate_lag_seconds 4",
        "weir_keeper_aggregate_interval_seconds 86400",
        "weir_job_late{job=\"keeper-aggregate\"} 0",
        "weir_keeper_spend_usd_micros_total 1500000",
        "weir_keeper_quota_used_ratio{rank=\"1\"} 0.15",
        "weir_keeper_submissions_total{result=\"accepted\"} 1",
        "weir_keeper_selections_total{result=\"recommended\"} 1",
        "weir_keeper_secret_retrievals_total{result=\"made\"} 2",
        "weir_keeper_secret_retrievals_total{result=\"redeemed\"} 2",
        "weir_keeper_secret_retrievals_total{result=\"failed\"} 0",
        "weir_keeper_token_requests_total{result=\"issued\"} 2",
        "weir_keeper_sticky_fallbacks_total 0",
        "weir_auth_revocations_total 0",
        "weir_auth_revocation_cache_hits_total",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
}

#[tokio::test]
async fn the_full_pass_finds_what_the_feed_missed() {
    let (scene, client) = Scene::with_app().await;
    assert_eq!(scene.submit(&client, &used(1)).await.status, 202);
    scene.run("keeper-catch-up").await;
    let response: Value = scene.read(&client, "/apps/api/aggregates/today").await.json();
    assert_eq!(response["totals"]["requests"], 1, "{response}");
}

#[tokio::test]
async fn prices_are_read_from_a_file_and_a_malformed_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prices.json");
    std::fs::write(&file, "{}").unwrap();
    let url = format!("file://{}", file.display());
    let scene = Scene::start_with(|settings| settings.prices = Some(url)).await;
    scene.org(ORG).await;
    let client = scene.app(ORG, "api").await;
    let ran = scene.post("/v1/jobs/keeper-prices/run", &json!({})).await;
    assert_ne!(ran.json::<Value>()["outcome"], "ok", "{}", ran.text());
    let response: Value = scene.select(&client).await.json();
    assert_eq!(response["pricing"]["source"], "PRICE_BOOK");
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-keeper/data/bedrock_prices.json");
    std::fs::copy(book, &file).unwrap();
    assert!(scene.run("keeper-prices").await > 0);
    let response: Value = scene.select(&client).await.json();
    assert_ne!(response["pricing"]["source"], "PRICE_BOOK", "{response}");
}

#[tokio::test]
async fn counters_are_exported_to_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", folder.path().display());
    let scene = Scene::start_with(|settings| settings.export = Some(url)).await;
    scene.org(ORG).await;
    let client = scene.app(ORG, "api").await;
    assert_eq!(scene.submit(&client, &used(1)).await.status, 202);
    scene.app.clock.advance_ms(4 * 86_400_000);
    for _ in 0..12 {
        scene.run("keeper-export").await;
    }
    let object = folder.path().join(format!("2026/01/15/{ORG}.jsonl"));
    let lines = std::fs::read_to_string(object).unwrap();
    assert!(lines.contains("\"premium\"") && lines.lines().count() == 2, "{lines}");
    assert_eq!(scene.get(&at(ORG, "")).await.status, 200);
}
