//! Taking tokens.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_server::limiter::acquire::Lease;
use weir_server::limiter::shapes::LimitState;

use crate::scene::{Scene, minutely, path};

#[tokio::test]
async fn what_is_granted_is_written_as_serde_writes_it() {
    let scene = Scene::with_limits().await;
    for (dry_run, members) in [(false, 4), (true, 2)] {
        let ask = json!({"entity": "user", "resource": "gpt-4", "consume": {"tpm": 1, "rpm": 2},
                         "dry_run": dry_run});
        let reply = scene.post("acquire", &ask).await;
        let lease: Lease = reply.json();
        assert_eq!(reply.text(), serde_json::to_string(&lease).unwrap());
        assert_eq!(reply.json::<Value>().as_object().unwrap().len(), members);
    }
    let reply = scene.acquire(json!({"rpm": 99})).await;
    let problem = reply.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(reply.json::<Value>()["details"].as_object(), Some(&problem.details));
    let limits = problem.details["limits"].as_array().unwrap();
    for limit in limits {
        let read: LimitState = serde_json::from_value(limit.clone()).unwrap();
        let written = serde_json::to_string(&read).unwrap();
        assert!(reply.text().contains(&written), "{written} in {}", reply.text());
    }
}

#[tokio::test]
async fn tokens_are_taken_until_there_are_no_more() {
    let scene = Scene::with_limits().await;
    let reply = scene.acquire(json!({"rpm": 1, "tpm": 9_000})).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let told: Value = reply.json();
    assert_eq!(told["degraded"], false);
    assert_eq!(told["expires_at"], "2026-01-15T12:10:00.000Z");
    assert!(!told["lease"].as_str().unwrap().is_empty());
    assert_eq!(told["limits"][0]["entity"], "user");
    assert_eq!(told["limits"][0]["name"], "rpm");
    assert_eq!(told["limits"][0]["capacity"], 100);
    assert_eq!(told["limits"][0]["available"], 99);
    assert_eq!(told["limits"][1]["available"], 1_000);

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
async fn looking_takes_nothing() {
    let scene = Scene::with_limits().await;
    let ask =
        json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 5}, "dry_run": true});
    let reply = scene.post("acquire", &ask).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let told: Value = reply.json();
    assert_eq!(told.get("lease"), None);
    assert_eq!(told.get("expires_at"), None);
    assert_eq!(scene.requests_left().await, 100);
    scene.acquire(json!({"rpm": 98})).await;
    scene.post("acquire", &ask).await.problem(Code::RATE_LIMIT_EXCEEDED);
    assert_eq!(scene.requests_left().await, 2);
}

#[tokio::test]
async fn the_callers_own_limits_hold_when_there_are_no_others() {
    let scene = Scene::start().await;
    scene.acquire(json!({"rpm": 1})).await.problem(weir_server::limiter::codes::NO_LIMITS);
    let ask = json!({
        "entity": "user", "resource": "gpt-4", "consume": {"rpm": 1},
        "limits": [minutely("rpm", 3)], "lease_ttl_secs": 30, "on_expiry": "rollback",
    });
    let reply = scene.post("acquire", &ask).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let told: Value = reply.json();
    assert_eq!(told["expires_at"], "2026-01-15T12:00:30.000Z");
    assert_eq!(told["limits"][0]["available"], 2);
}

#[tokio::test]
async fn a_child_takes_from_its_parent_too() {
    let scene = Scene::with_limits().await;
    assert_eq!(scene.put("entities/team", &json!({})).await.status, 201);
    let child = json!({"parent": "team", "cascade": true});
    assert_eq!(scene.put("entities/user", &child).await.status, 201);
    let told: Value = scene.acquire(json!({"rpm": 40})).await.json();
    assert_eq!(told["limits"][0]["entity"], "user");
    assert_eq!(told["limits"][1]["entity"], "team");
    assert_eq!(told["limits"][1]["available"], 60);
    let ask = json!({"entity": "team", "resource": "gpt-4", "consume": {"rpm": 50}});
    assert_eq!(scene.post("acquire", &ask).await.status, 200);
    let problem = scene.acquire(json!({"rpm": 20})).await.problem(Code::RATE_LIMIT_EXCEEDED);
    assert!(problem.detail.contains("team has 10 of limit rpm"), "{}", problem.detail);
    assert_eq!(scene.requests_left().await, 60, "both or neither");
}

#[tokio::test]
async fn a_store_that_fails_blocks_or_lets_pass_as_was_set() {
    for (does, status) in [("block", 503), ("allow", 200)] {
        let scene = Scene::start().await;
        let limits = json!({"limits": [minutely("rpm", 100)], "on_unavailable": does});
        scene.put("limits/system", &limits).await;
        assert_eq!(scene.acquire(json!({"rpm": 1})).await.status, 200);
        scene.app.store.backend().close().await.unwrap();
        let reply = scene.acquire(json!({"rpm": 1})).await;
        assert_eq!(reply.status, status, "{}", reply.text());
        if does == "allow" {
            let told: Value = reply.json();
            assert_eq!(told["degraded"], true);
            let lease = told["lease"].as_str().unwrap();
            let settled = scene.do_it(&format!("leases/{lease}/commit")).await;
            assert_eq!(settled.json::<Value>()["degraded"], true);
        } else {
            reply.problem(Code::SERVICE_UNAVAILABLE);
        }
    }
}

#[tokio::test]
async fn what_became_of_requests_is_counted() {
    let scene = Scene::with_limits().await;
    scene.acquire(json!({"rpm": 60})).await;
    scene.acquire(json!({"rpm": 60})).await;
    scene.acquire(json!({"rpm": 0})).await;
    let told = scene.app.get("/metrics").admin().send().await.text();
    for line in [
        "weir_limiter_acquires_total{result=\"granted\"} 1",
        "weir_limiter_acquires_total{result=\"refused\"} 1",
        "weir_limiter_acquires_total{result=\"degraded\"} 0",
        "weir_limiter_acquires_total{result=\"error\"} 1",
        "weir_limiter_leases_open 0",
        "weir_limiter_config_cache_hits_total ",
        "weir_limiter_config_cache_misses_total ",
    ] {
        assert!(told.contains(line), "{line} is missing in {told}");
    }
}

#[tokio::test]
async fn a_token_reaches_its_own_namespace_only() {
    let scene = Scene::with_limits().await;
    let (mine, other) = (scene.app.token("ns:default").await, scene.app.token("ns:other").await);
    let ask = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1}});
    let call = |token: &str| {
        scene.app.request(Method::POST, &path("acquire")).json(&ask).bearer(token).send()
    };
    assert_eq!(call(&mine).await.status, 200);
    call(&other).await.problem(Code::FORBIDDEN);
    let reading = scene.app.token("ns:read:default").await;
    call(&reading).await.problem(Code::FORBIDDEN);
    assert_eq!(scene.requests_left().await, 99);
}
