//! The edge on a store that instances share: two servers on one DynamoDB endpoint.

use serde_json::Value;
use weir_framework::auth::signing::KeySource;
use weir_framework::testing::TestApp;
use weir_framework::{Code, Settings};
use weir_table::clock::Clock;
use weir_table::cursor::CursorKey;
use weir_table::{AnyBackend, Store};

async fn store(prefix: &str) -> Store<AnyBackend> {
    let dynamo = weir_testkit::stage::dynamodb(prefix).await;
    Store::new(AnyBackend::Dynamo(dynamo), CursorKey::new([7; 32]))
}

fn shared(settings: &mut Settings) {
    let secret = b"a signing key that both instances know of".to_vec();
    settings.auth.signing = Some(KeySource::Hs256(secret.into()));
    // Tokens expire by this clock, items by DynamoDB's: it must not be behind.
    settings.clock = Clock::manual(Clock::System.now_ms());
}

#[tokio::test]
async fn instances_share_tokens_and_revocations() {
    let prefix = weir_testkit::unique_prefix("edge");
    let start = async || {
        let store = store(&prefix).await;
        TestApp::builder(vec![]).settings(shared).store(store).start().await
    };
    let (one, two) = (start().await, start().await);
    let token = one.token("metrics").await;
    let me: Value = two.get("/v1/whoami").bearer(&token).send().await.json();
    assert_eq!(me["scope"], "metrics");
    let listed: Value = two.get("/v1/tokens").admin().send().await.json();
    let id = listed["items"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/tokens/{id}");
    let revoked = one.request(axum::http::Method::DELETE, &path).admin().send().await;
    assert_eq!(revoked.status, 200, "{}", revoked.text());
    one.get("/v1/whoami").bearer(&token).send().await.problem(Code::UNAUTHORIZED);
    two.clock.advance_ms(61_000);
    two.get("/v1/whoami").bearer(&token).send().await.problem(Code::UNAUTHORIZED);
    let ready: Value = two.get("/readyz").send().await.json();
    assert_eq!(ready["store"], "dynamodb");
    let metrics = two.get("/metrics").admin().send().await.text();
    assert!(metrics.contains(r#"weir_dynamodb_calls_total{verb="query"}"#), "{metrics}");
    assert!(two.data().is_none(), "no folder, and no admin key saved anywhere");
    two.stop().await.unwrap();
}

/// The calls of a verb that the server made so far.
async fn calls(app: &TestApp, verb: &str) -> u64 {
    let text = app.get("/metrics").admin().send().await.text();
    let name = format!("weir_dynamodb_calls_total{{verb=\"{verb}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn probes_share_a_read_and_list_no_tables() {
    let store = store(&weir_testkit::unique_prefix("edge")).await;
    let app = TestApp::builder(vec![]).settings(shared).store(store).start().await;
    let before = (calls(&app, "get").await, calls(&app, "tables").await);
    let started = std::time::Instant::now();
    for _ in 0..20 {
        let (one, two) = tokio::join!(app.get("/readyz").send(), app.get("/health").send());
        assert_eq!((one.status, two.status), (200, 200));
    }
    let reads = calls(&app, "get").await - before.0;
    // One a second.
    assert!((1..=started.elapsed().as_secs() + 2).contains(&reads), "{reads} reads");
    assert_eq!(calls(&app, "tables").await, before.1);
}

#[tokio::test]
async fn a_shared_store_without_a_shared_key_is_refused() {
    let store = store(&weir_testkit::unique_prefix("edge")).await;
    let opened = weir_framework::App::open(store, Settings::default(), None, &[]).await;
    let problem = opened.unwrap_err().to_string();
    assert!(problem.contains("signing.key"), "{problem}");
}
