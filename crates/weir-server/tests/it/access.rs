use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::Code;
use weir_framework::testing::{ADMIN_KEY, TestApp};

#[tokio::test]
async fn the_admin_key_lets_in_and_nothing_like_it() {
    let app = TestApp::start(vec![]).await;
    assert_eq!(app.get("/v1/jobs").admin().send().await.status, 200);
    let wrong = format!("{ADMIN_KEY}x");
    for key in ["", "x", &ADMIN_KEY[1..], &wrong] {
        let reply = app.get("/v1/jobs").header("x-api-key", key).send().await;
        reply.problem(Code::UNAUTHORIZED);
        assert_eq!(reply.header("www-authenticate"), "Bearer realm=\"weir\"");
    }
}

#[tokio::test]
async fn credentials_that_leave_it_open_who_asks_are_refused() {
    let app = TestApp::start(vec![]).await;
    let token = app.token("admin").await;
    let both = app.get("/v1/jobs").admin().bearer(&token);
    both.send().await.problem(Code::UNAUTHORIZED);
    let twice = app.get("/v1/jobs").admin().admin();
    twice.send().await.problem(Code::UNAUTHORIZED);
    let basic = app.get("/v1/jobs").header("authorization", "Basic YTpi");
    basic.send().await.problem(Code::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_does_what_its_scope_says_until_it_ends() {
    let app = TestApp::start(vec![]).await;
    let (admin, tenant) = (app.token("admin").await, app.token("metrics").await);
    assert_eq!(app.get("/v1/jobs").bearer(&admin).send().await.status, 200);
    app.get("/v1/jobs").bearer(&tenant).send().await.problem(Code::FORBIDDEN);
    let me: Value = app.get("/v1/whoami").bearer(&tenant).send().await.json();
    assert_eq!(me["subject"], "operator:test");
    assert_eq!(me["scope"], "metrics");
    assert_eq!(me["expires_at"], "2026-01-15T13:00:00.000Z");
    app.clock.advance_ms(3_600_000);
    let problem = app.get("/v1/whoami").bearer(&tenant).send().await.problem(Code::UNAUTHORIZED);
    assert_eq!(problem.detail, "the token has expired");
}

#[tokio::test]
async fn tokens_are_listed_and_revoked() {
    let app = TestApp::start(vec![]).await;
    let token = app.token("admin").await;
    let page: Value = app.get("/v1/tokens").admin().send().await.json();
    assert!(!page.to_string().contains(&token), "a list holds no token");
    let id = page["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(page["items"][0]["scope"], "admin");
    let path = format!("/v1/tokens/{id}");
    let revoked = app.request(Method::DELETE, &path).admin().send().await;
    assert_eq!(revoked.status, 200);
    app.clock.advance_ms(61_000);
    app.get("/v1/jobs").bearer(&token).send().await.problem(Code::UNAUTHORIZED);
    app.request(Method::DELETE, "/v1/tokens/none").admin().send().await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn lists_go_on_where_they_ended() {
    let app = TestApp::start(vec![]).await;
    for n in 0..5 {
        let new = json!({"name": format!("t{n}"), "scope": "metrics"});
        assert_eq!(app.post("/v1/tokens", &new).admin().send().await.status, 201);
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page: Value =
            app.get(&format!("/v1/tokens?limit=2{cursor}")).admin().send().await.json();
        seen.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|token| token["name"].as_str().unwrap().to_owned()),
        );
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    seen.sort();
    assert_eq!(seen, ["t0", "t1", "t2", "t3", "t4"]);
}

#[tokio::test]
async fn the_longest_name_fits_in_any_script() {
    let app = TestApp::start(vec![]).await;
    for letter in ["a", "ü", "語", "🦀"] {
        let new = json!({"name": letter.repeat(100), "scope": "admin"});
        let reply = app.post("/v1/tokens", &new).admin().send().await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        let token: Value = reply.json();
        let me = app.get("/v1/whoami").bearer(token["access_token"].as_str().unwrap());
        assert_eq!(me.send().await.status, 200);
    }
}

#[tokio::test]
async fn a_configured_admin_key_is_not_rotated() {
    let app = TestApp::start(vec![]).await;
    let problem = app
        .post("/v1/admin-key/rotate", &json!({}))
        .admin()
        .send()
        .await
        .problem(Code::SET_BY_CONFIGURATION);
    assert_eq!(problem.details["field"], "admin_key");
    assert_eq!(app.get("/v1/jobs").admin().send().await.status, 200);
}

#[tokio::test]
async fn a_generated_admin_key_is_saved_and_rotated() {
    let app =
        TestApp::builder(vec![]).settings(|settings| settings.auth.admin_key = None).start().await;
    let file = app.data().unwrap().join("admin.key");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let key = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    let jobs = |key: &str| app.get("/v1/jobs").header("x-api-key", key).send();
    assert_eq!(jobs(&key).await.status, 200);
    let rotated =
        app.post("/v1/admin-key/rotate", &json!({})).header("x-api-key", &key).send().await;
    assert_eq!(rotated.header("cache-control"), "no-store");
    let new = rotated.json::<Value>()["admin_key"].as_str().unwrap().to_owned();
    jobs(&key).await.problem(Code::UNAUTHORIZED);
    assert_eq!(jobs(&new).await.status, 200);
}

#[tokio::test]
async fn tokens_outlive_a_new_signing_key() {
    let app = TestApp::start(vec![]).await;
    let old = app.token("admin").await;
    let rotated = app.post("/v1/signing-key/rotate", &json!({})).admin().send().await;
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    let new = app.token("admin").await;
    for token in [&old, &new] {
        assert_eq!(app.get("/v1/jobs").bearer(token).send().await.status, 200);
    }
    let keys: Value = app.get("/.well-known/jwks.json").send().await.json();
    assert_eq!(keys["keys"], json!([]), "a shared secret has no public part");
}
