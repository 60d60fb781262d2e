//! Limits of every level, and the limits in force.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, minutely, path};

const LEVELS: [&str; 4] = [
    "limits/system",
    "limits/resources/anthropic%2Fclaude",
    "limits/entities/user/_default_",
    "limits/entities/user/anthropic%2Fclaude",
];

#[tokio::test]
async fn every_level_is_set_read_replaced_and_removed() {
    let scene = Scene::start().await;
    for level in LEVELS {
        scene.get(level).await.problem(Code::NOT_FOUND);
        scene.delete(level).await.problem(Code::NOT_FOUND);
        let body = json!({"limits": [minutely("rpm", 5)], "on_unavailable": "allow"});
        let set = scene.put(level, &body).await;
        assert_eq!(set.status, 201, "{level} {}", set.text());
        let body: Value = set.json();
        assert_eq!(body["limits"], body["limits"]);
        assert_eq!((&body["on_unavailable"], &body["version"]), (&json!("allow"), &json!(1)));
        assert_eq!(scene.get(level).await.json::<Value>(), body);
        let replaced = scene.put(level, &json!({"limits": [minutely("tpm", 7)]})).await;
        assert_eq!(replaced.status, 200, "{level} {}", replaced.text());
        let body: Value = replaced.json();
        assert_eq!(body["limits"], json!([minutely("tpm", 7)]));
        assert_eq!((&body["on_unavailable"], &body["version"]), (&Value::Null, &json!(2)));
        assert_eq!(scene.delete(level).await.status, 204, "{level}");
        scene.get(level).await.problem(Code::NOT_FOUND);
    }
    let strict = json!({"strict_version": true, "auto_update": false});
    let body: Value = scene.put("limits/system", &strict).await.json();
    assert_eq!((&body["strict_version"], &body["auto_update"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn limits_of_the_nearest_level_apply() {
    let scene = Scene::start().await;
    let resolve = "limits/resolve?entity=user&resource=anthropic%2Fclaude";
    scene.get(resolve).await.problem(weir_server::limiter::codes::NO_LIMITS);
    let sources = ["system", "resource", "entity_default", "entity"];
    for (place, (level, source)) in LEVELS.iter().zip(sources).enumerate() {
        let limits = json!([minutely("rpm", 10 + place as u64)]);
        scene.put(level, &json!({"limits": limits})).await;
        let body: Value = scene.get(resolve).await.json();
        assert_eq!(body["limits"], limits);
        assert_eq!(body["limits_from"], source);
        assert_eq!(body["on_unavailable"], "block");
        assert_eq!(body["on_unavailable_from"], "built_in");
    }
    scene.put("limits/entities/user/gpt-5", &json!({"limits": [minutely("rpm", 1)]})).await;
    for (of, items) in [
        ("", json!(["anthropic/claude"])),
        ("?level=resource", json!(["anthropic/claude"])),
        ("?level=entity", json!(["anthropic/claude", "gpt-5"])),
    ] {
        let body: Value = scene.get(&format!("resources{of}")).await.json();
        assert_eq!(body, json!({"items": items, "next_cursor": null}), "{of}");
    }
    scene.get("resources?level=system").await.problem(Code::INVALID_REQUEST);
    for on in ["", "?resource=_default_", "?resource=anthropic%2Fclaude"] {
        let body: Value = scene.get(&format!("limits/entities{on}")).await.json();
        assert_eq!(body["items"], json!(["user"]), "{on}");
    }
    let body: Value = scene.get("limits/entities?resource=gpt-4").await.json();
    assert_eq!(body["items"], json!([]));
}

#[tokio::test]
async fn changed_limits_reach_live_buckets_without_minting_tokens() {
    let scene = Scene::with_limits().await;
    scene.acquire(json!({"rpm": 30})).await;
    let raised = json!({"limits": [minutely("rpm", 1_000)]});
    scene.put("limits/entities/user/gpt-4", &raised).await;
    assert_eq!(scene.requests_left().await, 70);
    let lowered = json!({"limits": [minutely("rpm", 50)]});
    scene.put("limits/entities/user/gpt-4", &lowered).await;
    assert_eq!(scene.requests_left().await, 50);
}

#[tokio::test]
async fn a_token_that_acquires_cannot_raise_its_own_limits() {
    let scene = Scene::with_limits().await;
    let token = scene.app.token("ns:default:acquire").await;
    let call = |method: Method, tail: &str| scene.app.request(method, &path(tail)).bearer(&token);
    let body = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 30}});
    let lease: Value = call(Method::POST, "acquire").json(&body).send().await.json();
    let lease = lease["lease"].as_str().unwrap();
    let commit = json!({"actual": {"rpm": 40}});
    let commit = call(Method::POST, &format!("leases/{lease}/commit")).json(&commit);
    assert_eq!(commit.send().await.status, 200);
    for tail in ["availability?entity=user&resource=gpt-4", "limits/system"] {
        assert_eq!(call(Method::GET, tail).send().await.status, 200, "{tail}");
    }
    let raised = json!({"limits": [minutely("rpm", 1_000_000_000)]});
    for level in LEVELS {
        let put = call(Method::PUT, level).json(&raised).send().await;
        put.problem(Code::FORBIDDEN);
        call(Method::DELETE, level).send().await.problem(Code::FORBIDDEN);
    }
    let top_up = json!({"amounts": {"rpm": 40}});
    for (method, tail, body) in [
        (Method::POST, "entities/user/buckets/gpt-4/top-up", top_up),
        (Method::POST, "entities/user/buckets/gpt-4/reset", Value::Null),
        (Method::PUT, "entities/user", json!({})),
        (Method::DELETE, "entities/user", Value::Null),
    ] {
        call(method, tail).json(&body).send().await.problem(Code::FORBIDDEN);
    }
    assert_eq!(scene.requests_left().await, 60);
}
