//! Statistics from rollups, and the audit log.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{Scene, texts};

#[tokio::test]
async fn usage_is_summed_by_day() {
    let scene = Scene::start().await;
    let (ann, ben) = (scene.user("ann", 2).await, scene.user("ben", 2).await);
    for (user, action) in [(&ann, "hint"), (&ann, "execution"), (&ann, "hint"), (&ben, "hint")] {
        scene.take(user, action).await;
    }
    scene.app.clock.advance_ms(86_400_000);
    scene.take(&ben, "execution").await;
    scene.run_job("practice-rollup").await;
    let stats = scene.read("stats?from=2026-01-14&to=2026-01-16").await;
    let expected = json!({"from": "2026-01-14", "to": "2026-01-16", "hints": 3, "executions": 2, "days": [
        {"date": "2026-01-14", "hints": 0, "executions": 0, "active_users": 0},
        {"date": "2026-01-15", "hints": 3, "executions": 1, "active_users": 2},
        {"date": "2026-01-16", "hints": 0, "executions": 1, "active_users": 1}],
        "top_users": [{"user_id": ann, "total": 3}, {"user_id": ben, "total": 2}]});
    assert_eq!(stats, expected);
    let default = scene.read("stats").await;
    assert_eq!((&default["from"], &default["to"]), (&json!("2025-12-18"), &json!("2026-01-16")));
    assert_eq!(default["hints"], 3);
    for (tail, field) in [
        ("stats?from=2026-01-16&to=2026-01-15", "to"),
        ("stats?from=2020-01-01", "to"),
        ("stats?from=yesterday", "from"),
        ("stats?to=2026-02-30", "to"),
        ("stats?day=2026-01-15", "day"),
    ] {
        let problem = scene.get(tail).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{tail}");
    }
}

#[tokio::test]
async fn the_most_active_users_of_a_day_stand_against_their_plans() {
    let scene = Scene::start().await;
    let (ann, ben) = (scene.user("ann", 2).await, scene.user("ben", 2).await);
    for (user, action) in [(&ann, "hint"), (&ann, "execution"), (&ann, "hint"), (&ben, "hint")] {
        scene.take(user, action).await;
    }
    scene.run_job("practice-rollup").await;
    let usage = scene.read(&format!("users/{ann}/usage")).await;
    let top = scene.read("stats/top-users").await;
    let first = json!({"user_id": ann, "name": "ann", "total": 3, "actions": usage["actions"]});
    assert_eq!((&top["date"], &top["users"][0]), (&json!("2026-01-15"), &first));
    assert_eq!((&top["users"][1]["user_id"], &top["users"][2]), (&json!(ben), &Value::Null));
    let one = scene.read("stats/top-users?date=2026-01-15&limit=1").await;
    assert_eq!(one["users"], json!([first]));
    assert_eq!(scene.read("stats/top-users?date=2026-01-14").await["users"], json!([]));
    // A user who is gone stays in the sums of the day, without a name.
    let erased = scene.send(Method::DELETE, &format!("users/{ann}"), &Value::Null).await;
    assert_eq!(erased.status, 204, "{}", erased.text());
    let gone = json!({"user_id": ann, "name": null, "total": 3, "actions": []});
    assert_eq!(scene.read("stats/top-users?limit=1").await["users"], json!([gone]));
    for (tail, field) in [
        ("stats/top-users?limit=0", "limit"),
        ("stats/top-users?limit=101", "limit"),
        ("stats/top-users?date=2026-02-30", "date"),
        ("stats/top-users?from=2026-01-15", "from"),
    ] {
        let problem = scene.get(tail).await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{tail}");
    }
}

#[tokio::test]
async fn rollups_are_compared_with_counters() {
    let scene = Scene::start().await;
    let ann = scene.user("ann", 2).await;
    scene.take(&ann, "hint").await;
    let verify = |repair: bool| {
        let body = json!({"date": "2026-01-15", "repair": repair});
        let scene = &scene;
        async move { scene.done(Method::POST, "stats/verify", &body).await }
    };
    verify(true).await;
    let checked = verify(false).await;
    let counts = json!({"hints": 1, "executions": 0});
    let expected = json!({"date": "2026-01-15", "active_users": 1, "computed": counts, "differences": [],
        "is_repaired": false});
    assert_eq!(checked, expected);
    let expired = json!({"date": "2020-01-15"});
    let problem = scene.post("stats/verify", &expired).await.problem(Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "date");
}

#[tokio::test]
async fn changes_are_audited_with_their_actor() {
    let scene = Scene::start().await;
    let token = scene.app.token("practice").await;
    let body = json!({"email": "ann@example.com", "name": "Ann"});
    let created = scene.app.post("/v1/practice/users", &body).bearer(&token).send().await;
    assert_eq!(created.status, 201, "{}", created.text());
    let id = created.json::<Value>()["id"].as_str().unwrap().to_owned();
    scene.done(Method::PUT, &format!("users/{id}/plan"), &json!({"plan_id": 2})).await;
    let audit = scene.read("audit").await;
    assert_eq!(texts(&audit["items"], "action"), ["user_plan_changed", "user_created"]);
    assert_eq!(audit["items"][0]["subject"], format!("user {id}"));
    let actors = texts(&audit["items"], "actor");
    assert_ne!(actors[0], actors[1]);
    assert!(!audit.to_string().contains("ann@"), "personal data: {audit}");
    let none = scene.read("audit?to=2026-01-15T00:00:00Z").await;
    assert_eq!(none["items"], json!([]));
}
