//! What programs ask most is answered on the short way as it is on the long one, which an empty query leads to.

use axum::http::Method;
use serde_json::json;
use weir_framework::testing::{Call, Reply};

use crate::scene::{APP, Client, ORG, OTHER, Scene, at, used, with};

/// Asks on both ways, and checks that the answers are the same.
async fn ask(scene: &Scene, method: Method, path: &str, with: impl Fn(Call) -> Call) -> Reply {
    let ask = |path: &str| {
        let call = scene.call(method.clone(), path).header("x-request-id", "same");
        with(call).send()
    };
    let (short, long) = (ask(path).await, ask(&format!("{path}?")).await);
    assert_eq!(short.whole(), long.whole(), "{method} {path}");
    short
}

fn place(org: &str, app: &str, what: &str) -> String {
    at(org, &format!("/apps/{app}/{what}"))
}

/// How a caller makes itself known.
type Credentials<'c> = Box<dyn Fn(Call) -> Call + 'c>;

/// Whoever may ask, and may not: those are told the status.
fn callers(client: &Client) -> [(u16, Credentials<'_>); 4] {
    [
        (0, Box::new(|call: Call| call.bearer(&client.access))),
        (0, Box::new(|call: Call| call.admin())),
        (401, Box::new(|call: Call| call)),
        (401, Box::new(|call: Call| call.bearer("a.b.c"))),
    ]
}

#[tokio::test]
async fn a_model_is_recommended_the_same_on_both_ways() {
    let (scene, client) = Scene::with_app().await;
    let etag = scene.select(&client).await.header("etag").to_owned();
    for (refused, caller) in callers(&client) {
        let path = place(ORG, APP, "model-selection");
        let reply = ask(&scene, Method::GET, &path, &caller).await;
        assert_eq!(reply.status, if refused == 0 { 200 } else { refused }, "{}", reply.text());
        let known = |call: Call| caller(call).header("if-none-match", &etag);
        let reply = ask(&scene, Method::GET, &path, known).await;
        assert_eq!(reply.status, if refused == 0 { 304 } else { refused }, "{}", reply.text());
    }
    for (org, app) in [(ORG, "none"), (OTHER, APP), ("not-an-id", APP), (ORG, "_")] {
        let path = place(org, app, "model-selection");
        for (_, caller) in callers(&client) {
            assert!(ask(&scene, Method::GET, &path, &caller).await.status >= 400);
        }
    }
    let path = place(ORG, APP, "model-selection");
    assert_eq!(ask(&scene, Method::HEAD, &path, Call::admin).await.status, 200);
    assert_eq!(ask(&scene, Method::POST, &path, Call::admin).await.status, 405);
}

#[tokio::test]
async fn submissions_are_counted_the_same_on_both_ways() {
    let (scene, client) = Scene::with_app().await;
    for (what, number) in [("costs", 1), ("usage", 2)] {
        let path = place(ORG, APP, what);
        let first = scene.app.post(&path, &used(number)).admin().send().await;
        assert_eq!(first.status, 202, "{}", first.text());
        // The same again is answered the same, however often and on whichever way.
        for (body, status) in [
            (used(number), 202),
            (with(used(number), json!({"input_tokens": 7})), 409),
            (with(used(number), json!({"colour": "red"})), 400),
            (with(used(number), json!({"timestamp": "yesterday"})), 400),
            (json!([]), 400),
        ] {
            for (refused, caller) in callers(&client) {
                let reply = ask(&scene, Method::POST, &path, |call| caller(call).json(&body)).await;
                let expected = if refused == 0 { status } else { refused };
                assert_eq!(reply.status, expected, "{body}: {}", reply.text());
            }
        }
        let untyped = |call: Call| call.admin().body("{}");
        assert_eq!(ask(&scene, Method::POST, &path, untyped).await.status, 415);
    }
}
