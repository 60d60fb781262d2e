//! Signing in: what is accepted, recorded and limited, and the cookie over TLS.

use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::ADMIN_KEY;

use crate::scene::{SESSION, Scene};

#[tokio::test]
async fn what_is_no_credential_is_refused_and_recorded() {
    let scene = Scene::start().await;
    let wrong = format!("{ADMIN_KEY}x");
    for credential in ["", "x", &wrong, "a.b.c"] {
        let refused = scene.sign_in_call(credential).send().await;
        refused.problem(Code::UNAUTHORIZED);
        assert_eq!(refused.header("set-cookie"), "", "{credential}");
        assert!(credential.len() < 4 || !refused.text().contains(credential));
    }
    scene.ada().await;
    let events = scene.get("/v1/security-log?limit=50").await;
    let actions = |action: &str| {
        let events = events["items"].as_array().unwrap().iter();
        events.filter(|event| event["action"] == action).count()
    };
    assert_eq!((actions("sign_in_failed"), actions("session_opened")), (4, 1), "{events}");
    assert!(!events.to_string().contains(&wrong));
}

#[tokio::test]
async fn a_malformed_sign_in_names_its_field() {
    let scene = Scene::start().await;
    for (body, field) in [
        (json!({}), "credential"),
        (json!({"credential": ADMIN_KEY, "name": ""}), "name"),
        (json!({"credential": ADMIN_KEY, "name": "a\nb"}), "name"),
        (json!({"credential": ADMIN_KEY, "name": "a".repeat(65)}), "name"),
        (json!({"credential": ADMIN_KEY, "admin": true}), "admin"),
    ] {
        let problem = scene.app.post(SESSION, &body).send().await.problem(Code::INVALID_REQUEST);
        assert_eq!(problem.details["field"], field, "{body}");
    }
    for name in ["🦀".repeat(64), "<img src=x onerror=alert(1)>".to_owned(), "a#b/c".to_owned()] {
        let body = json!({"credential": ADMIN_KEY, "name": name});
        let session: Value = scene.app.post(SESSION, &body).send().await.json();
        assert_eq!(session["name"], name);
    }
}

#[tokio::test]
async fn guesses_of_an_address_are_limited_and_lock_out_nobody_else() {
    let scene = Scene::with(|keeper| keeper.token_address_rate = 5).await;
    let from = |address: &str, credential: &str| {
        scene.sign_in_call(credential).header("x-forwarded-for", address).send()
    };
    for _ in 0..5 {
        from("192.0.2.7", "guess").await.problem(Code::UNAUTHORIZED);
    }
    let limited = from("192.0.2.7", "guess").await;
    limited.problem(Code::RATE_LIMIT_EXCEEDED);
    assert!(!limited.header("retry-after").is_empty());
    // The right key does not tell itself apart by getting through.
    from("192.0.2.7", ADMIN_KEY).await.problem(Code::RATE_LIMIT_EXCEEDED);
    for _ in 0..20 {
        assert_eq!(from("198.51.100.1", ADMIN_KEY).await.status, 200, "successes do not count");
    }
}

#[tokio::test]
async fn the_cookie_is_secure_behind_a_proxy_with_tls() {
    let scene = Scene::start().await;
    let plain = scene.sign_in_call(ADMIN_KEY).send().await;
    let cookie = plain.header("set-cookie");
    assert!(cookie.starts_with("weir_session=ey") && !cookie.contains("Secure"), "{cookie}");
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }
    let secure = scene.sign_in_call(ADMIN_KEY).header("x-forwarded-proto", "https").send().await;
    let cookie = secure.header("set-cookie");
    assert!(cookie.starts_with("__Host-weir_session=ey"), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let read = |proto: &'static str| {
        scene.app.get(SESSION).header("cookie", pair).header("x-forwarded-proto", proto).send()
    };
    assert_eq!(read("https").await.status, 200);
    read("http").await.problem(Code::UNAUTHORIZED);
}
