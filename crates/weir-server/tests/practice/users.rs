//! Users: creation, lists, changes and deletion.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, refused, texts};

#[tokio::test]
async fn a_user_is_created_found_and_changed() {
    let scene = Scene::start().await;
    let body = json!({"email": "Ann@Example.com", "name": "Ann", "picture_url": "https://x.test/a.png",
        "google_id": "g-1", "plan_id": 2, "is_staff": true});
    let ann = scene.done(Method::POST, "users", &body).await;
    let id = ann["id"].as_str().unwrap();
    for (field, value) in body.as_object().unwrap() {
        assert_eq!(ann[field], *value, "{field}");
    }
    assert_eq!((&ann["is_active"], &ann["created_at"]), (&json!(true), &ann["updated_at"]));
    assert_eq!(scene.read(&format!("users/{id}")).await, ann);
    for by in ["email=ann@example.com", "google_id=g-1", "plan=2", "limit=2"] {
        let page = scene.read(&format!("users?{by}")).await;
        assert_eq!(page["items"], json!([ann]), "{by}");
        assert_eq!(page["next_cursor"], Value::Null, "{by}");
    }
    for by in ["email=nobody@example.com", "google_id=g-2", "plan=1"] {
        assert_eq!(scene.read(&format!("users?{by}")).await["items"], json!([]), "{by}");
    }
    let patch =
        json!({"name": "Ann Lee", "picture_url": null, "google_id": "g-2", "is_staff": false});
    let changed = scene.done(Method::PATCH, &format!("users/{id}"), &patch).await;
    for (field, value) in patch.as_object().unwrap() {
        assert_eq!(changed[field], *value, "{field}");
    }
    assert_eq!(changed["email"], "Ann@Example.com");
    assert_eq!(scene.read("users?google_id=g-1").await["items"], json!([]));
    let unchanged = scene.done(Method::PATCH, &format!("users/{id}"), &json!({})).await;
    assert_eq!(unchanged, changed);
}

#[tokio::test]
async fn an_address_has_one_user() {
    let scene = Scene::start().await;
    let body = json!({"email": "ann@example.com", "name": "Ann", "google_id": "g-1"});
    scene.done(Method::POST, "users", &body).await;
    let ben = scene.user("ben", 1).await;
    for again in [
        json!({"email": "ANN@example.com", "name": "Other"}),
        json!({"email": "other@example.com", "name": "Other", "google_id": "g-1"}),
    ] {
        scene.post("users", &again).await.problem(Code::STATE_CONFLICT);
    }
    for taken in [json!({"email": "Ann@example.com"}), json!({"google_id": "g-1"})] {
        let reply = scene.send(Method::PATCH, &format!("users/{ben}"), &taken).await;
        reply.problem(Code::STATE_CONFLICT);
    }
}

#[tokio::test]
async fn of_sign_ups_at_once_with_one_address_one_succeeds() {
    let scene = Scene::start().await;
    let sign_up = |number: u32| {
        let body = json!({"email": "ann@example.com", "name": format!("Ann {number}")});
        scene.call(Method::POST, "users").json(&body).send()
    };
    let sent: Vec<_> = (0..20).map(|number| tokio::spawn(sign_up(number))).collect();
    let mut created = 0;
    for reply in sent {
        let reply = reply.await.unwrap();
        assert!(matches!(reply.status, 201 | 409), "{}", reply.text());
        created += u32::from(reply.status == 201);
    }
    assert_eq!(created, 1);
    assert_eq!(scene.read("users").await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn users_are_listed_by_plan_in_pages() {
    let scene = Scene::start().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(scene.user(&format!("u{number}"), 2).await);
        scene.app.clock.advance_ms(1_000);
    }
    scene.user("other", 1).await;
    ids.reverse();
    let (mut found, mut tail) = (Vec::new(), "users?plan=2&limit=2".to_owned());
    loop {
        let page = scene.read(&tail).await;
        found.extend(texts(&page["items"], "id"));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        tail = format!("users?plan=2&limit=2&cursor={cursor}");
    }
    assert_eq!(found, ids);
    assert_eq!(scene.read("users").await["items"].as_array().unwrap().len(), 6);
    let moved =
        scene.done(Method::PUT, &format!("users/{}/plan", ids[0]), &json!({"plan_id": 3})).await;
    assert_eq!(moved["plan_id"], 3);
    assert_eq!(scene.read("users?plan=2").await["items"].as_array().unwrap().len(), 4);
    let problem = scene.get("users?plan=2&email=a@b").await.problem(Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "email");
}

#[tokio::test]
async fn an_inactive_user_takes_nothing() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let off = scene.done(Method::POST, &format!("users/{ann}/deactivate"), &Value::Null).await;
    assert_eq!(off["is_active"], false);
    refused(&scene.take(&ann, "hint").await, 403, "NOT_ALLOWED");
    let on = scene.done(Method::POST, &format!("users/{ann}/reactivate"), &Value::Null).await;
    assert_eq!(on["is_active"], true);
    assert_eq!(scene.take(&ann, "hint").await.status, 200);
}

#[tokio::test]
async fn a_deleted_user_is_gone_and_its_counts_stay() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 1).await;
    let details = json!({"action": "hint", "metadata": {"secret": "mine"}});
    scene.done(Method::POST, &format!("users/{ann}/usage"), &details).await;
    scene.run_job("practice-rollup").await;
    assert_eq!(scene.send(Method::DELETE, &format!("users/{ann}"), &Value::Null).await.status, 204);
    for tail in ["", "/usage", "/usage/log"] {
        scene.get(&format!("users/{ann}{tail}")).await.problem(Code::NOT_FOUND);
    }
    scene.take(&ann, "hint").await.problem(Code::NOT_FOUND);
    scene
        .send(Method::DELETE, &format!("users/{ann}"), &Value::Null)
        .await
        .problem(Code::NOT_FOUND);
    assert!(!scene.stored().await.contains("ann@example.com"));
    scene.run_job("practice-erasures").await;
    assert!(!scene.stored().await.contains("mine"));
    assert_eq!(scene.read("stats").await["hints"], 1);
    let audit = scene.read(&format!("audit?subject=user%20{ann}")).await;
    assert_eq!(texts(&audit["items"], "action"), ["user_erased", "user_created"]);
    // The address is free again.
    scene.user("ann", 1).await;
}
