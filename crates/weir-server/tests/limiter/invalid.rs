//! Invalid requests: the error names the field, and no tokens are taken.

use serde_json::{Map, Value, json};
use weir_framework::Code;

use crate::scene::{Scene, minutely};

fn acquire(change: Value) -> Value {
    let mut request = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1}});
    for (name, value) in change.as_object().unwrap() {
        request[name] = value.clone();
    }
    request
}

fn consume(amounts: Value) -> Value {
    acquire(json!({"consume": amounts}))
}

fn many(count: usize) -> Value {
    Value::Object((0..count).map(|n| (format!("l{n}"), json!(1))).collect::<Map<_, _>>())
}

#[tokio::test]
async fn invalid_acquires_are_refused_with_the_field() {
    let scene = Scene::with_limits().await;
    assert_eq!(scene.acquire(json!({"rpm": 10})).await.status, 200);
    let before = scene.available_to("user").await;
    let long = "x".repeat(257);
    for (wrong, named) in [
        (consume(json!({"rps": 1})), "rps"),
        (consume(json!({"rpm": 0})), "rpm"),
        (consume(json!({"rpm": -1})), "rpm"),
        (consume(json!({"rpm": i64::MAX})), "rpm"),
        (consume(json!({"rpm": i64::MIN})), "rpm"),
        (consume(json!({"rpm": 1e30})), "rpm"),
        (consume(json!({"rpm": 1.5})), "rpm"),
        (consume(json!({"rpm": "1"})), "rpm"),
        (consume(json!({"rpm": 101})), "rpm"),
        (consume(json!({"rpm": 1, "tpm": 0})), "tpm"),
        (consume(json!({})), "consume"),
        (consume(many(17)), "consume"),
        (consume(json!({"wcu": 1})), "wcu"),
        (consume(json!({"a#b": 1})), "a#b"),
        (acquire(json!({"entity": "a#b"})), "a#b"),
        (acquire(json!({"entity": "a/b"})), "a/b"),
        (acquire(json!({"entity": ""})), "entity"),
        (acquire(json!({"entity": long})), "entity"),
        (acquire(json!({"entity": null})), "entity"),
        (acquire(json!({"resource": "1gpt"})), "1gpt"),
        (acquire(json!({"resource": "_default_"})), "_default_"),
        (acquire(json!({"lease_ttl_secs": 0})), "lease_ttl_secs"),
        (acquire(json!({"lease_ttl_secs": 86_401})), "lease_ttl_secs"),
        (acquire(json!({"on_expiry": "explode"})), "explode"),
        (acquire(json!({"dry_run": "yes"})), "dry_run"),
        (acquire(json!({"colour": "red"})), "colour"),
        (acquire(json!({"limits": [{"name": "rpm"}]})), "capacity"),
        (acquire(json!({"limits": [minutely("rpm", 0)]})), "capacity"),
        (acquire(json!({"limits": [minutely("rpm", 1), minutely("rpm", 2)]})), "rpm"),
        (json!({"entity": "user", "resource": "gpt-4"}), "consume"),
        (json!([]), ""),
    ] {
        let reply = scene.post("acquire", &wrong).await;
        let problem = reply.problem(Code::INVALID_REQUEST);
        assert!(problem.detail.contains(named), "{wrong}: {}", problem.detail);
        assert!(problem.details["field"].is_string(), "{wrong}: {}", reply.text());
    }
    assert_eq!(scene.available_to("user").await, before, "no tokens were taken");
}

#[tokio::test]
async fn invalid_ids_in_paths_and_queries_are_refused() {
    let scene = Scene::with_limits().await;
    for (path, named) in [
        ("entities/a%23b", "a#b"),
        ("entities/a%2Fb", "a/b"),
        ("entities/%20", "entity"),
        ("limits/resources/1gpt", "1gpt"),
        ("limits/entities/user/1gpt", "1gpt"),
        ("limits/entities/a%23b/gpt-4", "a#b"),
        ("limits/resolve?entity=user&resource=1gpt", "1gpt"),
        ("limits/resolve?entity=user", "resource"),
        ("limits/resolve?entity=user&resource=gpt-4&colour=red", "colour"),
        ("limits/entities?resource=1gpt", "1gpt"),
        ("availability?entity=user&resource=gpt-4&amounts=rpm", "amounts"),
        ("availability?entity=user&resource=gpt-4&amounts=rps:1", "rps"),
        ("availability?entity=user&resource=gpt-4&amounts=rpm:-1", "rpm"),
        ("usage?entity=a%23b", "a#b"),
        ("usage?window=hourly", "entity"),
        ("usage?entity=user&window=weekly", "weekly"),
        ("usage?entity=user&from=yesterday", "yesterday"),
        ("usage/summary?window=daily", "entity"),
        ("audit?entity=$ALL", "$ALL"),
        ("audit?entity=$RESOURCE:1gpt", "1gpt"),
        ("audit?to=tomorrow", "tomorrow"),
        ("entities?limit=0", "limit"),
        ("entities?limit=101", "limit"),
        ("entities?cursor=x", "cursor"),
    ] {
        let reply = scene.get(path).await;
        let problem = reply.problem(Code::INVALID_REQUEST);
        assert!(problem.detail.contains(named), "{path}: {}", problem.detail);
    }
    let bad = scene.app.get("/v1/namespaces/a%23b/entities").admin().send().await;
    assert!(bad.problem(Code::INVALID_REQUEST).detail.contains("a#b"));
    let none = scene.app.get("/v1/namespaces/nowhere/entities").admin().send().await;
    assert!(none.problem(Code::NOT_FOUND).detail.contains("nowhere"));
}

#[tokio::test]
async fn invalid_limits_are_refused_and_change_nothing() {
    let scene = Scene::with_limits().await;
    let before: Value = scene.get("limits/system").await.json();
    let limit = |name: &str, value: Value| {
        let mut limit = minutely("rpm", 100);
        limit[name] = value;
        json!({"limits": [limit]})
    };
    let seventeen: Vec<_> = (0..17).map(|n| minutely(&format!("l{n}"), 1)).collect();
    for (wrong, named) in [
        (json!({"limits": seventeen}), "17"),
        (json!({"limits": [minutely("rpm", 1), minutely("rpm", 2)]}), "rpm"),
        (json!({"limits": []}), "limits"),
        (json!({}), "limits"),
        (limit("capacity", json!(0)), "capacity"),
        (limit("capacity", json!(-1)), "capacity"),
        (limit("capacity", json!(1_000_000_000_001_u64)), "capacity"),
        (limit("refill_amount", json!(0)), "refill_amount"),
        (limit("refill_period_seconds", json!(0)), "refill_period_seconds"),
        (limit("refill_period_seconds", json!(315_360_001)), "refill_period_seconds"),
        (limit("name", json!("wcu")), "wcu"),
        (limit("name", json!("a b")), "a b"),
        (limit("burst", json!(1)), "burst"),
        (json!({"limits": [minutely("rpm", 1)], "on_unavailable": "maybe"}), "maybe"),
    ] {
        let problem = scene.put("limits/system", &wrong).await.problem(Code::INVALID_REQUEST);
        assert!(problem.detail.contains(named), "{wrong}: {}", problem.detail);
    }
    let elsewhere = json!({"limits": [minutely("rpm", 1)], "strict_version": true});
    let problem = scene.put("limits/resources/gpt-4", &elsewhere).await;
    assert!(problem.problem(Code::INVALID_REQUEST).detail.contains("strict_version"));
    assert_eq!(scene.get("limits/system").await.json::<Value>(), before);
    assert_eq!(scene.requests_left().await, 100);
}

#[tokio::test]
async fn parents_have_no_parents_and_no_cycles() {
    let scene = Scene::with_limits().await;
    scene.put("entities/a", &json!({})).await;
    scene.put("entities/b", &json!({"parent": "a"})).await;
    let before: Value = scene.get("entities/a").await.json();
    for (tail, body) in [
        ("entities/a", json!({"parent": "b"})),
        ("entities/a", json!({"parent": "a"})),
        ("entities/a/parent", json!({"parent": "b"})),
        ("entities/a/parent", json!({"parent": "a"})),
        ("entities/c", json!({"parent": "b"})),
        ("entities/c", json!({"parent": "nobody"})),
        ("entities/c", json!({"cascade": true})),
        ("entities/c", json!({"parent": "a#b"})),
        ("entities/c", json!({"name": ""})),
        ("entities/c", json!({"metadata": {"a": 1}})),
        ("entities/c", json!({"colour": "red"})),
        ("entities/a/parent", json!({})),
    ] {
        let reply = scene.put(tail, &body).await;
        let problem = reply.any_problem();
        assert!(matches!(problem.status, 400 | 404 | 409), "{tail} {body}: {}", reply.text());
    }
    assert_eq!(scene.get("entities/a").await.json::<Value>(), before);
    scene.get("entities/c").await.problem(Code::NOT_FOUND);
    assert!(matches!(scene.delete("entities/a").await.any_problem().status, 400 | 409));
}

#[tokio::test]
async fn an_idempotency_key_is_short_visible_ascii() {
    let scene = Scene::with_limits().await;
    let lease = scene.lease(json!({"rpm": 5})).await;
    let tail = format!("leases/{lease}/commit");
    let long = "k".repeat(65);
    for wrong in ["", "a b", "ä", long.as_str()] {
        let call = scene.call(axum::http::Method::POST, &tail).header("idempotency-key", wrong);
        let problem = call.send().await.problem(Code::INVALID_REQUEST);
        assert!(problem.detail.contains("Idempotency-Key"), "{wrong:?}: {}", problem.detail);
    }
    let call = scene.call(axum::http::Method::POST, &tail);
    let twice = call.header("idempotency-key", "a").header("idempotency-key", "b");
    twice.send().await.problem(Code::INVALID_REQUEST);
    assert_eq!(scene.post_empty(&tail).await.json::<Value>()["state"], "committed");
}
