//! Background jobs and metrics.

use serde_json::Value;

use crate::scene::Scene;

const JOBS: [&str; 6] = [
    "practice-rollup",
    "practice-leases",
    "practice-purges",
    "practice-erasures",
    "practice-object-sweep",
    "practice-usage-archive",
];

#[tokio::test]
async fn every_job_runs_on_a_table_with_nothing_to_do() {
    let scene = Scene::start().await;
    for job in JOBS {
        let ran = scene.run_job(job).await;
        assert_eq!(ran["outcome"], "done", "{job}: {ran}");
    }
    let metrics = scene.app.get("/metrics").admin().send().await.text();
    for name in [
        r#"weir_practice_job_leases_expired{type="script-generation"} 0"#,
        r#"weir_practice_job_leases_expired{type="problem-extraction"} 0"#,
        "weir_practice_clock_ahead_seconds 0",
        "weir_practice_clock_ahead_requests_total 0",
        "weir_practice_rollups_total 0",
    ] {
        assert!(metrics.contains(name), "{name} is not in {metrics}");
    }
}

#[tokio::test]
async fn old_usage_is_archived_where_that_is_configured() {
    let settings = weir_server::practice::Settings {
        usage_archive_days: Some(30),
        ..weir_server::practice::Settings::default()
    };
    let scene = Scene::with(settings).await;
    let ann = scene.user("ann", 1).await;
    for _ in 0..3 {
        scene.take(&ann, "hint").await;
    }
    let archived = scene.run_job("practice-usage-archive").await;
    assert_eq!(archived["items"], 0, "{archived}");
    scene.app.clock.advance_ms(31 * 86_400_000);
    let archived = scene.run_job("practice-usage-archive").await;
    assert_eq!(archived["items"], 3, "{archived}");
    let folder = scene.app.data().unwrap().join("practice-objects");
    assert!(folder.is_dir());
    let again: Value = scene.run_job("practice-usage-archive").await;
    assert_eq!(again["items"], 0, "{again}");
}
