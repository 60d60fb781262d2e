//! Reading availability, buckets and the audit log, and the operations of an operator on buckets.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::Scene;

#[tokio::test]
async fn availability_reports_when_an_amount_is_available() {
    let scene = Scene::with_limits().await;
    scene.acquire(json!({"rpm": 99})).await;
    let body: Value =
        scene.get("availability?entity=user&resource=gpt-4&amounts=rpm:11").await.json();
    let rpm = &body["limits"][0];
    assert_eq!(rpm["name"], "rpm");
    assert_eq!((&rpm["available"], &rpm["asked"]), (&json!(1), &json!(11)));
    assert_eq!((&rpm["deficit"], &rpm["retry_after_ms"]), (&json!(10), &json!(6_000)));
    scene.get("availability?entity=user&resource=gpt-4&amounts=rpm:101").await.any_problem();
}

#[tokio::test]
async fn buckets_are_listed_reset_and_topped_up() {
    let scene = Scene::with_limits().await;
    let empty: Value = scene.get("entities/user/buckets").await.json();
    assert_eq!(empty["items"], json!([]));
    scene.post_empty("entities/user/buckets/gpt-4/reset").await.problem(Code::NOT_FOUND);
    scene.acquire(json!({"rpm": 90, "tpm": 1_000})).await;
    let body: Value = scene.get("entities/user/buckets").await.json();
    let bucket = &body["items"][0];
    assert_eq!((&bucket["entity"], &bucket["resource"]), (&json!("user"), &json!("gpt-4")));
    assert_eq!((&bucket["shards"], &bucket["cascade"]), (&json!(1), &json!(false)));
    assert_eq!(bucket["limits"][0]["available"], 10);
    assert_eq!(bucket["limits"][0]["consumed"], 90);
    assert_eq!(bucket["limits"][0]["full_in_ms"], 54_000);
    let body: Value = scene.get("resources/gpt-4/capacity").await.json();
    assert_eq!(body["entities"], 1);
    assert_eq!(body["limits"][0], json!({"name": "rpm", "capacity": 100, "available": 10}));

    let top_up = async |key: &str| {
        let call = scene.call(Method::POST, "entities/user/buckets/gpt-4/top-up");
        let call = call.json(&json!({"amounts": {"rpm": 15}})).header("idempotency-key", key);
        let reply = call.send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json::<Value>()["limits"][0]["available"].clone()
    };
    assert_eq!(top_up("a").await, 25);
    assert_eq!(top_up("a").await, 25, "the same request takes effect once");
    assert_eq!(top_up("b").await, 40);
    for (wrong, code) in [
        (json!({}), Code::INVALID_REQUEST),
        (json!({"rpm": 0}), Code::INVALID_REQUEST),
        (json!({"rpm": -1}), Code::INVALID_REQUEST),
        (json!({"rps": 1}), Code::NOT_FOUND),
    ] {
        let body = json!({"amounts": wrong});
        scene.post("entities/user/buckets/gpt-4/top-up", &body).await.problem(code);
    }
    assert_eq!(scene.requests_left().await, 40);
    let body: Value = scene.post_empty("entities/user/buckets/gpt-4/reset").await.json();
    assert_eq!(body["limits"][0]["available"], 100);
    assert_eq!(scene.requests_left().await, 100);
}

#[tokio::test]
async fn changes_are_audited_with_their_actor() {
    let scene = Scene::with_limits().await;
    let mine = scene.app.token("ns:default").await;
    let put = scene.app.request(Method::PUT, "/v1/namespaces/default/entities/user");
    assert_eq!(put.json(&json!({})).bearer(&mine).send().await.status, 201);
    let body: Value = scene.get("audit?entity=user").await.json();
    let event = &body["items"][0];
    assert_eq!(event["action"], "entity_created");
    assert_eq!((&event["subject"], &event["principal"]), (&json!("user"), &json!("operator:test")));
    assert_eq!(event["at"], "2026-01-15T12:00:00.000Z");
    let body: Value = scene.get("audit?entity=$SYSTEM").await.json();
    assert_eq!(body["items"][0]["action"], "limits_set");
    assert_eq!(body["items"][0]["principal"], "admin");
    assert!(body["items"][0]["after"].is_object(), "{body}");
    let body: Value = scene.get("audit?limit=100").await.json();
    let subjects: Vec<&str> = body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["subject"].as_str().unwrap())
        .collect();
    assert!(subjects.contains(&"user") && subjects.contains(&"$SYSTEM"), "{subjects:?}");
    let early = "audit?entity=user&to=2026-01-15T11:59:59Z";
    assert_eq!(scene.get(early).await.json::<Value>()["items"], json!([]));
}

#[tokio::test]
async fn version_and_cache_statistics_are_returned() {
    let scene = Scene::with_limits().await;
    let body: Value = scene.app.get("/v1/limiter/version").admin().send().await.json();
    assert_eq!((&body["schema"], &body["supported"]), (&json!("1.0.0"), &json!("1.0.0")));
    scene.acquire(json!({"rpm": 1})).await;
    scene.get("limits/resolve?entity=user&resource=gpt-4").await;
    let body: Value = scene.app.get("/v1/limiter/cache").admin().send().await.json();
    assert_eq!(body["ttl_ms"], 60_000);
    assert!(
        body["misses"].as_u64().unwrap() > 0 && body["entries"].as_u64().unwrap() > 0,
        "{body}"
    );
}
