//! The security log: who did what to credentials, from where.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{APP, ORG, Scene, at, text};

const FROM: &str = "192.0.2.77";

impl Scene {
    /// The events so far, oldest first: action, actor, address, target.
    async fn events(&self) -> Vec<[String; 4]> {
        let page: Value = self.get("/v1/security-log?limit=100").await.json();
        let mut events: Vec<_> = page["items"].as_array().unwrap().iter().map(event).collect();
        events.reverse();
        events
    }
}

fn event(event: &Value) -> [String; 4] {
    let text = |name: &str| event[name].as_str().unwrap_or("-").to_owned();
    [text("action"), text("actor"), text("client_address"), text("target")]
}

fn is_of(action: &str) -> impl Fn(&&[String; 4]) -> bool + '_ {
    move |event| event[0] == action
}

#[tokio::test]
async fn issued_revoked_and_rotated_credentials_are_recorded_with_their_caller() {
    let (scene, client) = Scene::with_app().await;
    let issued: Value = scene.token_from(FROM, &client.id, &client.secret).await.json();
    scene.refresh(&text(&issued, "refresh_token")).await;
    scene.revoke(json!({"token": text(&issued, "refresh_token")})).await;
    scene.revoke(json!({"token": client.refresh, "all": true})).await;
    let rotate = at(ORG, &format!("/apps/{APP}/credentials/rotate"));
    scene.post(&rotate, &json!({})).await;
    scene.delete(&rotate).await;
    let token: Value =
        scene.post("/v1/tokens", &json!({"name": "ci", "scope": "metrics"})).await.json();
    scene.delete(&format!("/v1/tokens/{}", text(&token, "id"))).await;
    let rotated: Value =
        scene.post("/v1/signing-key/rotate", &json!({"end_previous": true})).await.json();

    let events = scene.events().await;
    let local = "127.0.0.1";
    for (action, actor, address, target) in [
        ("secret_retrieved", "-", local, client.id.as_str()),
        ("tokens_revoked", &client.id, local, &client.id),
        ("secret_rotated", "admin", local, &client.id),
        ("secret_rotation_cancelled", "admin", local, &client.id),
        ("token_issued", "admin", local, &text(&token, "id")),
        ("token_revoked", "admin", local, &text(&token, "id")),
        ("signing_key_rotated", "admin", local, &text(&rotated, "kid")),
        ("signing_key_ended", "admin", local, &text(&rotated, "previous_kid")),
    ] {
        let expected = [action, actor, address, target].map(str::to_owned);
        assert!(events.contains(&expected), "{expected:?} is not in {events:#?}");
    }
    for action in ["token_issued", "token_refreshed", "token_revoked"] {
        let mut of_client = events.iter().filter(is_of(action)).filter(|e| e[1] == client.id);
        assert!(of_client.next().is_some(), "{action} of the client is not in {events:#?}");
    }
    let from = events.iter().filter(|event| event[2] == FROM).count();
    assert_eq!(from, 1, "one request came from there: {events:#?}");
}

#[tokio::test]
async fn events_are_listed_for_a_range_of_time() {
    let (scene, _) = Scene::with_app().await;
    let noon_and = |seconds: u32| format!("2026-01-15T12:{:02}:{:02}Z", seconds / 60, seconds % 60);
    let issue = async |name: &str| {
        scene.app.clock.advance_ms(60_000);
        let token = json!({"name": name, "scope": "metrics"});
        text(&scene.post("/v1/tokens", &token).await.json(), "id")
    };
    let (first, second) = (issue("first").await, issue("second").await);
    for (query, expected) in [
        (format!("from={}&to={}", noon_and(60), noon_and(120)), vec![&first]),
        (format!("from={}", noon_and(60)), vec![&second, &first]),
        (format!("from={}", noon_and(180)), vec![]),
        (format!("from={}&to={}", noon_and(120), noon_and(60)), vec![]),
    ] {
        let page: Value = scene.get(&format!("/v1/security-log?{query}")).await.json();
        let targets: Vec<_> =
            page["items"].as_array().unwrap().iter().map(|e| text(e, "target")).collect();
        assert_eq!(targets.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    for query in ["from=then", "to=2026-13-01T00:00:00Z", "limit=0"] {
        let reply = scene.get(&format!("/v1/security-log?{query}")).await;
        assert_eq!(reply.status, 400, "{query}");
    }
}

#[tokio::test]
async fn refused_credentials_are_recorded_with_their_address() {
    let (scene, client) = Scene::with_app().await;
    // Events of one millisecond have no order.
    let later = || scene.app.clock.advance_ms(1);
    let jobs = || scene.call(Method::GET, "/v1/jobs").header("x-forwarded-for", FROM);
    later();
    scene.token_from(FROM, &client.id, "wks_00000000_x").await.problem(Code::UNAUTHORIZED);
    later();
    scene.token_from(FROM, "a secret in the wrong field", "x").await.problem(Code::UNAUTHORIZED);
    later();
    jobs().header("x-api-key", "wak_wrong").send().await.problem(Code::UNAUTHORIZED);
    later();
    jobs().bearer("not.a.token").send().await.problem(Code::UNAUTHORIZED);
    later();
    scene.refresh(&client.access).await.problem(Code::UNAUTHORIZED);
    let page: Value = scene.get("/v1/security-log?limit=5").await.json();
    let failures: Vec<_> = page["items"].as_array().unwrap().iter().collect();
    let reasons: Vec<_> = failures.iter().map(|event| text(event, "detail")).collect();
    let expected = ["wrong_type", "malformed", "wrong_key", "wrong_secret", "wrong_secret"];
    assert_eq!(reasons, expected);
    assert!(failures.iter().all(|event| event["action"] == "sign_in_failed"));
    assert!(failures[1..].iter().all(|event| event["client_address"] == FROM), "{page:#}");
    let named: Vec<_> = failures.iter().map(|event| event["target"].as_str()).collect();
    assert_eq!(named, [None, None, None, None, Some(client.id.as_str())]);
    assert!(failures.iter().all(|event| event["request_id"].is_string()));
}

#[tokio::test]
async fn guessing_does_not_fill_the_store() {
    let scene = Scene::start().await;
    let guess = async |from: &str| {
        let guess = scene.call(Method::GET, "/v1/jobs").header("x-api-key", "wak_guess");
        guess.header("x-forwarded-for", from).send().await.problem(Code::UNAUTHORIZED);
    };
    for _ in 0..200 {
        guess(FROM).await;
    }
    // Nor does it hide a guess from elsewhere.
    guess("198.51.100.77").await;
    let events = scene.events().await;
    let failed: Vec<_> = events.iter().filter(is_of("sign_in_failed")).collect();
    assert_eq!(failed.len(), 11);
    assert!(failed.iter().any(|[_, _, from, _]| from == "198.51.100.77"), "{events:?}");
    assert_eq!(events.iter().filter(is_of("more_sign_ins_failed")).count(), 0);
    scene.app.clock.advance_ms(60_000);
    guess(FROM).await;
    guess(FROM).await;
    let page: Value = scene.get("/v1/security-log?limit=3").await.json();
    let detail = "190 more failed within a minute; the access log has them";
    assert_eq!(page["items"][2]["action"], "more_sign_ins_failed", "{page:#}");
    assert_eq!(page["items"][2]["detail"], detail);
    assert_eq!(scene.events().await.iter().filter(is_of("more_sign_ins_failed")).count(), 1);
}

#[tokio::test]
async fn a_token_that_expired_is_no_failed_sign_in() {
    let (scene, client) = Scene::with_app().await;
    scene.app.clock.advance_ms(3_600_000);
    assert!(!scene.is_let_in(&client).await);
    assert_eq!(scene.events().await.iter().filter(is_of("sign_in_failed")).count(), 0);
}
