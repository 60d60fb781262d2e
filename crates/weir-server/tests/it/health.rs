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
