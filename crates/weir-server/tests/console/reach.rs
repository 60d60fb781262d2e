//! A session sees what its scopes reach, and nothing of others: in the overview, in the live figures and in lists.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Browser, Scene};

const AT: &str = "2026-01-15T11:30:00Z";

/// Two orgs and two namespaces with something in each.
async fn two_tenants() -> Scene {
    let scene = Scene::start().await;
    for (number, org) in ["mine", "theirs"].into_iter().enumerate() {
        let number = u32::try_from(number).unwrap();
        scene.org(org, "ORG").await;
        scene.spend(org, number, AT, 1_000_000 * u64::from(number + 1)).await;
        scene.namespace(&format!("{org}-ns")).await;
        assert_eq!(scene.acquire(&format!("{org}-ns"), "gpt", "user", 1).await, 200);
    }
    scene.aggregate().await;
    scene
}

async fn signed_in(scene: &Scene, scope: &str) -> Browser {
    let token = scene.app.token(scope).await;
    scene.sign_in(&token).await
}

#[tokio::test]
async fn an_administrator_sees_every_org_and_namespace() {
    let scene = two_tenants().await;
    let ada = scene.ada().await;
    let overview: Value = scene.read(&ada, "/v1/overview").await.json();
    let keeper = &overview["keeper"];
    assert_eq!((&keeper["orgs"], &keeper["spent_usd_micros"]), (&json!(2), &json!(3_000_000)));
    assert_eq!((&keeper["quota_usd_micros"], &keeper["requests"]), (&json!(30_000_000), &json!(2)));
    assert_eq!(keeper["models"][0]["label"], "premium", "{keeper}");
    assert_eq!(keeper["top"][0]["org_id"], "theirs", "{keeper}");
    assert_eq!(overview["limiter"]["granted"], 2, "{overview}");
    assert_eq!(overview["store"]["status"], "ready");
    assert!(overview["jobs"]["total"].as_u64().unwrap() > 5);
}

#[tokio::test]
async fn a_token_of_one_org_sees_nothing_of_another() {
    let scene = two_tenants().await;
    let browser = signed_in(&scene, "org:mine").await;
    let overview = scene.read(&browser, "/v1/overview").await;
    let live = scene.read(&browser, "/v1/live").await;
    let budgets = scene.read(&browser, "/api/v1/budgets").await;
    for reply in [&overview, &live, &budgets] {
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert!(
            reply.text().contains("mine") && !reply.text().contains("theirs"),
            "{}",
            reply.text()
        );
    }
    let overview: Value = overview.json();
    assert_eq!(overview["keeper"]["spent_usd_micros"], 1_000_000);
    for part in ["store", "jobs", "limiter"] {
        assert_eq!(overview[part], Value::Null, "{overview}");
    }
    assert_eq!(live.json::<Value>()["jobs"], Value::Null);
    assert_eq!(live.json::<Value>()["limiter"], json!([]));
    assert_eq!(budgets.json::<Value>()["items"].as_array().unwrap().len(), 1);

    for path in [
        "/api/v1/budgets?org=theirs",
        "/api/v1/orgs/theirs",
        "/api/v1/orgs/theirs/aggregates/today/hours",
        "/api/v1/orgs/theirs/apps/api/aggregates/today/hours",
        "/v1/namespaces/mine-ns/entities",
        "/v1/settings",
        "/v1/tokens",
    ] {
        scene.read(&browser, path).await.problem(Code::FORBIDDEN);
    }
    let simulate = |org: &str| {
        let path = format!("/api/v1/orgs/{org}/simulate");
        scene.change(&browser, Method::POST, &path).json(&json!({"date": "today"})).send()
    };
    simulate("theirs").await.problem(Code::FORBIDDEN);
    assert_eq!(simulate("mine").await.status, 200);
}

#[tokio::test]
async fn a_token_of_one_namespace_sees_nothing_of_another() {
    let scene = two_tenants().await;
    let browser = signed_in(&scene, "ns:mine-ns:read").await;
    let overview = scene.read(&browser, "/v1/overview").await;
    assert!(!overview.text().contains("theirs"), "{}", overview.text());
    let overview: Value = overview.json();
    assert_eq!(overview["limiter"]["granted"], 1);
    assert_eq!(overview["limiter"]["top"][0]["namespace"], "mine-ns");
    assert_eq!((&overview["keeper"], &overview["store"]), (&Value::Null, &Value::Null));
    scene.read(&browser, "/api/v1/budgets").await.problem(Code::FORBIDDEN);
    let plan = json!({"levels": [{"level": "system", "limits": null}]});
    let path = "/v1/namespaces/theirs-ns/limits/plan";
    let refused = scene.change(&browser, Method::POST, path).json(&plan).send().await;
    refused.problem(Code::FORBIDDEN);
}

#[tokio::test]
async fn a_token_of_an_app_sees_no_figures_of_its_org() {
    let scene = two_tenants().await;
    let browser = signed_in(&scene, "org:mine app:api").await;
    let overview: Value = scene.read(&browser, "/v1/overview").await.json();
    assert_eq!(overview["keeper"], Value::Null, "{overview}");
    let budgets: Value = scene.read(&browser, "/api/v1/budgets").await.json();
    assert_eq!(budgets["items"], json!([]));
    scene.read(&browser, "/api/v1/budgets?org=mine").await.problem(Code::FORBIDDEN);
    let own = "/api/v1/orgs/mine/apps/api/aggregates/today/hours";
    assert_eq!(scene.read(&browser, own).await.status, 200);
}
