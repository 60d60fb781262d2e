//! Who changed what, read by those whom it concerns.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;

use crate::scene::{ORG, OTHER, Scene, at, new_org, with};

/// Action, subject, actor and detail of every event of the list.
async fn events(scene: &Scene, path: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut next = path.to_owned();
    loop {
        let page: Value = scene.get(&next).await.json();
        for event in page["items"].as_array().unwrap() {
            let words = [&event["action"], &event["subject"], &event["actor"], &event["detail"]];
            let words = words.map(|word| word.as_str().unwrap_or("-"));
            all.push(words.join(" ").replace(&format!("org-{ORG}"), "org"));
        }
        let Some(cursor) = page["next_cursor"].as_str() else { return all };
        let join = if path.contains('?') { '&' } else { '?' };
        next = format!("{path}{join}cursor={cursor}");
    }
}

#[tokio::test]
async fn the_operator_the_org_and_the_app_read_their_events() {
    let scene = Scene::start().await;
    let org = scene.org(ORG).await;
    scene.app.clock.advance_ms(1_000);
    let app = scene.app(ORG, "api").await;
    let more = with(new_org(), json!({"quotas": {"premium": 1, "standard": 2}}));
    assert_eq!(scene.put(&at(ORG, ""), &more).await.status, 200);
    let to = json!({"model_label": "standard"});
    assert_eq!(scene.put(&at(ORG, "/sticky"), &to).await.status, 200);
    let day = "2026-01-15";
    let of_app =
        ["secret_retrieved org-app-api a one-time token -", "app_created org-app-api admin -"];
    let newest = [
        format!("sticky_overridden org admin {day}: standard"),
        "org_updated org admin quotas".to_owned(),
    ];
    let oldest = ["secret_retrieved org a one-time token -", "org_created org admin -"];
    let all: Vec<String> = newest
        .iter()
        .cloned()
        .chain([of_app, oldest].concat().into_iter().map(Into::into))
        .collect();
    assert_eq!(events(&scene, &at(ORG, "/audit")).await, all);
    assert_eq!(events(&scene, &at(ORG, "/audit?limit=1")).await, all);
    assert_eq!(events(&scene, &at(ORG, "/apps/api/audit?limit=1")).await, of_app);
    assert_eq!(events(&scene, &at(ORG, "/audit?from=2026-01-15T12:00:01Z")).await, all[..4]);
    assert_eq!(events(&scene, &at(ORG, "/audit?to=2026-01-15T12:00:01Z")).await, oldest);
    // Both see their own; an app does not see its org's.
    for (client, tail, status) in [
        (&org, "/audit", 200),
        (&org, "/apps/api/audit", 200),
        (&app, "/apps/api/audit", 200),
        (&app, "/audit", 403),
    ] {
        assert_eq!(scene.read(client, tail).await.status, status, "{} {tail}", client.id);
    }
}

#[tokio::test]
async fn malformed_queries_are_refused() {
    let scene = Scene::start().await;
    scene.org(ORG).await;
    scene.get(&at(OTHER, "/audit")).await.problem(Code::NOT_FOUND);
    scene.get(&at(ORG, "/apps/none/audit")).await.problem(Code::NOT_FOUND);
    for query in ["from=yesterday", "limit=0", "limit=101", "cursor=x", "since=1"] {
        let reply = scene.get(&at(ORG, &format!("/audit?{query}"))).await;
        reply.problem(Code::INVALID_REQUEST);
    }
    let reply = scene.call(Method::DELETE, &at(ORG, "/audit")).admin().send().await;
    assert_eq!(reply.status, 405);
}
