use serde_json::Value;
use weir_framework::Code;
use weir_framework::testing::TestApp;

#[tokio::test]
async fn probes_need_no_credentials() {
    let app = TestApp::start(vec![]).await;
    for path in ["/healthz", "/readyz", "/health"] {
        let reply = app.get(path).send().await;
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
    }
    let ready: Value = app.get("/readyz").send().await.json();
    assert_eq!(ready["status"], "ready");
    assert_eq!(ready["store"], "embedded");
    assert!(ready["latency_ms"].as_f64().unwrap() >= 0.0);
    app.stop().await.unwrap();
}

#[tokio::test]
async fn a_probe_may_leave_the_store_out() {
    let app = TestApp::start(vec![]).await;
    for path in ["/readyz", "/health"] {
        let ready: Value = app.get(&format!("{path}?store=ignore")).send().await.json();
        assert_eq!((&ready["status"], &ready["latency_ms"]), (&"ready".into(), &0.0.into()));
        assert_eq!(app.get(&format!("{path}?store=check")).send().await.status, 200);
        for wrong in ["store=none", "store=", "stores=ignore"] {
            let reply = app.get(&format!("{path}?{wrong}")).send().await;
            reply.problem(Code::INVALID_REQUEST);
        }
    }
}

#[tokio::test]
async fn metrics_are_for_the_operator_and_count_requests() {
    let app = TestApp::start(vec![]).await;
    app.get("/metrics").send().await.problem(Code::UNAUTHORIZED);
    for _ in 0..3 {
        app.get("/healthz").send().await;
    }
    app.get("/nowhere/at/all").send().await;
    let text = app.get("/metrics").admin().send().await.text();
    let count = r#"weir_http_requests_total{method="GET",route="/healthz",status="200"} 3"#;
    assert!(text.contains(count), "{text}");
    assert!(text.contains(r#"route="none",status="404"} 1"#), "{text}");
    assert!(!text.contains("nowhere"), "a path that was asked for is no label");
    assert!(text.contains("process_resident_memory_bytes "), "{text}");
    assert!(text.contains("weir_store_commits_total"), "{text}");
    assert!(text.trim_end().ends_with("# EOF"));
}

#[tokio::test]
async fn a_bearer_of_the_admin_key_may_scrape() {
    let app = TestApp::builder(vec![])
        .settings(|settings| {
            settings.auth.admin_key =
                Some(weir_framework::auth::Secret::new("wak_0123456789abcdef"))
        })
        .start()
        .await;
    let reply = app.get("/metrics").bearer("wak_0123456789abcdef").send().await;
    assert_eq!(reply.status, 200);
    app.get("/metrics").bearer("wak_0123456789abcdeg").send().await.problem(Code::UNAUTHORIZED);
}

/// All gauges: figures that rise and fall. What only grows is a counter.
const GAUGES: &[&str] = &[
    "weir_connections_open",
    "weir_http_body_bytes_in_flight",
    "weir_http_requests_in_flight",
    "weir_job_failed",
    "weir_job_lag_seconds",
    "weir_job_late",
    "weir_keeper_aggregate_interval_seconds",
    "weir_keeper_aggregate_lag_seconds",
    "weir_keeper_quota_used_ratio",
    "weir_keeper_unsummed_totals",
    "weir_limiter_leases_open",
    "weir_tls_certificate_expiry_timestamp_seconds",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "weir_store_consumer_lag_commits",
    "weir_store_dirty_bytes",
    "weir_store_disk_free_bytes",
    "weir_store_log_bytes",
    "weir_store_refuses_growth",
    "weir_store_refuses_writes",
    "weir_store_sweep_backlog_seconds",
];

#[tokio::test]
async fn what_only_grows_is_a_counter_that_ends_in_total() {
    let services: Vec<Box<dyn weir_framework::Service>> = vec![
        Box::new(weir_server::limiter::LimiterService::default()),
        Box::new(weir_server::keeper::KeeperService::default()),
    ];
    let app = TestApp::start(services).await;
    let text = app.get("/metrics").admin().send().await.text();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let mut counters = 0;
    for (name, kind) in types {
        let is_base_unit = !["_ms", "_percent"].iter().any(|unit| name.ends_with(unit));
        assert!(is_base_unit, "{name} is in another unit than seconds or a ratio");
        let samples = text.lines().filter(|line| line.strip_prefix(name).is_some_and(is_sample));
        match kind {
            "counter" => {
                counters += 1;
                for sample in samples {
                    let is_total = sample.starts_with(&format!("{name}_total"));
                    assert!(is_total, "a counter without _total: {sample}");
                }
            }
            "gauge" => assert!(GAUGES.contains(&name), "{name} is a gauge; does it only grow?"),
            "histogram" | "info" => {}
            other => panic!("{name} is of the kind {other}"),
        }
    }
    assert!(counters >= 10, "only {counters} counters in {text}");
}

/// Whether this follows the name of a family in a sample of it.
fn is_sample(rest: &str) -> bool {
    rest.starts_with(['{', ' ']) || rest.starts_with("_total")
}
