//! Setting up orgs and apps, and looking at them.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{ORG, OTHER, Scene, at, new_org, with};

#[tokio::test]
async fn an_org_is_created_once_and_then_changed() {
    let scene = Scene::start().await;
    let made = scene.put(&at(ORG, ""), &new_org()).await;
    assert_eq!((made.status, made.header("cache-control")), (201, "no-store"));
    let response: Value = made.json();
    assert_eq!(response["status"], "created");
    assert_eq!(response["org_id"], ORG);
    assert_eq!(response["credentials"]["client_id"], format!("org-{ORG}"));
    let retrieval = &response["credentials"]["secret_retrieval"];
    let url = format!(
        "{}?token={}",
        at(ORG, "/credentials/secret"),
        retrieval["token"].as_str().unwrap()
    );
    assert_eq!(retrieval["url"], url);
    assert_eq!(retrieval["expires_at"], "2026-01-15T12:10:00.000Z");

    let change = with(new_org(), json!({"org_name": "Other Corp"}));
    let changed = scene.put(&at(ORG, ""), &change).await;
    assert_eq!(changed.status, 200);
    let response: Value = changed.json();
    assert_eq!((&response["status"], &response["credentials"]), (&json!("updated"), &Value::Null));
    let got: Value = scene.get(&at(ORG, "")).await.json();
    assert_eq!(got["org_name"], "Other Corp");
    assert_eq!(got["quotas"], json!({"premium": 10_000_000, "standard": 5_000_000}));
    assert_eq!(got["tight_mode_threshold_pct"], 95);
}

#[tokio::test]
async fn a_pending_change_is_shown_until_midnight() {
    let scene = Scene::start().await;
    scene.org(ORG).await;
    scene.app(ORG, "api").await;
    let got: Value = scene.get(&at(ORG, "")).await.json();
    assert!(got.get("pending").is_none(), "{got}");
    let change = with(new_org(), json!({"timezone": "Asia/Tokyo", "quota_scope": "APP"}));
    let put: Value = scene.put(&at(ORG, ""), &change).await.json();
    // It is seven in the morning in New York.
    let pending = json!({"timezone": "Asia/Tokyo", "quota_scope": "APP",
        "effective_at": "2026-01-16T05:00:00.000Z"});
    let (of_org, of_app) = (scene.get(&at(ORG, "")).await, scene.get(&at(ORG, "/apps/api")).await);
    for response in [put, of_org.json(), of_app.json()] {
        assert_eq!(
            (&response["timezone"], &response["pending"]),
            (&json!("America/New_York"), &pending)
        );
        assert_eq!(response["quota_scope"], "ORG");
    }
    scene.app.clock.advance_ms(17 * 3_600_000);
    let got: Value = scene.get(&at(ORG, "/apps/api")).await.json();
    assert_eq!((&got["timezone"], got.get("pending")), (&json!("Asia/Tokyo"), None));
}

#[tokio::test]
async fn apps_inherit_omitted_settings() {
    let scene = Scene::start().await;
    let new = json!({"app_name": "API", "overrides": {"refresh_interval_secs": 30}});
    scene.put(&at(ORG, "/apps/api"), &new).await.problem(Code::NOT_FOUND);
    scene.org(ORG).await;
    let made: Value = scene.put(&at(ORG, "/apps/api"), &new).await.json();
    assert_eq!(made["refresh_interval_normal_secs"], 30);
    let inherited = made["inherited_fields"].as_array().unwrap();
    assert!(inherited.contains(&json!("quotas")) && inherited.contains(&json!("timezone")));
    assert!(!inherited.contains(&json!("refresh_interval_normal_secs")), "{made}");
    assert_eq!(made["credentials"]["client_id"], format!("org-{ORG}-app-api"));
    let again = scene.put(&at(ORG, "/apps/api"), &new).await;
    assert_eq!(again.status, 200, "{}", again.text());
    let list: Value = scene.get(&at(ORG, "/apps")).await.json();
    assert_eq!(list["items"][0]["app_id"], "api");
    let got: Value = scene.get(&at(ORG, "/apps/api")).await.json();
    assert_eq!((&got["app_name"], &got["org_name"]), (&json!("API"), &json!("Sample Corp")));
    scene.get(&at(ORG, "/apps/other")).await.problem(Code::NOT_FOUND);
    scene.get(&at(OTHER, "/apps")).await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn orgs_are_listed_page_by_page() {
    let scene = Scene::start().await;
    scene.org(ORG).await;
    scene.org(OTHER).await;
    let first: Value = scene.get("/api/v1/orgs?limit=1").await.json();
    assert_eq!(first["items"][0]["org_id"], ORG);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second: Value = scene.get(&format!("/api/v1/orgs?limit=1&cursor={cursor}")).await.json();
    assert_eq!(second["items"][0]["org_id"], OTHER);
    scene.get("/api/v1/orgs?cursor=x").await.problem(Code::INVALID_REQUEST);
}

#[tokio::test]
async fn each_mistake_has_its_own_code() {
    let scene = Scene::start().await;
    for (changes, code, field) in [
        (
            json!({"timezone": "Mars/Olympus"}),
            weir_server::keeper::codes::INVALID_CONFIG,
            "timezone",
        ),
        (json!({"quota_scope": "ALL"}), weir_server::keeper::codes::INVALID_CONFIG, "quota_scope"),
        (
            json!({"model_ordering": []}),
            weir_server::keeper::codes::INVALID_CONFIG,
            "model_ordering",
        ),
        (
            json!({"model_ordering": ["cheap"]}),
            weir_server::keeper::codes::INVALID_MODEL_LABEL,
            "model_ordering",
        ),
        (json!({"quotas": {"premium": 1}}), weir_server::keeper::codes::INVALID_CONFIG, "quotas"),
        (
            json!({"quotas": {"premium": -1, "standard": 1}}),
            weir_server::keeper::codes::INVALID_CONFIG,
            "quotas",
        ),
        (
            json!({"overrides": {"tight_mode_threshold_pct": 49}}),
            weir_server::keeper::codes::INVALID_CONFIG,
            "overrides",
        ),
        (
            json!({"overrides": {"agg_shard_count": 9}}),
            weir_server::keeper::codes::INVALID_CONFIG,
            "overrides",
        ),
        (json!({"color": "red"}), Code::INVALID_REQUEST, "color"),
        (json!({"org_name": 1}), Code::INVALID_REQUEST, "org_name"),
    ] {
        let response = scene.put(&at(ORG, ""), &with(new_org(), changes)).await.problem(code);
        let named = response.details["field"].as_str().unwrap();
        assert!(named.contains(field), "{named} is not {field}");
    }
    for org in ["X", "a_b", "a-app-b", "{550e8400-e29b-41d4-a716-446655440000}"] {
        scene.put(&at(org, ""), &new_org()).await.problem(Code::INVALID_REQUEST);
        scene.get(&at(org, "/apps/a/model-selection")).await.problem(Code::INVALID_REQUEST);
    }
    scene.org(ORG).await;
    let app = json!({"app_name": "a"});
    scene.put(&at(ORG, "/apps/a%23b"), &app).await.problem(Code::INVALID_REQUEST);
    let long = "a".repeat(129);
    scene.put(&at(ORG, &format!("/apps/{long}")), &app).await.problem(Code::INVALID_REQUEST);
    let put = scene.call(Method::PUT, &at(ORG, "")).admin().body("org_name=x");
    put.header("content-type", "text/plain").send().await.problem(Code::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn clients_read_only_their_own_configuration() {
    let scene = Scene::start().await;
    let org = scene.org(ORG).await;
    let app = scene.app(ORG, "api").await;
    assert_eq!(scene.read(&org, "").await.status, 200);
    assert_eq!(scene.read(&org, "/apps").await.status, 200);
    assert_eq!(scene.read(&org, "/apps/api").await.status, 200);
    assert_eq!(scene.read(&app, "/apps/api").await.status, 200);
    scene.read(&app, "").await.problem(Code::FORBIDDEN);
    scene.read(&app, "/apps").await.problem(Code::FORBIDDEN);
    let put = scene.call(Method::PUT, &at(ORG, "")).bearer(&org.access).json(&new_org());
    put.send().await.problem(Code::FORBIDDEN);
}

#[tokio::test]
async fn the_write_rate_applies_to_a_key() {
    let scene = Scene::start_with(|settings| settings.write_rate = 3).await;
    for _ in 0..3 {
        assert!(scene.put(&at(ORG, ""), &new_org()).await.status < 300);
    }
    let refused = scene.put(&at(ORG, ""), &new_org()).await;
    refused.problem(Code::RATE_LIMIT_EXCEEDED);
    assert!(!refused.header("retry-after").is_empty());
}
