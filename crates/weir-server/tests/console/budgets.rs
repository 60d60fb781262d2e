//! Budgets of the present day agree with the totals, the selection and each other.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::Scene;

const TODAY: &str = "2026-01-15T11:30:00Z";

#[tokio::test]
async fn a_budget_agrees_with_the_totals_and_the_selection() {
    for scope in ["ORG", "APP"] {
        let scene = Scene::start().await;
        scene.org("acme", scope).await;
        scene.spend("acme", 1, "2026-01-14T13:00:00Z", 700_000).await;
        scene.spend("acme", 2, TODAY, 9_900_000).await;
        scene.spend("acme", 3, TODAY, 200_000).await;
        scene.aggregate().await;
        let budgets = scene.get("/api/v1/budgets").await;
        let budget = &budgets["items"][0];
        let totals = scene.get("/api/v1/orgs/acme/aggregates/today").await;
        for (ours, theirs) in [
            ("spent_usd_micros", "total_cost_usd_micros"),
            ("quota_usd_micros", "total_quota_usd_micros"),
            ("used_pct", "total_quota_pct"),
            ("current_model", "current_active_model"),
            ("sticky_fallback_active", "sticky_fallback_active"),
            ("timezone", "timezone"),
            ("day", "date"),
            ("quota_scope", "quota_scope"),
        ] {
            assert_eq!(budget[ours], totals[theirs], "{scope} {ours}: {budget}\n{totals}");
        }
        assert_eq!(budget["requests"], 2, "{scope}");
        assert_eq!(budget["current_model"], "standard", "{scope}");
        let days = budget["last_14_days"].as_array().unwrap();
        assert_eq!(days.len(), 14);
        assert_eq!((&days[12], &days[13]), (&json!(700_000), &json!(10_100_000)), "{scope}");
        let premium = json!({"label": "premium", "spent_usd_micros": 10_100_000,
            "quota_usd_micros": 10_000_000, "requests": 2});
        assert_eq!(budget["models"][0], premium, "{scope}");
    }
}

#[tokio::test]
async fn a_spent_chain_is_exceeded() {
    let scene = Scene::start().await;
    scene.org("acme", "ORG").await;
    let body = json!({
        "org_name": "Acme", "timezone": "UTC", "quota_scope": "ORG",
        "model_ordering": ["premium"], "quotas": {"premium": 1_000_000},
    });
    scene.admin(Method::PUT, "/api/v1/orgs/acme", &body).await;
    for (number, spent, status, current) in [
        (1, 900_000, "NORMAL", json!("premium")),
        (2, 60_000, "TIGHT", json!("premium")),
        (3, 40_000, "EXCEEDED", Value::Null),
    ] {
        scene.spend("acme", number, TODAY, spent).await;
        scene.aggregate().await;
        let budget = scene.get("/api/v1/budgets?org=acme").await["items"][0].clone();
        assert_eq!((&budget["status"], &budget["current_model"]), (&json!(status), &current));
    }
    let overview = scene.get("/v1/overview").await;
    let keeper = &overview["keeper"];
    assert_eq!((&keeper["exceeded"], &keeper["above_80_pct"]), (&json!(1), &json!(1)), "{keeper}");
}

#[tokio::test]
async fn orgs_are_listed_page_by_page() {
    let scene = Scene::start().await;
    for number in 0..5 {
        scene.org(&format!("org-{number}"), if number % 2 == 0 { "ORG" } else { "APP" }).await;
    }
    scene.admin(Method::DELETE, "/api/v1/orgs/org-3", &Value::Null).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = scene.get(&format!("/api/v1/budgets?limit=2{cursor}")).await;
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|org| org["org_id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["org-0", "org-1", "org-2", "org-4"]);
    let missing = scene.get("/api/v1/budgets?org=nobody").await;
    assert_eq!(missing["items"], json!([]));
    let wrong = scene.app.get("/api/v1/budgets?limit=0").admin().send().await;
    wrong.problem(Code::INVALID_REQUEST);
}
