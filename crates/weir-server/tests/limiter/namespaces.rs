//! Tenants: made, taken out of use, put back, removed.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::{NOON_MS, Reply};

use crate::scene::{Scene, minutely};

async fn ask(scene: &Scene, method: Method, tail: &str) -> Reply {
    scene.app.request(method, &format!("/v1/namespaces{tail}")).admin().send().await
}

#[tokio::test]
async fn namespaces_live_and_die() {
    let scene = Scene::start().await;
    assert!(scene.app.clock.now_ms() >= NOON_MS);
    let made = ask(&scene, Method::PUT, "/shop").await;
    assert_eq!(made.status, 201, "{}", made.text());
    let told: Value = made.json();
    assert_eq!((&told["name"], &told["state"]), (&json!("shop"), &json!("active")));
    assert_eq!(told["id"].as_str().unwrap().len(), 11);
    let again = ask(&scene, Method::PUT, "/shop").await;
    assert_eq!((again.status, again.json::<Value>()), (200, told.clone()));
    assert_eq!(ask(&scene, Method::GET, "/shop").await.json::<Value>(), told);
    let page: Value = ask(&scene, Method::GET, "").await.json();
    let names: Vec<_> = page["items"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names.len(), 2, "{page}");

    ask(&scene, Method::DELETE, "/default").await.any_problem();
    ask(&scene, Method::POST, "/shop/purge").await.problem(Code::STATE_CONFLICT);
    let gone: Value = ask(&scene, Method::DELETE, "/shop").await.json();
    assert_eq!(gone["state"], "deleted");
    ask(&scene, Method::GET, "/shop/entities").await.problem(Code::NOT_FOUND);
    ask(&scene, Method::PUT, "/shop").await.problem(Code::STATE_CONFLICT);
    let back: Value = ask(&scene, Method::POST, "/shop/recover").await.json();
    assert_eq!(back["state"], "active");
    assert_eq!(ask(&scene, Method::GET, "/shop/entities").await.status, 200);
    let trail: Value = ask(&scene, Method::GET, "/shop/audit").await.json();
    let actions: Vec<_> =
        trail["items"].as_array().unwrap().iter().map(|event| &event["action"]).collect();
    assert_eq!(actions, ["namespace_recovered", "namespace_deleted", "namespace_created"]);
}

#[tokio::test]
async fn nothing_is_taken_in_a_purged_namespace() {
    let scene = Scene::start().await;
    ask(&scene, Method::PUT, "/shop").await;
    let body = json!({"entity": "user", "resource": "gpt-4", "consume": {"rpm": 1},
        "limits": [minutely("rpm", 3)]});
    let acquire = async || {
        let call = scene.app.post("/v1/namespaces/shop/acquire", &body);
        call.admin().send().await
    };
    assert_eq!(acquire().await.status, 200);
    ask(&scene, Method::DELETE, "/shop").await;
    assert_eq!(ask(&scene, Method::POST, "/shop/purge").await.status, 200);
    let problem = acquire().await.problem(Code::NOT_FOUND);
    assert!(problem.detail.contains("shop"), "{}", problem.detail);
    ask(&scene, Method::POST, "/shop/recover").await.problem(Code::STATE_CONFLICT);
}

#[tokio::test]
async fn only_operators_make_namespaces() {
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
