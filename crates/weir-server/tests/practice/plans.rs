//! Plans.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, texts};

#[tokio::test]
async fn the_default_plans_are_there() {
    let scene = Scene::start().await;
    let plans = scene.read("plans").await;
    let mut names = texts(&plans["items"], "name");
    names.sort_unstable();
    assert_eq!(names, ["Admin", "Free", "Pro"]);
    for (id, hints, executions) in [(1, 5, 50), (2, 50, 500), (3, -1, -1)] {
        let plan = scene.read(&format!("plans/{id}")).await;
        assert_eq!((&plan["max_hints_per_day"], &plan["users"]), (&json!(hints), &json!(0)));
        assert_eq!(plan["max_executions_per_day"], json!(executions));
    }
    let (first, next) = (scene.read("plans?limit=2").await, plans["next_cursor"].clone());
    assert_eq!(next, Value::Null);
    let cursor = first["next_cursor"].as_str().unwrap();
    let last = scene.read(&format!("plans?limit=2&cursor={cursor}")).await;
    assert_eq!(last["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_plan_is_created_replaced_and_deleted_when_nobody_is_on_it() {
    let scene = Scene::start().await;
    let body = json!({"name": "Team", "max_hints_per_day": 1, "max_executions_per_day": -1});
    let plan = scene.done(Method::POST, "plans", &body).await;
    assert_eq!((&plan["id"], &plan["max_problems"]), (&json!(4), &json!(-1)));
    assert_eq!((&plan["can_view_all_problems"], &plan["is_active"]), (&json!(true), &json!(true)));
    assert_eq!(plan["can_register_problems"], false);
    let ann = scene.user("ann", 4).await;
    assert_eq!(scene.read("plans/4").await["users"], 1);
    assert_eq!(scene.take(&ann, "hint").await.status, 200);
    assert_eq!(scene.take(&ann, "hint").await.status, 429);
    let larger = json!({"name": "Team", "description": "Five", "max_hints_per_day": 5, "max_executions_per_day": 7,
        "max_problems": 0, "can_view_all_problems": false, "can_register_problems": true, "is_active": false});
    let replaced = scene.done(Method::PUT, "plans/4", &larger).await;
    for (field, value) in larger.as_object().unwrap() {
        assert_eq!(replaced[field], *value, "{field}");
    }
    assert_eq!(scene.take(&ann, "hint").await.json::<Value>()["remaining"], 3);
    // Nobody can be put on a plan that is inactive.
    let new = json!({"email": "ben@example.com", "name": "Ben", "plan_id": 4});
    assert!(matches!(scene.post("users", &new).await.status, 400 | 409));
    let delete = || scene.send(Method::DELETE, "plans/4", &Value::Null);
    delete().await.problem(Code::STATE_CONFLICT);
    scene.done(Method::PUT, &format!("users/{ann}/plan"), &json!({"plan_id": 1})).await;
    assert_eq!(delete().await.status, 204);
    delete().await.problem(Code::NOT_FOUND);
    scene.get("plans/4").await.problem(Code::NOT_FOUND);
    let audit = scene.read("audit?subject=plan%204").await;
    assert_eq!(texts(&audit["items"], "action"), ["plan_deleted", "plan_put", "plan_put"]);
}
