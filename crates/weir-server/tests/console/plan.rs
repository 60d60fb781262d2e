//! A plan says what changes of limits would do, and writes nothing.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, limit};

const LIMITS: &str = "/v1/namespaces/default/limits";

async fn plan(scene: &Scene, levels: Value) -> Value {
    let path = format!("{LIMITS}/plan");
    scene.admin(Method::POST, &path, &json!({"levels": levels})).await["changes"].clone()
}

/// Three users of two resources; one user has limits of its own.
async fn scene() -> Scene {
    let scene = Scene::start().await;
    scene.namespace("default").await;
    let own = json!({"limits": [limit(50)]});
    scene.admin(Method::PUT, &format!("{LIMITS}/entities/vip/gpt-4"), &own).await;
    for entity in ["ann", "ben", "vip"] {
        assert_eq!(scene.acquire("default", "gpt-4", entity, 1).await, 200);
    }
    assert_eq!(scene.acquire("default", "claude", "ann", 1).await, 200);
    scene
}

#[tokio::test]
async fn a_plan_counts_the_entities_whose_limits_change() {
    let scene = scene().await;
    let before = scene.get(&format!("{LIMITS}/system")).await;
    for (level, action, entities) in [
        (json!({"level": "system", "limits": [limit(20)]}), "change", 2),
        (json!({"level": "system", "limits": [limit(10)]}), "none", 0),
        (json!({"level": "system", "limits": null}), "remove", 2),
        (json!({"level": "resource", "resource": "gpt-4", "limits": [limit(20)]}), "add", 2),
        // The same limits from another level change nothing for anyone.
        (json!({"level": "resource", "resource": "gpt-4", "limits": [limit(10)]}), "add", 0),
        (json!({"level": "resource", "resource": "claude", "limits": [limit(20)]}), "add", 1),
        (json!({"level": "resource", "resource": "unused", "limits": null}), "none", 0),
        (
            json!({"level": "entity", "entity": "vip", "resource": "gpt-4", "limits": null}),
            "remove",
            1,
        ),
        (json!({"level": "entity", "entity": "ann", "limits": [limit(20)]}), "add", 1),
        (json!({"level": "entity", "entity": "nobody", "limits": [limit(20)]}), "add", 0),
    ] {
        let change = plan(&scene, json!([level])).await[0].clone();
        let found = (&change["action"], &change["entities"], &change["is_complete"]);
        assert_eq!(found, (&json!(action), &json!(entities), &json!(true)), "{level}: {change}");
    }
    assert_eq!(scene.get(&format!("{LIMITS}/system")).await, before);
    let all = plan(
        &scene,
        json!([{"level": "system", "limits": [limit(20)]},
        {"level": "entity", "entity": "vip", "resource": "gpt-4", "limits": [limit(50)]}]),
    )
    .await;
    assert_eq!(all[0]["before"]["limits"], json!([limit(10)]));
    assert_eq!(all[0]["after"]["limits"], json!([limit(20)]));
    assert_eq!((&all[1]["action"], &all[1]["entity"]), (&json!("none"), &json!("vip")));
}

#[tokio::test]
async fn a_plan_without_a_count_has_the_levels_alone() {
    let scene = scene().await;
    let levels = json!([{"level": "resource", "resource": "none", "limits": null},
        {"level": "system", "limits": null}]);
    let body = json!({"levels": levels, "count": false});
    let found = scene.admin(Method::POST, &format!("{LIMITS}/plan"), &body).await;
    let [none, system] = [&found["changes"][0], &found["changes"][1]];
    assert_eq!((&none["before"], &none["is_complete"]), (&Value::Null, &json!(true)));
    assert_eq!(system["before"]["limits"], json!([limit(10)]));
    assert_eq!((&system["entities"], &system["is_complete"]), (&json!(0), &json!(false)));
}

#[tokio::test]
async fn a_wrong_plan_names_its_field() {
    let scene = scene().await;
    for (levels, field) in [
        (json!([]), "levels"),
        (json!([{"level": "system", "resource": "gpt-4", "limits": null}]), "resource"),
        (json!([{"level": "resource", "limits": null}]), "resource"),
        (json!([{"level": "entity", "limits": null}]), "entity"),
        (json!([{"level": "resource", "resource": "a", "entity": "b", "limits": null}]), "entity"),
        (json!([{"level": "system", "limits": []}]), "limits"),
        (json!([{"level": "system", "limits": [{"name": "rpm"}]}]), "capacity"),
        (json!([{"level": "galaxy", "limits": null}]), "level"),
    ] {
        let call = scene.app.post(&format!("{LIMITS}/plan"), &json!({"levels": levels})).admin();
        let problem = call.send().await.problem(Code::INVALID_REQUEST);
        let found = problem.details["field"].as_str().unwrap();
        assert!(found.contains(field), "{levels}: {found}");
    }
}

#[tokio::test]
async fn entities_are_found_by_the_beginning_of_their_ids() {
    let scene = Scene::start().await;
    scene.namespace("default").await;
    for id in ["team", "user-1", "user-10", "user-2", "zoe"] {
        let path = format!("/v1/namespaces/default/entities/{id}");
        scene.admin(Method::PUT, &path, &json!({"name": id})).await;
    }
    for (prefix, expected) in [
        ("user-1", &["user-1", "user-10"][..]),
        ("user", &["user-1", "user-10", "user-2"]),
        ("z", &["zoe"]),
        ("x", &[]),
    ] {
        let path = format!("/v1/namespaces/default/entities?prefix={prefix}");
        let found = scene.get(&path).await;
        let ids: Vec<&str> = found["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{prefix}");
    }
    for wrong in ["", "%23"] {
        let path = format!("/v1/namespaces/default/entities?prefix={wrong}");
        scene.app.get(&path).admin().send().await.problem(Code::INVALID_REQUEST);
    }
}
