//! Secrets: fetched once, rotated, and old ones for as long as was said.

use axum::http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use weir_framework::Code;

use crate::scene::{ORG, OTHER, Scene, at, new_org, text};

/// Where a secret that was promised can be had.
fn url(reply: &Value) -> String {
    text(&reply["secret_retrieval"], "url")
}

#[tokio::test]
async fn a_secret_is_returned_once() {
    let scene = Scene::start().await;
    let made: Value = scene.put(&at(ORG, ""), &new_org()).await.json();
    let url = url(&made["credentials"]);
    // Looking without taking the answer must not use it up.
    assert_eq!(scene.call(Method::HEAD, &url).send().await.status, 405);
    let reply = scene.call(Method::GET, &url).send().await;
    assert_eq!((reply.status, reply.header("cache-control")), (200, "no-store"));
    let reply: Value = reply.json();
    assert_eq!(reply["client_id"], format!("org-{ORG}"));
    assert_eq!(reply["retrieved_at"], "2026-01-15T12:00:00.000Z");
    assert_eq!(reply["expires_at"], "2026-01-15T12:10:00.000Z");
    scene.call(Method::GET, &url).send().await.problem(Code::NOT_FOUND);
    assert_eq!(
        scene.token(&format!("org-{ORG}"), &text(&reply, "client_secret")).await.status,
        200
    );
}

#[tokio::test]
async fn wrong_and_expired_tokens_are_refused() {
    let scene = Scene::start().await;
    scene.org(OTHER).await;
    let made: Value = scene.put(&at(ORG, ""), &new_org()).await.json();
    let url = url(&made["credentials"]);
    let unknown = at(ORG, "/credentials/secret?token=550e8400-e29b-41d4-a716-446655449999");
    for wrong in [url.replace(ORG, OTHER), unknown, at(ORG, "/credentials/secret?token=x")] {
        scene.call(Method::GET, &wrong).send().await.problem(Code::UNAUTHORIZED);
    }
    let missing = at(ORG, "/credentials/secret");
    scene.call(Method::GET, &missing).send().await.problem(Code::UNAUTHORIZED);
    scene.app.clock.advance_ms(600_000);
    scene.call(Method::GET, &url).send().await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn one_of_fifty_concurrent_requests_gets_the_secret() {
    let (scene, _) = Scene::with_app().await;
    let path = at(ORG, "/apps/api/credentials/rotate");
    let url = url(&scene.post(&path, &json!({})).await.json());
    let mut all = JoinSet::new();
    for _ in 0..50 {
        all.spawn(scene.call(Method::GET, &url).send());
    }
    let replies = all.join_all().await;
    let mut statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    statuses.sort_unstable();
    // Those who have to wait too long for their turn may come back, and then find it used.
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 404 | 503)), "{statuses:?}");
    let won = replies.iter().find(|reply| reply.status == 200).unwrap();
    let secret = text(&won.json(), "client_secret");
    assert_eq!(scene.token(&format!("org-{ORG}-app-api"), &secret).await.status, 200);
    scene.call(Method::GET, &url).send().await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn an_old_secret_works_until_its_grace_ends() {
    let scene = Scene::start_with(|settings| settings.token_rate = 0).await;
    let client = scene.org(ORG).await;
    let path = at(ORG, "/credentials/rotate");
    let reply: Value = scene.post(&path, &json!({"grace_period_hours": 2})).await.json();
    assert_eq!(reply["rotation"]["grace_period_hours"], 2);
    assert_eq!(reply["rotation"]["rotated_at"], "2026-01-15T12:00:00.000Z");
    assert_eq!(reply["rotation"]["old_secret_expires_at"], "2026-01-15T14:10:00.000Z");
    let fetched: Value = scene.call(Method::GET, &url(&reply)).send().await.json();
    let new = text(&fetched, "client_secret");
    for secret in [&client.secret, &new] {
        assert_eq!(scene.token(&client.id, secret).await.status, 200);
    }
    scene.app.clock.advance_ms(2 * 3_600_000);
    scene.token(&client.id, &client.secret).await.problem(Code::UNAUTHORIZED);
    assert_eq!(scene.token(&client.id, &new).await.status, 200);
}

#[tokio::test]
async fn rotation_requires_a_client_and_a_valid_grace_period() {
    let (scene, _) = Scene::with_app().await;
    let path = at(ORG, "/apps/api/credentials/rotate");
    // Without a body it is a day.
    let reply = scene.call(Method::POST, &path).admin().send().await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json::<Value>()["rotation"]["grace_period_hours"], 24);
    scene.post(&path, &json!({"grace_period_hours": 169})).await.problem(Code::INVALID_REQUEST);
    scene.post(&path, &json!({"grace_period_hours": -1})).await.problem(Code::INVALID_REQUEST);
    scene.post(&at(ORG, "/apps/b/credentials/rotate"), &json!({})).await.problem(Code::NOT_FOUND);
    scene.post(&at(OTHER, "/credentials/rotate"), &json!({})).await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn a_one_time_token_is_taken_from_the_header_or_the_body() {
    let (scene, client) = Scene::with_app().await;
    let path = at(ORG, "/apps/api/credentials/secret");
    let token = async || {
        let reply: Value =
            scene.post(&at(ORG, "/apps/api/credentials/rotate"), &json!({})).await.json();
        text(&reply["secret_retrieval"], "token")
    };
    let token_now = token().await;
    let by_header = scene.call(Method::GET, &path).bearer(&token_now).send().await;
    assert_eq!((by_header.status, by_header.header("cache-control")), (200, "no-store"));
    scene.call(Method::GET, &path).bearer(&token_now).send().await.problem(Code::NOT_FOUND);
    // A POST with the header alone, and with the body whatever the header says.
    let token_now = token().await;
    assert_eq!(scene.call(Method::POST, &path).bearer(&token_now).send().await.status, 200);
    let body = json!({"token": token().await});
    let call = scene.call(Method::POST, &path).bearer(&client.access).json(&body);
    let by_body = call.send().await;
    assert_eq!(by_body.status, 200, "{}", by_body.text());
    let secret = text(&by_body.json(), "client_secret");
    assert_eq!(scene.token(&client.id, &secret).await.status, 200);
    let url = format!("{path}?token={}", token().await);
    assert_eq!(scene.call(Method::GET, &url).bearer(&client.access).send().await.status, 200);

    let wrong = scene.call(Method::POST, &path).bearer(&client.access).send().await;
    wrong.problem(Code::UNAUTHORIZED);
    for missing in [scene.call(Method::POST, &path), scene.call(Method::GET, &path)] {
        let reply = missing.header("authorization", "Basic eDp5").send().await;
        let detail = text(&reply.json(), "detail");
        assert!(detail.contains("Authorization: Bearer TOKEN"), "{detail}");
        reply.problem(Code::UNAUTHORIZED);
    }
    let unknown = json!({"token": "x", "other": 1});
    scene.post(&path, &unknown).await.problem(Code::INVALID_REQUEST);
}

#[tokio::test]
async fn a_rotation_can_be_replaced_and_cancelled() {
    let (scene, client) = Scene::with_app().await;
    let path = at(ORG, "/apps/api/credentials/rotate");
    let first = url(&scene.post(&path, &json!({})).await.json());
    let second = url(&scene.post(&path, &json!({})).await.json());
    let void = scene.call(Method::GET, &first).send().await;
    let detail = text(&void.json(), "detail");
    assert!(detail.starts_with("a later rotation replaced this one-time token"), "{detail}");
    void.problem(Code::UNAUTHORIZED);
    assert_eq!(scene.call(Method::GET, &second).send().await.status, 200);
    scene.delete(&path).await.problem(Code::NOT_FOUND);
    let third = url(&scene.post(&path, &json!({"grace_period_hours": 0})).await.json());
    assert_eq!(scene.delete(&path).await.status, 204);
    scene.call(Method::GET, &third).send().await.problem(Code::UNAUTHORIZED);
    assert_eq!(scene.select(&client).await.status, 200, "nothing ended");
    let by_client = scene.call(Method::DELETE, &path).bearer(&client.access).send().await;
    by_client.problem(Code::FORBIDDEN);
}

#[tokio::test]
async fn a_rotation_without_grace_ends_the_tokens_when_it_is_redeemed() {
    let (scene, client) = Scene::with_app().await;
    let other = scene.app(ORG, "other").await;
    let refresh = async || {
        let request = json!({"refresh_token": client.refresh});
        scene.app.post("/auth/refresh", &request).send().await
    };
    let rotate = at(ORG, "/apps/api/credentials/rotate");
    // With a grace period they stay.
    let link = url(&scene.post(&rotate, &json!({"grace_period_hours": 1})).await.json());
    assert_eq!(scene.call(Method::GET, &link).send().await.status, 200);
    assert_eq!(scene.select(&client).await.status, 200);

    let link = url(&scene.post(&rotate, &json!({"grace_period_hours": 0})).await.json());
    assert_eq!(scene.select(&client).await.status, 200);
    assert_eq!(refresh().await.status, 200);
    let fetched: Value = scene.call(Method::GET, &link).send().await.json();
    scene.select(&client).await.problem(Code::UNAUTHORIZED);
    refresh().await.problem(Code::UNAUTHORIZED);
    scene.token(&client.id, &client.secret).await.problem(Code::UNAUTHORIZED);
    // A new token works in the same millisecond, and other clients notice nothing.
    let tokens: Value = scene.token(&client.id, &text(&fetched, "client_secret")).await.json();
    let renewed = crate::scene::Client { access: text(&tokens, "access_token"), ..client.clone() };
    assert_eq!(scene.select(&renewed).await.status, 200);
    assert_eq!(scene.read(&other, "/apps/other/model-selection").await.status, 200);
}
