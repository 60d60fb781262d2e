//! Taking tokens.

use axum::http::Method;
use serde_json::{Value, json};
use weir_api::limiter::{AcquireResponse, LimitStatus};
use weir_framework::Code;

use crate::scene::{Scene, minutely, path};

#[tokio::test]
async fn responses_are_written_as_serde_writes_them() {
    let scene = Scene::with_limits().await;
    for (dry_run, members) in [(false, 4), (true, 2)] {
        let request = json!({"entity": "user", "resource": "gpt-4", "consume": {"tpm": 1, "rpm": 2},
                         "dry_run": dry_run});
        let reply = scene.post("acquire", &request).await;
        let response: AcquireResponse = reply.json();
        assert_eq!(reply.text(), serde_json::to_string(&response).unwrap());
        assert_eq!(reply.json::<Value>().as_object().unwrap().len(), members);
    }
    let reply = scene.acquire(json!({"rpm": 99})).await;
    let problem = reply.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(reply.json::<Value>()["details"].as_object(), Some(&problem.details));
    let limits = problem.details["limits"].as_array().unwrap();
    for limit in limits {
        let read: LimitStatus = serde_json::from_value(limit.clone()).unwrap();
        let written = serde_json::to_string(&read).unwrap();
        assert!(reply.text().contains(&written), "{written} in {}", reply.text());
    }
}

#[tokio::test]
async fn tokens_are_granted_until_the_bucket_is_empty() {
    let scene = Scene::with_limits().await;
    let reply = scene.acquire(json!({"rpm": 1, "tpm": 9_000})).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let body: Value = reply.json();
    assert_eq!(body["degraded"], false);
    assert_eq!(body["expires_at"], "2026-01-15T12:10:00.000Z");
    assert!(!body["lease"].as_str().unwrap().is_empty());
    assert_eq!(body["limits"][0]["entity"], "user");
    assert_eq!(body["limits"][0]["name"], "rpm");
    assert_eq!(body["limits"][0]["capacity"], 100);
    assert_eq!(body["limits"][0]["available"], 99);
    assert_eq!(body["limits"][1]["available"], 1_000);
    let remaining = "\"rpm\";r=99;t=1, \"tpm\";r=1000;t=54";
    assert_eq!(reply.header("ratelimit"), remaining);
    assert_eq!(reply.header("ratelimit-policy"), "\"rpm\";q=100;w=60, \"tpm\";q=10000;w=60");

    let reply = scene.acquire(json!({"rpm": 1, "tpm": 1_001})).await;
    let problem = reply.problem(Code::RATE_LIMIT_EXCEEDED);
    let limits = &problem.details["limits"];
    assert_eq!(limits[0]["deficit"], 0);
    assert_eq!(limits[1]["name"], "tpm");
    assert_eq!(limits[1]["available"], 1_000);
    assert_eq!(limits[1]["asked"], 1_001);
    assert_eq!(limits[1]["deficit"], 1);
    assert_eq!(limits[1]["retry_after_ms"], 6);
    assert_eq!(problem.details["retry_after_ms"], 6);
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(reply.header("ratelimit"), "\"tpm\";r=1000;t=1");
    assert_eq!(reply.header("ratelimit-policy"), "\"tpm\";q=10000;w=60");
    assert_eq!(reply.header("x-ratelimit-limit"), "10000");
    assert_eq!(reply.header("x-ratelimit-remaining"), "1000");
    assert_eq!(reply.header("x-ratelimit-reset"), "1");
    assert_eq!(scene.requests_left().await, 99, "a refusal takes nothing");

    scene.app.clock.advance_ms(6);
    assert_eq!(scene.acquire(json!({"rpm": 1, "tpm": 1_001})).await.status, 200);
}

#[tokio::test]
async fn a_dry_run_takes_no_tokens() {
    let scene = Scene::with_limits().await;
    let request =
        json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 5}, "dry_run": true});
    let reply = scene.post("acquire", &request).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let body: Value = reply.json();
    assert_eq!(body.get("lease"), None);
    assert_eq!(body.get("expires_at"), None);
    assert_eq!(scene.requests_left().await, 100);
    scene.acquire(json!({"rpm": 98})).await;
    scene.post("acquire", &request).await.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(scene.requests_left().await, 2);
}

#[tokio::test]
async fn an_acquire_with_an_idempotency_key_takes_once() {
    let scene = Scene::with_limits().await;
    let acquire = async |rpm: i64, keys: &[&str]| {
        let body = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": rpm}});
        let call = scene.call(Method::POST, "acquire").json(&body);
        keys.iter().fold(call, |call, key| call.header("idempotency-key", key)).send().await
    };
    // The first makes the bucket, the second takes from it.
    for (key, left) in [("one", 40), ("two", 10)] {
        let rpm = if key == "one" { 60 } else { 30 };
        let first: Value = acquire(rpm, &[key]).await.json();
        assert_eq!(first["limits"][0]["available"], left);
        assert_eq!(acquire(rpm, &[key]).await.json::<Value>(), first);
        assert_eq!(scene.requests_left().await, left);
        acquire(rpm + 1, &[key]).await.problem(Code::STATE_CONFLICT);
    }
    acquire(30, &["three"]).await.problem(Code::RATE_LIMIT_EXCEEDED);
    scene.app.clock.advance_ms(12_000);
    assert_eq!(acquire(30, &["three"]).await.status, 200, "a refusal is not remembered");
    assert_eq!(acquire(30, &["two"]).await.status, 200, "a lease is, when nothing is left");
    assert_eq!(scene.requests_left().await, 0);
    for wrong in [&["a", "b"][..], &["two words"], &[""], &["k".repeat(65).as_str()]] {
        let problem = acquire(1, wrong).await.problem(Code::INVALID_REQUEST);
        assert!(problem.detail.contains("Idempotency-Key"), "{}", problem.detail);
    }
}

#[tokio::test]
async fn limits_of_the_request_apply_when_none_are_configured() {
    let scene = Scene::start().await;
    scene.acquire(json!({"rpm": 1})).await.problem(weir_server::limiter::codes::NO_LIMITS);
    let request = json!({
        "entity": "user", "resource": "gpt-4", "consume": {"rpm": 1},
        "limits": [minutely("rpm", 3)], "lease_ttl_secs": 30, "on_expiry": "rollback",
    });
    let reply = scene.post("acquire", &request).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let body: Value = reply.json();
    assert_eq!(body["expires_at"], "2026-01-15T12:00:30.000Z");
    assert_eq!(body["limits"][0]["available"], 2);
}

#[tokio::test]
async fn a_cascade_takes_from_the_parent_too() {
    let scene = Scene::with_limits().await;
    assert_eq!(scene.put("entities/team", &json!({})).await.status, 201);
    let child = json!({"parent": "team", "cascade": true});
    assert_eq!(scene.put("entities/user", &child).await.status, 201);
    let body: Value = scene.acquire(json!({"rpm": 40})).await.json();
    assert_eq!(body["limits"][0]["entity"], "user");
    assert_eq!(body["limits"][1]["entity"], "team");
    assert_eq!(body["limits"][1]["available"], 60);
    let request = json!({"entity": "team", "resource": "gpt-4", "consume": {"rpm": 50}});
    assert_eq!(scene.post("acquire", &request).await.status, 200);
    let problem = scene.acquire(json!({"rpm": 20})).await.problem(Code::RATE_LIMIT_EXCEEDED);
    assert!(problem.detail.contains("team has 10 of limit rpm"), "{}", problem.detail);
    assert_eq!(scene.requests_left().await, 60, "both or neither");
}

#[tokio::test]
async fn an_unreachable_store_blocks_or_allows_as_configured() {
    for (does, status) in [("block", 503), ("allow", 200)] {
        let scene = Scene::start().await;
        let limits = json!({"limits": [minutely("rpm", 100)], "on_unavailable": does});
        scene.put("limits/system", &limits).await;
        assert_eq!(scene.acquire(json!({"rpm": 1})).await.status, 200);
        scene.app.store.backend().close().await.unwrap();
        let reply = scene.acquire(json!({"rpm": 1})).await;
        assert_eq!(reply.status, status, "{}", reply.text());
        if does == "allow" {
            let body: Value = reply.json();
            assert_eq!(body["degraded"], true);
            let lease = body["lease"].as_str().unwrap();
            let settled = scene.post_empty(&format!("leases/{lease}/commit")).await;
            assert_eq!(settled.json::<Value>()["degraded"], true);
        } else {
            reply.problem(Code::SERVICE_UNAVAILABLE);
        }
    }
}

#[tokio::test]
async fn acquires_are_counted_by_outcome() {
    let scene = Scene::with_limits().await;
    scene.acquire(json!({"rpm": 60})).await;
    scene.acquire(json!({"rpm": 60})).await;
    scene.acquire(json!({"rpm": 0})).await;
    let body = scene.app.get("/metrics").admin().send().await.text();
    for line in [
        "weir_limiter_acquires_total{result=\"granted\"} 1",
        "weir_limiter_acquires_total{result=\"refused\"} 1",
        "weir_limiter_acquires_total{result=\"degraded\"} 0",
        "weir_limiter_acquires_total{result=\"error\"} 1",
        "weir_limiter_leases_open 0",
        "weir_limiter_config_cache_hits_total ",
        "weir_limiter_config_cache_misses_total ",
    ] {
        assert!(body.contains(line), "{line} is missing in {body}");
    }
}

#[tokio::test]
async fn a_token_reaches_its_own_namespace_only() {
    let scene = Scene::with_limits().await;
    let (mine, other) = (scene.app.token("ns:default").await, scene.app.token("ns:other").await);
    let request = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1}});
    let call = |token: &str| {
        scene.app.request(Method::POST, &path("acquire")).json(&request).bearer(token).send()
    };
    assert_eq!(call(&mine).await.status, 200);
    call(&other).await.problem(Code::FORBIDDEN);
    let reading = scene.app.token("ns:default:read").await;
    call(&reading).await.problem(Code::FORBIDDEN);
    assert_eq!(scene.requests_left().await, 99);
}
