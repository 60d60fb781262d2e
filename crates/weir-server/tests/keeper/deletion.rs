//! Orgs, apps and profiles that are deleted and restored.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Client, ORG, Scene, at, new_org, text, used};

const DAY_MS: u64 = 86_400_000;
const APP_PATH: &str = "/apps/api";

async fn refresh(scene: &Scene, client: &Client) -> weir_framework::testing::Reply {
    scene.app.post("/auth/refresh", &json!({"refresh_token": client.refresh})).send().await
}

#[tokio::test]
async fn a_deleted_app_loses_its_tokens_and_keeps_its_totals() {
    let (scene, client) = Scene::with_app().await;
    assert_eq!(scene.submit(&client, &used(1)).await.status, 202);
    scene.run("keeper-aggregate").await;
    let deleted = scene.delete(&at(ORG, APP_PATH)).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let deleted: Value = deleted.json();
    assert_eq!(deleted["client_id"], format!("org-{ORG}-app-api"));
    assert_eq!(deleted["deleted_at"], "2026-01-15T12:00:00.000Z");
    assert_eq!(deleted["restorable_until"], "2026-02-14T12:00:00.000Z");

    scene.select(&client).await.problem(Code::UNAUTHORIZED);
    scene.submit(&client, &used(2)).await.problem(Code::UNAUTHORIZED);
    refresh(&scene, &client).await.problem(Code::UNAUTHORIZED);
    scene.token(&client.id, &client.secret).await.problem(Code::UNAUTHORIZED);
    // The operator's own calls: like those of an unknown app.
    scene.get(&at(ORG, "/apps/api/model-selection")).await.problem(Code::NOT_FOUND);
    scene.post(&at(ORG, "/apps/api/costs"), &used(2)).await.problem(Code::NOT_FOUND);
    let batch = json!({"requests": [used(2)]});
    scene.post(&at(ORG, "/apps/api/costs/batch"), &batch).await.problem(Code::NOT_FOUND);
    scene.get(&at(ORG, APP_PATH)).await.problem(Code::NOT_FOUND);
    for scope in ["", APP_PATH] {
        let totals: Value = scene.get(&at(ORG, &format!("{scope}/aggregates/today"))).await.json();
        assert_eq!(totals["totals"]["cost_usd_micros"], 1_500_000, "{scope}");
    }
    let events: Value = scene.get(&at(ORG, "/apps/api/audit")).await.json();
    assert_eq!(events["items"][0]["action"], "app_deleted");
    assert_eq!(events["items"][0]["actor"], "admin");

    let listed = async |query: &str| {
        let page: Value = scene.get(&at(ORG, &format!("/apps{query}"))).await.json();
        page["items"].as_array().unwrap().clone()
    };
    assert!(listed("").await.is_empty());
    assert_eq!(listed("?deleted=true").await[0]["deleted_at"], "2026-01-15T12:00:00.000Z");
    scene.get(&at(ORG, "/apps?deleted=maybe")).await.problem(Code::INVALID_REQUEST);
    let taken = scene.put(&at(ORG, APP_PATH), &json!({"app_name": "API"})).await;
    let detail = text(&taken.json(), "detail");
    assert!(detail.contains("weir keeper app restore"), "{detail}");
    taken.problem(Code::ALREADY_EXISTS);
}

#[tokio::test]
async fn a_restored_app_needs_new_tokens() {
    let (scene, client) = Scene::with_app().await;
    scene.delete(&at(ORG, APP_PATH)).await;
    let restored = scene.post(&at(ORG, "/apps/api/restore"), &json!({})).await;
    assert_eq!(restored.status, 200, "{}", restored.text());
    assert_eq!(restored.json::<Value>()["id"], "api");
    scene.select(&client).await.problem(Code::UNAUTHORIZED);
    refresh(&scene, &client).await.problem(Code::UNAUTHORIZED);
    let tokens: Value = scene.token(&client.id, &client.secret).await.json();
    let client = Client { access: text(&tokens, "access_token"), ..client };
    assert_eq!(scene.select(&client).await.status, 200);
    assert_eq!(scene.submit(&client, &used(1)).await.status, 202);
    // Only the operator deletes and restores.
    for (method, tail) in [
        (Method::DELETE, APP_PATH),
        (Method::DELETE, ""),
        (Method::POST, "/restore"),
        (Method::POST, "/apps/api/restore"),
        (Method::DELETE, "/apps/api/inference-profiles/ours"),
    ] {
        let call = scene.call(method, &at(ORG, tail)).bearer(&client.access);
        call.send().await.problem(Code::FORBIDDEN);
    }
}

#[tokio::test]
async fn an_org_takes_its_apps_with_it_and_brings_them_back() {
    let scene = Scene::start().await;
    let org = scene.org("acme-2").await;
    let app = scene.app("acme-2", "api").await;
    assert_eq!((org.id.as_str(), app.id.as_str()), ("org-acme-2", "org-acme-2-app-api"));
    assert_eq!(scene.select(&app).await.status, 200);
    assert_eq!(scene.read(&org, "/apps/api").await.status, 200);
    assert_eq!(scene.delete(&at("acme-2", "")).await.status, 200);
    for client in [&org, &app] {
        scene.select(client).await.problem(Code::UNAUTHORIZED);
        refresh(&scene, client).await.problem(Code::UNAUTHORIZED);
        scene.token(&client.id, &client.secret).await.problem(Code::UNAUTHORIZED);
    }
    scene.put(&at("acme-2", ""), &new_org()).await.problem(Code::ALREADY_EXISTS);
    scene.put(&at("acme-2", "/apps/new"), &json!({"app_name": "N"})).await.problem(Code::NOT_FOUND);
    let orgs: Value = scene.get("/api/v1/orgs").await.json();
    assert_eq!(orgs["items"], json!([]));
    let orgs: Value = scene.get("/api/v1/orgs?deleted=true&limit=5").await.json();
    assert_eq!(orgs["items"][0]["id"], "acme-2");
    assert_eq!(scene.post(&at("acme-2", "/restore"), &json!({})).await.status, 200);
    assert_eq!(scene.token(&app.id, &app.secret).await.status, 200);
    assert_eq!(scene.token(&org.id, &org.secret).await.status, 200);
    scene.select(&app).await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn after_thirty_days_it_is_gone_for_good() {
    let scene = Scene::start_with(|settings| settings.token_rate = 0).await;
    scene.org(ORG).await;
    let old = scene.app(ORG, "api").await;
    scene.delete(&at(ORG, APP_PATH)).await;
    scene.app.clock.advance_ms(30 * DAY_MS);
    scene.post(&at(ORG, "/apps/api/restore"), &json!({})).await.problem(Code::NOT_FOUND);
    scene.app.clock.advance_ms(DAY_MS);
    assert_eq!(scene.run("keeper-purge").await, 1);
    assert_eq!(scene.run("keeper-purge").await, 0);
    let new = scene.app(ORG, "api").await;
    scene.token(&old.id, &old.secret).await.problem(Code::UNAUTHORIZED);
    assert_eq!(scene.select(&new).await.status, 200);
    assert_eq!(scene.token(&new.id, &new.secret).await.status, 200);
}

#[tokio::test]
async fn org_ids_that_make_client_ids_ambiguous_are_refused() {
    let scene = Scene::start().await;
    for org in ["a-app-b", "a-app", "Acme", "-a", "a_b"] {
        let reply = scene.put(&at(org, ""), &new_org()).await;
        let detail = text(&reply.json(), "detail");
        assert!(detail.contains("is not an org id: a UUID, or a name"), "{detail}");
        reply.problem(Code::INVALID_REQUEST);
    }
    // The closest that are possible: each has its own client.
    let org = scene.org("a").await;
    let app = scene.app("a", "app-b").await;
    let other = scene.org("app-b").await;
    assert_eq!(app.id, "org-a-app-app-b");
    for (client, path, status) in
        [(&org, "/apps/app-b", 200), (&app, "/apps/app-b", 200), (&app, "", 403), (&other, "", 200)]
    {
        let reply = scene.read(client, path).await;
        assert_eq!(reply.status, status, "{} {path}", client.id);
    }
    let crossed = scene.call(Method::GET, &at("a", "")).bearer(&other.access).send().await;
    crossed.problem(Code::FORBIDDEN);
}

#[tokio::test]
async fn a_profile_is_deleted() {
    let (scene, client) = Scene::with_app().await;
    let profiles = at(ORG, "/apps/api/inference-profiles");
    let arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3";
    let ours = json!({"profile_label": "ours", "inference_profile_arn": arn});
    assert_eq!(scene.post(&profiles, &ours).await.status, 201);
    assert_eq!(scene.delete(&format!("{profiles}/ours")).await.status, 204);
    scene.delete(&format!("{profiles}/ours")).await.problem(Code::NOT_FOUND);
    scene.delete(&format!("{profiles}/a%20b")).await.problem(Code::INVALID_REQUEST);
    let page: Value = scene.read(&client, "/apps/api/inference-profiles").await.json();
    assert_eq!(page["items"], json!([]));
    assert_eq!(scene.post(&profiles, &ours).await.status, 201);
}
