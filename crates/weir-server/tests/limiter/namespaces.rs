//! Namespaces: created, deleted, recovered, purged.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::{NOON_MS, Reply};

use crate::scene::{Scene, minutely};

async fn call(scene: &Scene, method: Method, tail: &str) -> Reply {
    scene.app.request(method, &format!("/v1/namespaces{tail}")).admin().send().await
}

#[tokio::test]
async fn namespaces_are_created_deleted_recovered_and_listed() {
    let scene = Scene::start().await;
    assert!(scene.app.clock.now_ms() >= NOON_MS);
    let made = call(&scene, Method::PUT, "/shop").await;
    assert_eq!(made.status, 201, "{}", made.text());
    let body: Value = made.json();
    assert_eq!((&body["name"], &body["state"]), (&json!("shop"), &json!("active")));
    assert_eq!(body["id"].as_str().unwrap().len(), 11);
    let again = call(&scene, Method::PUT, "/shop").await;
    assert_eq!((again.status, again.json::<Value>()), (200, body.clone()));
    assert_eq!(call(&scene, Method::GET, "/shop").await.json::<Value>(), body);
    let page: Value = call(&scene, Method::GET, "").await.json();
    let names: Vec<_> = page["items"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names.len(), 2, "{page}");

    call(&scene, Method::DELETE, "/default").await.any_problem();
    call(&scene, Method::DELETE, "/weir-api").await.problem(Code::INVALID_REQUEST);
    call(&scene, Method::POST, "/shop/purge").await.problem(Code::STATE_CONFLICT);
    let gone: Value = call(&scene, Method::DELETE, "/shop").await.json();
    assert_eq!(gone["state"], "deleted");
    call(&scene, Method::GET, "/shop/entities").await.problem(Code::NOT_FOUND);
    call(&scene, Method::PUT, "/shop").await.problem(Code::STATE_CONFLICT);
    let back: Value = call(&scene, Method::POST, "/shop/recover").await.json();
    assert_eq!(back["state"], "active");
    assert_eq!(call(&scene, Method::GET, "/shop/entities").await.status, 200);
    let trail: Value = call(&scene, Method::GET, "/shop/audit").await.json();
    let actions: Vec<_> =
        trail["items"].as_array().unwrap().iter().map(|event| &event["action"]).collect();
    assert_eq!(actions, ["namespace_recovered", "namespace_deleted", "namespace_created"]);
}

#[tokio::test]
async fn a_purged_namespace_grants_no_tokens() {
    let scene = Scene::start().await;
    call(&scene, Method::PUT, "/shop").await;
    let body = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1},
        "limits": [minutely("rpm", 3)]});
    let acquire = async || {
        let call = scene.app.post("/v1/namespaces/shop/acquire", &body);
        call.admin().send().await
    };
    assert_eq!(acquire().await.status, 200);
    call(&scene, Method::DELETE, "/shop").await;
    assert_eq!(call(&scene, Method::POST, "/shop/purge").await.status, 200);
    let problem = acquire().await.problem(Code::NOT_FOUND);
    assert!(problem.detail.contains("shop"), "{}", problem.detail);
    call(&scene, Method::POST, "/shop/recover").await.problem(Code::STATE_CONFLICT);
}

#[tokio::test]
async fn only_admins_manage_namespaces() {
    let scene = Scene::start().await;
    let mine = scene.app.token("ns:default ns:shop").await;
    let call = |method: Method, path: &str| {
        scene.app.request(method, &format!("/v1/namespaces{path}")).bearer(&mine).send()
    };
    assert_eq!(call(Method::GET, "/default").await.status, 200);
    call(Method::GET, "/shop").await.problem(Code::NOT_FOUND);
    call(Method::PUT, "/shop").await.problem(Code::FORBIDDEN);
    call(Method::DELETE, "/default").await.problem(Code::FORBIDDEN);
    call(Method::GET, "").await.problem(Code::FORBIDDEN);
    call(Method::POST, "/default/purge").await.problem(Code::FORBIDDEN);
}
