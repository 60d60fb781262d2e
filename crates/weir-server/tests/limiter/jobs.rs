//! Background jobs of the limiter, run over HTTP.

use serde_json::{Value, json};

use crate::scene::{Scene, minutely};

impl Scene {
    /// Runs a job now. Returns how many items it worked on.
    async fn run(&self, job: &str) -> u64 {
        let ran = self.app.post(&format!("/v1/jobs/{job}/run"), &json!({})).admin().send().await;
        assert_eq!(ran.status, 200, "{}", ran.text());
        ran.json::<Value>()["items"].as_u64().unwrap()
    }
}

#[tokio::test]
async fn acquired_tokens_are_recorded_as_usage() {
    let scene = Scene::with_limits().await;
    for _ in 0..3 {
        assert_eq!(scene.acquire(json!({"rpm": 2, "tpm": 100})).await.status, 200);
    }
    scene.run("limiter-usage").await;
    let usage = scene.get("usage?entity=user&window=daily").await;
    assert_eq!(usage.status, 200, "{}", usage.text());
    let usage: Value = usage.json();
    assert_eq!(usage["items"][0]["used"], json!({"rpm": 6, "tpm": 300}), "{usage}");
}

#[tokio::test]
async fn changed_system_limits_reach_live_buckets() {
    let scene = Scene::with_limits().await;
    assert_eq!(scene.acquire(json!({"rpm": 1})).await.status, 200);
    let lower = json!({"limits": [minutely("rpm", 7)]});
    assert_eq!(scene.put("limits/system", &lower).await.status, 200);
    scene.run("limiter-maintain").await;
    scene.app.clock.advance_ms(10_000);
    scene.run("limiter-propagate").await;
    let buckets: Value = scene.get("entities/user/buckets").await.json();
    assert!(buckets.to_string().contains("\"capacity\":7"), "{buckets}");
}

#[tokio::test]
async fn every_job_runs() {
    let scene = Scene::with_limits().await;
    for job in ["limiter-leases", "limiter-leases-open", "limiter-purge", "limiter-propagate"] {
        scene.run(job).await;
    }
    let metrics = scene.app.get("/metrics").admin().send().await.text();
    assert!(metrics.contains("weir_limiter_leases_open 0"), "{metrics}");
}
