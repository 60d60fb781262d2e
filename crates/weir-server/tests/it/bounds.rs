use std::time::Duration;

use axum::Json;
use serde_json::json;
use utoipa_axum::routes;
use weir_framework::testing::TestApp;
use weir_framework::{Api, Code, RequiredScope, Service};

/// Routes that misbehave.
struct Odd;

#[utoipa::path(get, path = "/odd/slow", responses((status = 200)))]
async fn slow() {
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

#[utoipa::path(get, path = "/odd/panic", responses((status = 200)))]
async fn panics() {
    assert!(std::hint::black_box(false), "a secret of the handler");
}

#[utoipa::path(get, path = "/odd/large", responses((status = 200, body = Vec<u32>)))]
async fn large() -> Json<Vec<u32>> {
    Json((0..10_000).collect())
}

impl Service for Odd {
    fn routes(&self, api: Api) -> Api {
        let open = RequiredScope::Public("a test");
        api.route(open, routes!(slow)).route(open, routes!(panics)).route(open, routes!(large))
    }
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_ended() {
    let short = |settings: &mut weir_framework::Settings| {
        settings.edge.request_timeout = Duration::from_millis(50)
    };
    let app = TestApp::builder(vec![Box::new(Odd)]).settings(short).start().await;
    app.get("/odd/slow").send().await.problem(Code::REQUEST_TIMEOUT);
}

#[tokio::test]
async fn more_requests_than_allowed_are_told_to_come_back() {
    let one = |settings: &mut weir_framework::Settings| settings.edge.requests_max = 1;
    let app = TestApp::builder(vec![Box::new(Odd)]).settings(one).start().await;
    let mut first = tokio::spawn(app.get("/odd/slow").send());
    let refused = loop {
        let reply = app.get("/odd/large").send().await;
        if reply.status != 200 {
            break reply;
        }
        // This request may have been faster, so that the slow one was refused instead.
        if first.is_finished() {
            first = tokio::spawn(app.get("/odd/slow").send());
        }
    };
    refused.problem(Code::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("retry-after"), "1");
    first.abort();
    while app.get("/odd/large").send().await.status != 200 {}
}

#[tokio::test]
async fn a_handler_that_panics_fails_alone() {
    let app = TestApp::start(vec![Box::new(Odd)]).await;
    let reply = app.get("/odd/panic").send().await;
    reply.problem(Code::INTERNAL_ERROR);
    assert!(!reply.text().contains("secret"), "{}", reply.text());
    assert_eq!(app.get("/healthz").send().await.status, 200);
}

#[tokio::test]
async fn answers_are_compressed_for_those_who_ask() {
    let app = TestApp::start(vec![Box::new(Odd)]).await;
    let plain = app.get("/odd/large").send().await;
    assert_eq!(plain.header("content-encoding"), "");
    let packed = app.get("/odd/large").header("accept-encoding", "gzip").send().await;
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(packed.body.len() * 2 < plain.body.len());
    assert_eq!(packed.header("vary"), "accept-encoding");
    let small = app.get("/healthz").header("accept-encoding", "gzip").send().await;
    assert_eq!(small.header("content-encoding"), "");
}

#[tokio::test]
async fn a_server_that_stops_finishes_what_it_has_begun() {
    let app = TestApp::start(vec![]).await;
    assert_eq!(
        app.post("/v1/tokens", &json!({"name": "a", "scope": "admin"})).admin().send().await.status,
        201
    );
    app.stop().await.unwrap();
}
