//! Script in stored names comes back as the text of JSON, which no browser takes for a page.

use axum::http::Method;
use serde_json::{Value, json};

use crate::scene::{Scene, limit};

const SCRIPT: &str = "<script>alert(1)</script>\"'&\u{2028}";

#[tokio::test]
async fn hostile_names_are_text() {
    let scene = Scene::start().await;
    scene.org_named("acme", "ORG", SCRIPT.trim_end_matches('\u{2028}')).await;
    scene.spend("acme", 1, "2026-01-15T11:30:00Z", 1).await;
    scene.aggregate().await;
    let entity = json!({"name": SCRIPT, "metadata": {"note": SCRIPT}});
    scene.admin(Method::PUT, "/v1/namespaces/default/entities/user-1", &entity).await;
    let limits = json!({"limits": [limit(1)]});
    scene.admin(Method::PUT, "/v1/namespaces/default/limits/system", &limits).await;
    let body = json!({"credential": weir_framework::testing::ADMIN_KEY, "name": SCRIPT.trim_end_matches('\u{2028}')});
    let signed_in = scene.app.post("/v1/session", &body).send().await;
    let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
    let mut found = 0;
    for path in [
        "/v1/session",
        "/v1/overview",
        "/v1/live",
        "/v1/tokens",
        "/v1/security-log",
        "/v1/settings",
        "/api/v1/budgets",
        "/api/v1/orgs",
        "/v1/namespaces/default/entities",
    ] {
        let reply = scene.app.get(path).header("cookie", &cookie);
        // As a browser asks that opens the address itself.
        let reply = reply.header("accept", "text/html,*/*;q=0.8").send().await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert_eq!(reply.header("content-type"), "application/json", "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        found += usize::from(reply.json::<Value>().to_string().contains("<script>"));
    }
    assert!(found >= 5, "the names are shown as they are: {found}");
}
