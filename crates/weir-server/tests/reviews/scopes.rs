//! Who may record and read what.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::Reply;

use crate::scene::{Scene, path, review};

/// A server with a review of `acme/weir` and one of `other/weir`.
async fn two_owners() -> Scene {
    let scene = Scene::start().await;
    scene.record(&review("mine")).await;
    let mut other = review("theirs");
    other["owner"] = json!("other");
    other["responses"][0]["raw"] = json!("secret");
    scene.record(&other).await;
    scene
}

/// Requests about one review, with the status of one that the caller may do everything with.
fn below(id: &str) -> Vec<(Method, String, Value, u16)> {
    let get = |tail: &str| (Method::GET, format!("{id}{tail}"), Value::Null, 200);
    let verdict = json!({"verdict": "accepted", "by": "octocat"});
    vec![
        get(""),
        get("?include=findings"),
        get("/responses"),
        get("/findings"),
        get("/consensus"),
        get("/sarif"),
        get("/report"),
        (Method::POST, format!("{id}/findings/claude-sonnet/1/feedback"), verdict, 200),
        (Method::POST, format!("{id}/complete"), json!({}), 409),
        (Method::DELETE, id.to_owned(), Value::Null, 204),
    ]
}

async fn send(scene: &Scene, token: &str, method: Method, tail: &str, body: &Value) -> Reply {
    let call = scene.app.request(method, &path(tail)).bearer(token);
    if body.is_null() { call.send().await } else { call.json(body).send().await }
}

#[tokio::test]
async fn reviews_of_others_are_missing_like_those_that_do_not_exist() {
    let scene = two_owners().await;
    for scope in ["reviews:acme", "reviews:acme/weir"] {
        let token = scene.app.token(scope).await;
        for (number, (method, tail, body, _)) in below("theirs").into_iter().enumerate() {
            let theirs = send(&scene, &token, method.clone(), &tail, &body).await;
            let (_, tail, ..) = below("nobody").swap_remove(number);
            let nobody = send(&scene, &token, method, &tail, &body).await;
            let shown = |reply: &Reply| reply.problem(Code::NOT_FOUND).detail;
            assert_eq!(shown(&theirs).replace("theirs", "nobody"), shown(&nobody), "{tail}");
        }
        let raw = send(&scene, &token, Method::GET, "theirs/raw/claude-sonnet", &Value::Null).await;
        raw.problem(Code::NOT_FOUND);
    }
    assert_eq!(scene.read("theirs/findings").await["items"][0].get("feedback"), None);
}

#[tokio::test]
async fn a_token_of_a_repository_does_everything_with_its_reviews() {
    for scope in ["reviews", "reviews:acme", "reviews:acme/weir"] {
        let scene = two_owners().await;
        let token = scene.app.token(scope).await;
        for (method, tail, body, status) in below("mine") {
            let reply = send(&scene, &token, method, &tail, &body).await;
            assert_eq!(reply.status, status, "{scope} {tail}: {}", reply.text());
        }
        let recorded = send(&scene, &token, Method::POST, "", &review("new")).await;
        assert_eq!(recorded.status, 201, "{}", recorded.text());
        for tail in ["repos/acme/weir", "repos/acme/weir/costs", "compare?repo=acme/weir"] {
            let reply = send(&scene, &token, Method::GET, tail, &Value::Null).await;
            assert_eq!(reply.status, 200, "{scope} {tail}: {}", reply.text());
        }
    }
}

#[tokio::test]
async fn a_reader_only_reads() {
    let scene = two_owners().await;
    for scope in ["reviews:read", "reviews:acme:read", "reviews:acme/weir:read"] {
        let token = scene.app.token(scope).await;
        for (method, tail, body, status) in below("mine") {
            let expected = if method.is_safe() { status } else { 403 };
            let reply = send(&scene, &token, method, &tail, &body).await;
            assert_eq!(reply.status, expected, "{scope} {tail}: {}", reply.text());
        }
        let recorded = send(&scene, &token, Method::POST, "", &review("new")).await;
        recorded.problem(Code::FORBIDDEN);
    }
}

#[tokio::test]
async fn recording_elsewhere_is_forbidden() {
    let scene = two_owners().await;
    let before = scene.stored().await;
    for (scope, owner, repo) in [
        ("reviews:acme", "other", "weir"),
        ("reviews:acme/weir", "acme", "other"),
        ("reviews:acme/weir", "other", "weir"),
    ] {
        let token = scene.app.token(scope).await;
        let mut body = review("new");
        (body["owner"], body["repo"]) = (json!(owner), json!(repo));
        for (method, tail) in [(Method::POST, ""), (Method::PUT, "new"), (Method::PUT, "theirs")] {
            let mut body = body.clone();
            body["review_id"] = Value::Null;
            let problem = send(&scene, &token, method, tail, &body).await.problem(Code::FORBIDDEN);
            assert_eq!(problem.details["scope_needed"], format!("reviews:{owner}/{repo}"));
        }
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn an_id_of_others_cannot_be_taken_or_replaced() {
    let scene = two_owners().await;
    let before = scene.stored().await;
    let token = scene.app.token("reviews:acme").await;
    let mut open = review("theirs");
    open["status"] = json!("in_progress");
    open.as_object_mut().unwrap().remove("responses");
    for body in [review("theirs"), open] {
        for tail in ["theirs", "theirs?replace=true"] {
            let reply = send(&scene, &token, Method::PUT, tail, &body).await;
            assert!(matches!(reply.status, 400 | 409), "{}", reply.text());
            for secret in ["other/weir", "secret", "claude", "pull/7"] {
                assert!(!reply.any_problem().detail.contains(secret), "{}", reply.text());
            }
        }
    }
    assert_eq!(scene.stored().await, before, "nothing is written");
}

#[tokio::test]
async fn lists_across_repositories_say_what_a_narrow_scope_is_enough_for() {
    let scene = two_owners().await;
    let lists = [
        "",
        "dates/2026-01-15",
        "models/claude-sonnet",
        "findings?severity=high",
        "consensus",
        "users/octocat",
        "compare",
    ];
    for scope in ["reviews:acme", "reviews:acme/weir", "reviews:acme/weir:read"] {
        let token = scene.app.token(scope).await;
        for tail in lists {
            let reply = send(&scene, &token, Method::GET, tail, &Value::Null).await;
            let problem = reply.problem(Code::FORBIDDEN);
            assert_eq!(problem.details["scope_needed"], "reviews:read", "{tail}");
            assert!(problem.detail.contains("/v1/reviews/repos/{owner}/{repo}"), "{tail}");
        }
        for tail in ["repos/other/weir", "repos/other/weir/costs", "compare?repo=other/weir"] {
            let reply = send(&scene, &token, Method::GET, tail, &Value::Null).await;
            reply.problem(Code::FORBIDDEN);
        }
    }
    let all = scene.app.token("reviews:read").await;
    for tail in lists {
        let reply = send(&scene, &all, Method::GET, tail, &Value::Null).await;
        assert_eq!(reply.status, 200, "{tail}: {}", reply.text());
    }
    let verify = json!({"from": "2026-01-15", "to": "2026-01-16"});
    let token = scene.app.token("reviews").await;
    let reply = send(&scene, &token, Method::POST, "rollups/verify", &verify).await;
    reply.problem(Code::FORBIDDEN);
}
