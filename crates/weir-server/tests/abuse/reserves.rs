//! All permits are taken: probes and operators have some of their own.

use std::sync::Arc;

use axum::extract::State;
use tokio::sync::Semaphore;
use utoipa_axum::routes;
use weir_framework::app::{Opened, Opening};
use weir_framework::settings::JobSettings;
use weir_framework::testing::TestApp;
use weir_framework::{Api, App, Code, RequiredScope, Service, Settings};

/// A route that never answers. Each request that has got there adds a permit.
struct Stuck(Arc<Semaphore>);

#[utoipa::path(get, path = "/stuck", responses((status = 200)))]
async fn stuck(State(app): State<App>) {
    app.kept::<Arc<Semaphore>>().unwrap().add_permits(1);
    std::future::pending::<()>().await;
}

impl Service for Stuck {
    fn open<'a>(&'a self, _: &'a App) -> Opening<'a> {
        Box::pin(async { Ok(Opened::default().keep(Arc::clone(&self.0))) })
    }

    fn routes(&self, api: Api) -> Api {
        api.route(RequiredScope::Public("a test"), routes!(stuck))
    }
}

/// A server whose only permit is taken, and tokens for the scopes `ns` and `metrics`.
async fn full() -> (TestApp, [String; 2]) {
    let mut services =
        weir_server::services(weir_server::Settings::default(), &JobSettings::default());
    let entered = Arc::new(Semaphore::new(0));
    services.push(Box::new(Stuck(Arc::clone(&entered))));
    let one = |settings: &mut Settings| settings.edge.requests_max = 1;
    let app = TestApp::builder(services).settings(one).start().await;
    let tokens = [app.token("ns:default").await, app.token("metrics").await];
    let stuck = app.get("/stuck");
    tokio::spawn(async move { stuck.send().await });
    entered.acquire().await.unwrap().forget();
    (app, tokens)
}

#[tokio::test]
async fn probes_and_operators_are_served_when_nobody_else_is() {
    let (app, [limiter, metrics]) = full().await;
    for _ in 0..50 {
        for path in ["/healthz", "/readyz", "/health"] {
            assert_eq!(app.get(path).send().await.status, 200, "{path}");
        }
        assert_eq!(app.get("/v1/jobs").admin().send().await.status, 200);
        assert_eq!(app.get("/metrics").bearer(&metrics).send().await.status, 200);
    }
    let new = serde_json::json!({"name": "made while overloaded", "scope": "ns:default"});
    assert_eq!(app.post("/v1/tokens", &new).admin().send().await.status, 201);
    let refused = app.get("/v1/whoami").bearer(&limiter).send().await;
    refused.problem(Code::SERVICE_UNAVAILABLE);
    assert_eq!(refused.header("retry-after"), "1");
}

#[tokio::test]
async fn a_key_that_is_not_checked_gets_no_permit() {
    let (app, [limiter, _]) = full().await;
    let call = |path: &str| app.get(path).header("x-api-key", "any text");
    call("/v1/jobs").send().await.problem(Code::UNAUTHORIZED);
    call("/openapi.json").send().await.problem(Code::SERVICE_UNAVAILABLE);
    let ask = serde_json::json!({"grant_type": "client_credentials"});
    let ask = app.post("/auth/token", &ask).header("x-api-key", "any text");
    ask.send().await.problem(Code::SERVICE_UNAVAILABLE);
    app.get("/metrics").bearer(&limiter).send().await.problem(Code::FORBIDDEN);
}
