//! Settling leases.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::Scene;

fn settled(reply: &Reply) -> Value {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

#[tokio::test]
async fn a_lease_is_adjusted_released_and_committed() {
    let scene = Scene::with_limits().await;
    let lease = scene.lease(json!({"rpm": 1, "tpm": 500})).await;
    let adjust = json!({"adjust": {"tpm": 200}});
    let body = settled(&scene.post(&format!("leases/{lease}/adjust"), &adjust).await);
    assert_eq!(body["state"], "open");
    assert_eq!(body["net"]["tpm"], 700);
    assert_eq!(scene.available_to("user").await, [("rpm".into(), 99), ("tpm".into(), 9_300)]);
    let release = json!({"release": {"tpm": 100}});
    let body = settled(&scene.post(&format!("leases/{lease}/release"), &release).await);
    assert_eq!((&body["state"], &body["net"]["tpm"]), (&json!("open"), &json!(600)));
    let body = settled(&scene.post_empty(&format!("leases/{lease}/commit")).await);
    assert_eq!(body["state"], "committed");
    assert_eq!(scene.available_to("user").await, [("rpm".into(), 99), ("tpm".into(), 9_400)]);
}

#[tokio::test]
async fn one_call_adjusts_a_lease_to_what_was_used_and_ends_it() {
    let scene = Scene::with_limits().await;
    let lease = scene.lease(json!({"rpm": 1, "tpm": 500})).await;
    let commit = async |body: Value| scene.post(&format!("leases/{lease}/commit"), &body).await;
    let first = settled(&commit(json!({"actual": {"tpm": 250}})).await);
    assert_eq!(first["state"], "committed");
    assert_eq!(first["net"], json!({"rpm": 1, "tpm": 250}));
    assert_eq!(settled(&commit(json!({"actual": {"tpm": 250}})).await), first);
    assert_eq!(settled(&commit(json!({})).await), first);
    commit(json!({"actual": {"tpm": 251}})).await.problem(Code::STATE_CONFLICT);
    assert_eq!(scene.available_to("user").await, [("rpm".into(), 99), ("tpm".into(), 9_750)]);
    let lease = scene.lease(json!({"tpm": 500})).await;
    let body = json!({"actual": {"tpm": 20_000}});
    settled(&scene.post(&format!("leases/{lease}/commit"), &body).await);
    assert_eq!(scene.available_to("user").await[1], ("tpm".into(), -10_250), "a debt");
}

#[tokio::test]
async fn an_empty_body_is_none_whatever_its_content_type() {
    let scene = Scene::with_limits().await;
    for verb in ["commit", "release", "rollback"] {
        for kind in ["application/json", "application/x-www-form-urlencoded"] {
            let lease = scene.lease(json!({"rpm": 1})).await;
            let call = scene.call(Method::POST, &format!("leases/{lease}/{verb}"));
            let body = settled(&call.header("content-type", kind).send().await);
            assert_ne!(body["state"], "open", "{verb} {kind}");
        }
        let lease = scene.lease(json!({"rpm": 1})).await;
        settled(&scene.post(&format!("leases/{lease}/{verb}"), &Value::Null).await);
        let call = scene.call(Method::POST, &format!("leases/{lease}/{verb}"));
        let reply = call.body("rpm=1").header("content-type", "text/plain").send().await;
        reply.problem(Code::UNSUPPORTED_MEDIA_TYPE);
    }
}

#[tokio::test]
async fn released_and_rolled_back_leases_return_all_tokens() {
    let scene = Scene::with_limits().await;
    for verb in ["release", "rollback"] {
        let lease = scene.lease(json!({"rpm": 7})).await;
        assert_eq!(scene.requests_left().await, 93);
        let body = settled(&scene.post_empty(&format!("leases/{lease}/{verb}")).await);
        assert_ne!(body["state"], "open");
        assert_eq!(scene.requests_left().await, 100, "{verb}");
    }
}

#[tokio::test]
async fn settling_a_lease_again_repeats_the_response_or_conflicts() {
    let scene = Scene::with_limits().await;
    let lease = scene.lease(json!({"rpm": 7})).await;
    let first = settled(&scene.post_empty(&format!("leases/{lease}/rollback")).await);
    assert_eq!(settled(&scene.post_empty(&format!("leases/{lease}/rollback")).await), first);
    scene.post_empty(&format!("leases/{lease}/commit")).await.problem(Code::STATE_CONFLICT);
    let adjust = json!({"adjust": {"rpm": 1}});
    scene.post(&format!("leases/{lease}/adjust"), &adjust).await.problem(Code::STATE_CONFLICT);
    assert_eq!(scene.requests_left().await, 100);
}

#[tokio::test]
async fn a_request_with_an_idempotency_key_takes_effect_once() {
    let scene = Scene::with_limits().await;
    let lease = scene.lease(json!({"rpm": 1})).await;
    let adjust = async |by: i64, key: &str| {
        let call = scene.call(Method::POST, &format!("leases/{lease}/adjust"));
        call.json(&json!({"adjust": {"rpm": by}})).header("idempotency-key", key).send().await
    };
    let first = settled(&adjust(5, "one").await);
    assert_eq!(first["net"]["rpm"], 6);
    assert_eq!(settled(&adjust(5, "one").await), first);
    adjust(6, "one").await.problem(Code::STATE_CONFLICT);
    assert_eq!(settled(&adjust(5, "two").await)["net"]["rpm"], 11);
    assert_eq!(scene.requests_left().await, 89);
}

#[tokio::test]
async fn foreign_and_forged_leases_are_refused() {
    let scene = Scene::with_limits().await;
    let lease = scene.lease(json!({"rpm": 7})).await;
    let made = scene.app.request(Method::PUT, "/v1/namespaces/other").admin().send().await;
    assert_eq!(made.status, 201, "{}", made.text());
    let foreign = format!("/v1/namespaces/other/leases/{lease}/rollback");
    let foreign = scene.app.request(Method::POST, &foreign).admin().send().await;
    foreign.problem(weir_server::limiter::codes::NOT_A_LEASE);
    let mut forged: Vec<String> = Vec::new();
    for place in [0, lease.len() / 2, lease.len() - 1] {
        let mut bytes = lease.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        forged.push(String::from_utf8(bytes).unwrap());
    }
    forged.extend([lease[1..].to_owned(), format!("{lease}A"), "A".into(), "A".repeat(5_000)]);
    for forged in forged {
        let reply = scene.post_empty(&format!("leases/{forged}/rollback")).await;
        reply.problem(weir_server::limiter::codes::NOT_A_LEASE);
    }
    assert_eq!(scene.requests_left().await, 93);
}

#[tokio::test]
async fn an_expired_lease_cannot_be_settled() {
    let scene = Scene::with_limits().await;
    let request = json!({"entity": "user", "resource": "gpt-4", "consume": {"tpm": 10_000},
        "lease_ttl_secs": 5});
    let body: Value = scene.post("acquire", &request).await.json();
    let lease = body["lease"].as_str().unwrap().to_owned();
    scene.app.clock.advance_ms(6_000);
    let before = scene.available_to("user").await;
    let reply = scene.post_empty(&format!("leases/{lease}/rollback")).await;
    assert_eq!(
        reply.problem(weir_server::limiter::codes::LEASE_EXPIRED).details["lease_ttl_secs"],
        5
    );
    assert_eq!(scene.available_to("user").await, before);
}

#[tokio::test]
async fn wrong_amounts_change_nothing() {
    let scene = Scene::with_limits().await;
    let lease = scene.lease(json!({"rpm": 7})).await;
    let before = scene.available_to("user").await;
    for (verb, body) in [
        ("adjust", json!({"adjust": {}})),
        ("adjust", json!({"adjust": {"rpm": -8}})),
        ("adjust", json!({"adjust": {"rps": 1}})),
        ("adjust", json!({"adjust": {"rpm": i64::MAX}})),
        ("adjust", json!({"adjust": {"rpm": i64::MIN}})),
        ("adjust", json!({"adjust": {"rpm": 1}, "colour": "red"})),
        ("adjust", json!({})),
        ("release", json!({"release": {"rpm": 8}})),
        ("release", json!({"release": {"rpm": -1}})),
        ("release", json!({"release": {"rpm": 0}})),
        ("release", json!({"colour": "red"})),
        ("release", json!({"actual": {"rpm": 1}})),
        ("commit", json!({"actual": {"rpm": -1}})),
        ("commit", json!({"actual": {"rps": 1}})),
        ("commit", json!({"actual": {"rpm": i64::MAX}})),
        ("commit", json!({"actual": 5})),
        ("commit", json!({"actual": {"rpm": 1}, "colour": "red"})),
        ("commit", json!({"release": {"rpm": 1}})),
        ("commit", json!([])),
        ("rollback", json!({"colour": "red"})),
        ("rollback", json!({"release": {"rpm": 1}})),
    ] {
        let reply = scene.post(&format!("leases/{lease}/{verb}"), &body).await;
        reply.problem(Code::INVALID_REQUEST);
        assert_eq!(scene.available_to("user").await, before, "{verb} {body}");
    }
    settled(&scene.post_empty(&format!("leases/{lease}/rollback")).await);
    assert_eq!(scene.requests_left().await, 100);
}
