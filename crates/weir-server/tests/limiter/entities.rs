//! Entities.

use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::Scene;

#[tokio::test]
async fn entities_are_created_replaced_listed_and_deleted() {
    let scene = Scene::with_limits().await;
    let body = json!({"name": "The team", "metadata": {"plan": "pro"}});
    let created = scene.put("entities/team", &body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let body: Value = created.json();
    assert_eq!(
        body,
        json!({
            "id": "team", "name": "The team", "parent": null, "cascade": false,
            "metadata": {"plan": "pro"}, "version": 1,
            "created_at": "2026-01-15T12:00:00.000Z", "updated_at": "2026-01-15T12:00:00.000Z",
        })
    );
    assert_eq!(scene.get("entities/team").await.json::<Value>(), body);
    scene.app.clock.advance_ms(1_000);
    let replaced = scene.put("entities/team", &json!({})).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    let body: Value = replaced.json();
    assert_eq!((&body["name"], &body["version"]), (&json!("team"), &json!(2)));
    assert_eq!(body["updated_at"], "2026-01-15T12:00:01.000Z");

    for child in ["user-1", "user-2"] {
        let body = json!({"parent": "team", "cascade": true});
        assert_eq!(scene.put(&format!("entities/{child}"), &body).await.status, 201);
    }
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    let page: Value = scene.get("entities?limit=2").await.json();
    assert_eq!(ids(&page), ["team", "user-1"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let page: Value = scene.get(&format!("entities?limit=2&cursor={cursor}")).await.json();
    assert_eq!(ids(&page), ["user-2"]);
    let page: Value = scene.get("entities/team/children").await.json();
    assert_eq!(ids(&page), ["user-1", "user-2"]);

    let moved = scene.put("entities/user-2/parent", &json!({"parent": null})).await;
    assert_eq!(moved.status, 200, "{}", moved.text());
    assert_eq!(moved.json::<Value>()["parent"], Value::Null);
    let page: Value = scene.get("entities/team/children").await.json();
    assert_eq!(ids(&page), ["user-1"]);
    assert_eq!(scene.delete("entities/user-1").await.status, 204);
    scene.get("entities/user-1").await.problem(Code::NOT_FOUND);
    scene.delete("entities/user-1").await.problem(Code::NOT_FOUND);
    assert_eq!(scene.delete("entities/team").await.status, 204);
}
