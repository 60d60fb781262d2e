//! Fast routes return the same on the fast path as through the router, which alone matches a
//! percent-encoded org. A counter proves which path was taken.

use axum::http::Method;
use serde_json::json;
use weir_framework::testing::{Call, Reply};

use crate::scene::{APP, Client, ORG, OTHER, Scene, at, used, with};

/// Sends a request on both paths and compares the responses.
async fn send(scene: &Scene, method: Method, path: &str, with: impl Fn(Call) -> Call) -> Reply {
    let send = |path: &str| {
        let call = scene.call(method.clone(), path).header("x-request-id", "same");
        with(call).send()
    };
    let before = fast_requests(scene).await;
    let fast = send(path).await;
    let between = fast_requests(scene).await;
    let slow = send(&percent_encoded(path)).await;
    assert_eq!(fast.whole(), slow.whole(), "{method} {path}");
    let taken = [between - before, fast_requests(scene).await - between];
    let is_hot = (method == Method::GET) == path.ends_with("/model-selection");
    assert_eq!(taken, [u64::from(is_hot), 0], "{method} {path}");
    fast
}

/// How many requests took the fast path.
async fn fast_requests(scene: &Scene) -> u64 {
    let metrics = scene.call(Method::GET, "/metrics").admin().send().await.text();
    let lines = metrics.lines().filter(|line| line.contains("fast_path_requests_total{"));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

/// The same path, which only the router matches.
fn percent_encoded(path: &str) -> String {
    let (before, org) = path.split_at(path.find("/orgs/").unwrap() + "/orgs/".len());
    format!("{before}%{:02x}{}", org.as_bytes()[0], &org[1..])
}

fn place(org: &str, app: &str, what: &str) -> String {
    at(org, &format!("/apps/{app}/{what}"))
}

/// Adds credentials to a call.
type Credentials<'c> = Box<dyn Fn(Call) -> Call + 'c>;

/// Callers with and without access, with the status of the refusal.
fn callers(client: &Client) -> [(u16, Credentials<'_>); 5] {
    [
        (0, Box::new(|call: Call| call.bearer(&client.access))),
        (0, Box::new(|call: Call| call.admin().header("accept-encoding", "gzip, deflate"))),
        (0, Box::new(|call: Call| call.admin())),
        (401, Box::new(|call: Call| call)),
        (401, Box::new(|call: Call| call.bearer("a.b.c"))),
    ]
}

#[tokio::test]
async fn a_model_is_recommended_alike_on_both_paths() {
    let (scene, client) = Scene::with_app().await;
    let etag = scene.select(&client).await.header("etag").to_owned();
    for (refused, caller) in callers(&client) {
        let path = place(ORG, APP, "model-selection");
        let reply = send(&scene, Method::GET, &path, &caller).await;
        assert_eq!(reply.status, if refused == 0 { 200 } else { refused }, "{}", reply.text());
        let known = |call: Call| caller(call).header("if-none-match", &etag);
        let reply = send(&scene, Method::GET, &path, known).await;
        assert_eq!(reply.status, if refused == 0 { 304 } else { refused }, "{}", reply.text());
    }
    for (org, app) in [(ORG, "none"), (OTHER, APP), ("not-an-id", APP), (ORG, "_")] {
        let path = place(org, app, "model-selection");
        for (_, caller) in callers(&client) {
            assert!(send(&scene, Method::GET, &path, &caller).await.status >= 400);
        }
    }
    let path = place(ORG, APP, "model-selection");
    assert_eq!(send(&scene, Method::HEAD, &path, Call::admin).await.status, 200);
    assert_eq!(send(&scene, Method::POST, &path, Call::admin).await.status, 405);
}

#[tokio::test]
async fn submissions_are_counted_alike_on_both_paths() {
    let (scene, client) = Scene::with_app().await;
    for (what, number) in [("costs", 1), ("usage", 2)] {
        let path = place(ORG, APP, what);
        let first = scene.app.post(&path, &used(number)).admin().send().await;
        assert_eq!(first.status, 202, "{}", first.text());
        // A repeated submission returns the same on both paths.
        for (body, status) in [
            (used(number), 202),
            (with(used(number), json!({"input_tokens": 7})), 409),
            (with(used(number), json!({"colour": "red"})), 400),
            (with(used(number), json!({"timestamp": "yesterday"})), 400),
            (json!([]), 400),
        ] {
            for (refused, caller) in callers(&client) {
                let reply =
                    send(&scene, Method::POST, &path, |call| caller(call).json(&body)).await;
                let expected = if refused == 0 { status } else { refused };
                assert_eq!(reply.status, expected, "{body}: {}", reply.text());
            }
        }
        let untyped = |call: Call| call.admin().body("{}");
        assert_eq!(send(&scene, Method::POST, &path, untyped).await.status, 415);
    }
}
