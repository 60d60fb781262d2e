//! A session does what its credential may do, only from pages of this server, and ends with it.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::ADMIN_KEY;

use crate::scene::{SESSION, Scene};

const HOUR_MS: u64 = 3_600_000;

/// A change that only an administrator may make.
fn new_token() -> Value {
    json!({"name": "made-by-a-page", "scope": "metrics"})
}

#[tokio::test]
async fn a_session_works_instead_of_the_credential() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    assert_eq!(
        (&ada.session["subject"], &ada.session["name"]),
        (&json!("admin:ada"), &json!("ada"))
    );
    assert_eq!((&ada.session["admin"], &ada.session["scopes"]), (&json!(true), &json!(["admin"])));
    assert_eq!(ada.session["expires_at"], "2026-01-16T00:00:00.000Z");
    assert!(!ada.cookie.contains(ADMIN_KEY) && !ada.session.to_string().contains(ADMIN_KEY));
    assert_eq!(scene.read(&ada, SESSION).await.json::<Value>(), ada.session);
    assert_eq!(scene.read(&ada, "/v1/jobs").await.status, 200);
    let made = scene.change(&ada, Method::POST, "/v1/tokens").json(&new_token()).send().await;
    assert_eq!(made.status, 201, "{}", made.text());
    let events = scene.get("/v1/security-log?limit=5").await;
    let mut issued = events["items"].as_array().unwrap().iter();
    let issued = issued.find(|event| event["action"] == "token_issued").unwrap();
    assert_eq!(issued["actor"], "admin:ada", "{events}");
}

#[tokio::test]
async fn a_change_needs_the_csrf_token_of_its_own_session() {
    let scene = Scene::start().await;
    let (ada, other) = (scene.ada().await, scene.ada().await);
    assert_ne!(ada.csrf, other.csrf);
    let call = || scene.page(&ada, Method::POST, "/v1/tokens").json(&new_token());
    let wrong = format!("{}x", ada.csrf);
    call().send().await.problem(Code::CSRF_TOKEN_INVALID);
    for csrf in ["", "x", &wrong, &ada.csrf[1..], &other.csrf, ada.token()] {
        let refused = call().header("x-csrf-token", csrf).send().await;
        refused.problem(Code::CSRF_TOKEN_INVALID);
    }
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let path = "/v1/namespaces/mine";
        let refused = scene.page(&ada, method.clone(), path).send().await;
        assert!([403, 405].contains(&refused.status), "{method}: {}", refused.text());
    }
    scene.page(&ada, Method::DELETE, SESSION).send().await.problem(Code::CSRF_TOKEN_INVALID);
    let tokens = scene.get("/v1/tokens").await.to_string();
    assert!(!tokens.contains("made-by-a-page"), "{tokens}");
}

/// Whether a route needs no credentials, by its description.
fn is_public(operation: &Value) -> bool {
    operation["security"].as_array().is_none_or(|security| {
        security.is_empty() || security.iter().any(|one| one.as_object().unwrap().is_empty())
    })
}

#[tokio::test]
async fn every_route_that_changes_something_needs_the_csrf_token_and_no_other_does() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let description: Value = scene.app.get("/openapi.json").send().await.json();
    let (mut changing, mut reading) = (0, 0);
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Ok(method) = method.to_ascii_uppercase().parse::<Method>() else { continue };
            if !operation["responses"].is_object() || is_public(operation) {
                continue;
            }
            // Any value for a parameter: the check comes before the handler.
            let path = path.replace(['{', '}'], "");
            let reply = scene.page(&ada, method.clone(), &path).send().await;
            let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
            let code = body["error"].clone();
            let is_refused = (reply.status, &code) == (403, &json!("CSRF_TOKEN_INVALID"));
            assert_eq!(is_refused, method != Method::GET, "{method} {path}: {}", reply.text());
            if is_refused { changing += 1 } else { reading += 1 }
        }
    }
    assert!(changing > 50 && reading > 50, "{changing} and {reading}");
}

#[tokio::test]
async fn a_proxy_that_changes_the_host_changes_nothing() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    for host in ["weir.example.com", "upstream:9000", "127.0.0.1"] {
        let call = scene.page(&ada, Method::GET, "/v1/jobs").header("host", host);
        let call = call.header("origin", "https://weir.example.com");
        assert_eq!(call.send().await.status, 200, "{host}");
        let call = scene.change(&ada, Method::POST, "/v1/tokens").header("host", host);
        let made = call.header("origin", "https://weir.example.com").json(&new_token());
        assert_eq!(made.send().await.status, 201, "{host}");
        let from_elsewhere = scene.app.get("/v1/jobs").header("cookie", &ada.cookie);
        let from_elsewhere = from_elsewhere.header("host", host);
        let refused = from_elsewhere.header("sec-fetch-site", "cross-site").send().await;
        refused.problem(Code::CROSS_SITE_REQUEST);
    }
}

#[tokio::test]
async fn a_request_that_another_site_causes_is_refused() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let from = |site: &str, method: Method, path: &str| {
        let call = scene.app.request(method, path).header("cookie", &ada.cookie);
        call.header("x-csrf-token", &ada.csrf).header("sec-fetch-site", site)
    };
    for site in ["cross-site", "same-site", "anything"] {
        from(site, Method::GET, "/v1/jobs").send().await.problem(Code::CROSS_SITE_REQUEST);
        let call = from(site, Method::POST, "/v1/tokens").json(&new_token());
        call.send().await.problem(Code::CROSS_SITE_REQUEST);
        let sign_in = scene.sign_in_call(ADMIN_KEY).header("sec-fetch-site", site);
        let refused = sign_in.send().await;
        refused.problem(Code::CROSS_SITE_REQUEST);
        assert_eq!(refused.header("set-cookie"), "");
    }
    assert_eq!(from("none", Method::GET, "/v1/jobs").send().await.status, 200);
    // A program's own credential is no cookie, so a browser sends it for nobody else.
    let program = scene.app.get("/v1/jobs").admin().header("sec-fetch-site", "cross-site");
    assert_eq!(program.send().await.status, 200);
}

#[tokio::test]
async fn a_credential_in_a_header_counts_and_the_cookie_does_not() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let metrics = scene.app.token("metrics").await;
    let both = scene.page(&ada, Method::GET, "/v1/jobs").bearer(&metrics);
    both.send().await.problem(Code::FORBIDDEN);
    let wrong = scene.page(&ada, Method::GET, "/v1/jobs").header("x-api-key", "wrong");
    wrong.send().await.problem(Code::UNAUTHORIZED);
    // No CSRF token is needed beside a header, whose credential decides alone.
    let both = scene.page(&ada, Method::POST, "/v1/tokens").admin().json(&new_token());
    assert_eq!(both.send().await.status, 201);
}

#[tokio::test]
async fn a_session_and_a_token_are_not_each_other() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let token = scene.app.token("admin").await;
    scene.app.get("/v1/jobs").bearer(ada.token()).send().await.problem(Code::UNAUTHORIZED);
    scene
        .app
        .get("/v1/jobs")
        .header("x-api-key", ada.token())
        .send()
        .await
        .problem(Code::UNAUTHORIZED);
    scene.sign_in_call(ada.token()).send().await.problem(Code::UNAUTHORIZED);
    let cookie = format!("{}={token}", ada.name());
    let forged = scene.app.get("/v1/jobs").header("cookie", &cookie);
    forged.send().await.problem(Code::UNAUTHORIZED);
    // A session has no session.
    let by_header = scene.app.get(SESSION).bearer(&token).send().await;
    by_header.problem(Code::NOT_FOUND);
    scene.app.get(SESSION).send().await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn wrong_cookies_open_nothing() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let (head, tail) = ada.token().rsplit_once('.').unwrap();
    let flipped = if tail.starts_with('A') { 'B' } else { 'A' };
    let tampered = format!("{head}.{flipped}{}", &tail[1..]);
    for value in ["x", "a.b.c", "..", &tampered, &format!("{head}."), ADMIN_KEY] {
        let cookie = format!("{}={value}", ada.name());
        let call = scene.app.get("/v1/jobs").header("cookie", &cookie);
        call.send().await.problem(Code::UNAUTHORIZED);
    }
    let twice = scene.app.get("/v1/jobs").header("cookie", &format!("{0}; {0}", ada.cookie));
    twice.send().await.problem(Code::UNAUTHORIZED);
    let host = format!("__Host-{}", ada.cookie);
    scene.app.get("/v1/jobs").header("cookie", &host).send().await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_session_ends_after_twelve_hours() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    scene.app.clock.advance_ms(12 * HOUR_MS - 1);
    assert_eq!(scene.read(&ada, SESSION).await.status, 200);
    scene.app.clock.advance_ms(1);
    let ended = scene.read(&ada, SESSION).await.problem(Code::UNAUTHORIZED);
    assert_eq!(ended.detail, "the token has expired");
}

#[tokio::test]
async fn signing_out_ends_this_session_or_all_of_the_person() {
    let scene = Scene::start().await;
    let (here, there) = (scene.ada().await, scene.ada().await);
    let bob = json!({"credential": ADMIN_KEY, "name": "bob"});
    let bob = scene.app.post(SESSION, &bob).send().await;
    let bob = bob.header("set-cookie").split(';').next().unwrap().to_owned();
    let out = scene.change(&here, Method::DELETE, SESSION).send().await;
    assert_eq!(out.status, 204);
    let removed = format!("{}=;", here.name());
    assert!(out.header("set-cookie").starts_with(&removed), "{:?}", out.headers);
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    scene.read(&here, SESSION).await.problem(Code::UNAUTHORIZED);
    assert_eq!(scene.read(&there, SESSION).await.status, 200);

    let third = scene.ada().await;
    let everywhere = format!("{SESSION}?everywhere=true");
    let out = scene.change(&third, Method::DELETE, &everywhere).send().await;
    assert_eq!(out.status, 204);
    for ended in [&there, &third] {
        scene.read(ended, SESSION).await.problem(Code::UNAUTHORIZED);
    }
    assert_eq!(scene.app.get(SESSION).header("cookie", &bob).send().await.status, 200);
    let again = scene.ada().await;
    assert_eq!(scene.read(&again, SESSION).await.status, 200);
    let tokens = scene.get("/v1/tokens").await;
    let ended = tokens["items"].as_array().unwrap().iter();
    let ended = ended.filter(|token| !token["revoked_at"].is_null()).count();
    assert_eq!(ended, 3, "{tokens}");
}

#[tokio::test]
async fn sessions_are_listed_and_revoked_like_tokens() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    let tokens = scene.get("/v1/tokens").await;
    let listed = &tokens["items"][0];
    assert_eq!((&listed["name"], &listed["session"]), (&json!("ada"), &json!(true)), "{tokens}");
    assert!(!tokens.to_string().contains(ada.token()), "a list holds no token");
    let path = format!("/v1/tokens/{}", listed["id"].as_str().unwrap());
    scene.admin(Method::DELETE, &path, &Value::Null).await;
    scene.read(&ada, SESSION).await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_session_ends_with_its_token() {
    let scene = Scene::start().await;
    let token = scene.app.token("metrics").await;
    let browser = scene.sign_in(&token).await;
    assert_eq!(browser.session["subject"], "operator:test");
    assert_eq!(browser.session["scopes"], json!(["metrics"]));
    // Not longer than its token.
    assert_eq!(browser.session["expires_at"], "2026-01-15T13:00:00.000Z");
    scene.read(&browser, "/v1/jobs").await.problem(Code::FORBIDDEN);
    let tokens = scene.get("/v1/tokens").await;
    let mut plain = tokens["items"].as_array().unwrap().iter();
    let plain = plain.find(|token| token["session"] == json!(false)).unwrap();
    let path = format!("/v1/tokens/{}", plain["id"].as_str().unwrap());
    scene.admin(Method::DELETE, &path, &Value::Null).await;
    scene.read(&browser, SESSION).await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_new_admin_key_ends_the_sessions_of_the_old_one() {
    let settings = weir_server::Settings::default();
    let services = weir_server::services(settings, &Default::default());
    let app = weir_framework::testing::TestApp::builder(services)
        .settings(|settings| settings.auth.admin_key = None);
    let scene = Scene { app: app.start().await };
    let file = scene.app.data().unwrap().join("admin.key");
    let key = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let browser = scene.sign_in(&key).await;
    let token = json!({"name": "stays", "scope": "admin"});
    let made = scene.app.post("/v1/tokens", &token).header("x-api-key", &key).send().await;
    let token = made.json::<Value>()["access_token"].as_str().unwrap().to_owned();
    let rotated = scene.change(&browser, Method::POST, "/v1/admin-key/rotate").send().await;
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    scene.read(&browser, SESSION).await.problem(Code::UNAUTHORIZED);
    scene.sign_in_call(&key).send().await.problem(Code::UNAUTHORIZED);
    assert_eq!(scene.app.get("/v1/jobs").bearer(&token).send().await.status, 200);
    let new = rotated.json::<Value>()["admin_key"].as_str().unwrap().to_owned();
    assert_eq!(scene.read(&scene.sign_in(&new).await, SESSION).await.status, 200);
}

#[tokio::test]
async fn a_client_s_session_ends_when_its_tokens_are_revoked() {
    let scene = Scene::start().await;
    let body = json!({"org_name": "Acme", "timezone": "UTC", "quota_scope": "ORG",
        "model_ordering": ["premium"], "quotas": {"premium": 1}});
    let made = scene.admin(Method::PUT, "/api/v1/orgs/acme", &body).await;
    let url = made["credentials"]["secret_retrieval"]["url"].as_str().unwrap();
    let secret = scene.app.get(url).send().await.json::<Value>();
    let ask = json!({"client_id": "org-acme", "client_secret": secret["client_secret"],
        "grant_type": "client_credentials"});
    let tokens = || async { scene.app.post("/auth/token", &ask).send().await.json::<Value>() };
    let text = |tokens: &Value, name: &str| tokens[name].as_str().unwrap().to_owned();

    let first = tokens().await;
    let browser = scene.sign_in(&text(&first, "access_token")).await;
    assert_eq!(scene.read(&browser, "/v1/overview").await.status, 200);
    // The refresh token, from which the access token came.
    let revoke = json!({"token": first["refresh_token"]});
    assert_eq!(scene.app.post("/auth/revoke", &revoke).send().await.status, 204);
    scene.read(&browser, SESSION).await.problem(Code::UNAUTHORIZED);

    let browser = scene.sign_in(&text(&tokens().await, "access_token")).await;
    let all = json!({"client_id": "org-acme", "all": true});
    scene.admin(Method::POST, "/auth/revoke", &all).await;
    scene.read(&browser, SESSION).await.problem(Code::UNAUTHORIZED);
    // A refresh token is no credential of a person.
    let refresh = text(&tokens().await, "refresh_token");
    scene.sign_in_call(&refresh).send().await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_cookie_opens_nothing_of_the_socket() {
    let scene = Scene::start().await;
    let ada = scene.ada().await;
    for path in ["/local/server", "/local/tables"] {
        scene.read(&ada, path).await.problem(Code::NOT_FOUND);
    }
}
