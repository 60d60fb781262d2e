//! Budgets, asked from outside.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::settings::JobSettings;
use weir_framework::testing::TestApp;
use weir_keeper::day::OrgDay;
use weir_keeper::ids::{AppId, Label, OrgId, Scope};
use weir_keeper::keys;
use weir_server::{Settings, services};
use weir_table::Write;
use weir_table::expr::Update;

const ORG: &str = "/api/v1/orgs/550e8400-e29b-41d4-a716-446655440000";

/// A server with an org and its app `shop`, which may spend a dollar on `premium` and then on `economy`.
async fn shop() -> TestApp {
    let app = TestApp::start(services(Settings::default(), &JobSettings::default())).await;
    let org = json!({"org_name": "Acme", "timezone": "UTC", "quota_scope": "APP",
        "model_ordering": ["premium", "economy"],
        "quotas": {"premium": 1_000_000, "economy": 1_000_000}});
    for (path, body) in [(ORG.to_owned(), org), (of_shop(""), json!({"app_name": "Shop"}))] {
        let put = app.request(Method::PUT, &path).admin().json(&body).send().await;
        assert_eq!(put.status, 201, "{}", put.text());
    }
    app
}

fn of_shop(path: &str) -> String {
    format!("{ORG}/apps/shop{path}")
}

/// A submission at the server's time.
fn submission(app: &TestApp, number: u64, changes: Value) -> Value {
    let now_ms = i64::try_from(app.clock.now_ms()).unwrap();
    let mut body = json!({
        "request_id": format!("0e8e7a30-0000-4000-8000-{number:012}"),
        "model_label": "premium",
        "bedrock_model_id": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "input_tokens": 1_000, "output_tokens": 500, "status": "OK",
        "timestamp": weir_calendar::rfc3339(now_ms),
    });
    if let (Some(all), Value::Object(more)) = (body.as_object_mut(), changes) {
        all.extend(more);
    }
    body
}

async fn job(app: &TestApp, name: &str) -> Value {
    let jobs: Value = app.get("/v1/jobs").admin().send().await.json();
    let job = jobs
        .pointer("/items")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .find(|job| job["name"] == name);
    job.unwrap().clone()
}

#[tokio::test]
async fn the_cost_of_a_submission_has_a_bound_that_the_error_names() {
    let app = shop().await;
    let dear = submission(&app, 1, json!({"cost_usd_micros": 1_000_000_000_001_u64}));
    let refused = app.post(&of_shop("/costs"), &dear).admin().send().await;
    let problem = refused.problem(Code::INVALID_REQUEST);
    assert!(problem.detail.contains("at most 1000000000000 micro-USD"), "{}", problem.detail);
    let most = submission(&app, 1, json!({"cost_usd_micros": 1_000_000_000_000_u64}));
    assert_eq!(app.post(&of_shop("/costs"), &most).admin().send().await.status, 202);
    app.stop().await.unwrap();
}

#[tokio::test]
async fn a_scope_that_cannot_be_summed_is_closed_and_fails_its_jobs() {
    let app = shop().await;
    let selection = of_shop("/model-selection");
    assert_eq!(app.get(&selection).admin().send().await.status, 200);
    let today = OrgDay::new(2026, 1, 15).unwrap();
    let (org, shop) = (OrgId::new(&ORG[ORG.len() - 36..]).unwrap(), AppId::new("shop").unwrap());
    let key = keys::usage(&Scope::App(org, shop), &Label::new("premium").unwrap(), 3, today);
    let set = |value: Value| {
        let update = Update::default();
        let update = match value.as_str() {
            Some(text) => update.set("cost_usd_micros", text),
            None => update.set("cost_usd_micros", 0),
        };
        app.store.write(Write::update("weir-keeper-usage-agg-sharded", key.clone(), update))
    };
    set(json!("a lot")).await.unwrap();
    let run = async |name: &str| {
        app.post(&format!("/v1/jobs/{name}/run"), &json!({})).admin().send().await.status
    };
    for name in ["keeper-aggregate", "keeper-catch-up"] {
        assert_eq!(run(name).await, 500, "{name}");
        let status = job(&app, name).await;
        assert_eq!(status["last_outcome"], "failed", "{status}");
        let error = status["last_error"].as_str().unwrap();
        assert!(error.contains("org-550e8400") && error.contains("cannot be summed"), "{error}");
    }
    let closed = app.get(&selection).admin().send().await;
    assert_eq!(closed.status, 429, "{}", closed.text());
    let metrics = app.get("/metrics").admin().send().await.text();
    assert!(metrics.contains("weir_keeper_unsummed_totals 1\n"), "{metrics}");
    // The job follows the feed all the same, and reports until the counter is repaired.
    let other = submission(&app, 2, json!({"model_label": "economy"}));
    assert_eq!(app.post(&of_shop("/costs"), &other).admin().send().await.status, 202);
    assert_eq!(run("keeper-aggregate").await, 500);
    set(json!(null)).await.unwrap();
    for name in ["keeper-aggregate", "keeper-catch-up"] {
        assert_eq!(run(name).await, 200, "{name}");
        assert_eq!(job(&app, name).await["last_outcome"], "ok");
    }
    assert_eq!(app.get(&selection).admin().send().await.status, 200);
    app.stop().await.unwrap();
}
