//! Signing in: what is accepted, recorded and limited, and the cookie over TLS.

use axum::http::Method;
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
        (json!({"credential": ADMIN_KEY, "name": "  "}), "name"),
        (json!({"credential": ADMIN_KEY, "name": "ada\u{202e}nimda"}), "name"),
        (json!({"credential": ADMIN_KEY, "name": "ada\u{200b}"}), "name"),
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
    let body = json!({"credential": ADMIN_KEY, "name": " ada "});
    let session: Value = scene.app.post(SESSION, &body).send().await.json();
    assert_eq!((&session["name"], &session["subject"]), (&json!("ada"), &json!("admin:ada")));
}

#[tokio::test]
async fn no_form_of_another_site_signs_in() {
    let scene = Scene::start().await;
    let body = json!({"credential": ADMIN_KEY}).to_string();
    // What a form or a script of another site can send without asking this server first.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        let call = scene.app.request(Method::POST, SESSION).body(body.clone());
        let call = if kind.is_empty() { call } else { call.header("content-type", kind) };
        let refused = call.header("origin", "https://evil.test").send().await;
        refused.problem(Code::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(refused.header("set-cookie"), "", "{kind}");
    }
    // And no other site may ask.
    let asked = scene.app.request(Method::OPTIONS, SESSION).header("origin", "https://evil.test");
    let asked = asked.header("access-control-request-method", "POST").send().await;
    assert_eq!(asked.header("access-control-allow-origin"), "");
    assert_eq!(asked.header("access-control-allow-headers"), "");
}

#[tokio::test]
async fn a_sign_in_always_has_a_session_of_its_own() {
    let scene = Scene::start().await;
    let planted = scene.ada().await;
    let call = scene.sign_in_call(ADMIN_KEY).header("cookie", &planted.cookie);
    let signed_in = call.header("x-csrf-token", &planted.csrf).send().await;
    let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
    assert_ne!(cookie, planted.cookie);
    assert_ne!(signed_in.json::<Value>()["csrf_token"], json!(planted.csrf));
}

#[tokio::test]
async fn two_servers_of_one_host_do_not_sign_each_other_out() {
    let (one, other) = (Scene::start().await, Scene::start().await);
    let (ada, bob) = (one.ada().await, other.ada().await);
    let name = |cookie: &str| cookie.split_once('=').unwrap().0.to_owned();
    assert_ne!(name(&ada.cookie), name(&bob.cookie));
    // A browser sends both to both, because cookies do not tell ports apart.
    let both = format!("{}; {}", ada.cookie, bob.cookie);
    for scene in [&one, &other] {
        let read = scene.app.get(SESSION).header("cookie", &both).send().await;
        assert_eq!(read.status, 200, "{}", read.text());
    }
    // And the session of one is none of the other, under either name.
    one.read(&bob, SESSION).await.problem(Code::UNAUTHORIZED);
    let renamed = format!("{}={}", name(&ada.cookie), bob.token());
    one.app.get(SESSION).header("cookie", &renamed).send().await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_whose_session_is_too_long_for_a_cookie_is_refused() {
    let scene = Scene::start().await;
    let orgs: Vec<_> = (0..60).map(|number| format!("org:{}{number:02}", "o".repeat(48))).collect();
    let token = scene.app.token(&orgs.join(" ")).await;
    let problem = scene.sign_in_call(&token).send().await.problem(Code::INVALID_REQUEST);
    assert_eq!(problem.details["field"], "credential");
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
    let name = cookie.split_once('=').unwrap().0.to_owned();
    assert!(name.starts_with("weir_session_") && !cookie.contains("Secure"), "{cookie}");
    assert!(cookie.starts_with(&format!("{name}=ey")), "{cookie}");
    for part in ["; Path=/", "; HttpOnly", "; SameSite=Strict", "; Max-Age=43200"] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }
    let secure = scene.sign_in_call(ADMIN_KEY).header("x-forwarded-proto", "https").send().await;
    let cookie = secure.header("set-cookie");
    assert!(cookie.starts_with(&format!("__Host-{name}=ey")), "{cookie}");
    assert!(cookie.contains("; Path=/;") && !cookie.contains("Domain"), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let read = |proto: &'static str| {
        scene.app.get(SESSION).header("cookie", pair).header("x-forwarded-proto", proto).send()
    };
    assert_eq!(read("https").await.status, 200);
    read("http").await.problem(Code::UNAUTHORIZED);
}
