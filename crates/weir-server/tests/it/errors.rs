use axum::http::Method;
use serde_json::json;
use weir_framework::Code;
use weir_framework::testing::TestApp;

#[tokio::test]
async fn every_mistake_has_the_same_form() {
    let app = TestApp::start(vec![]).await;
    app.get("/no/such/path").send().await.problem(Code::NOT_FOUND);
    app.request(Method::PATCH, "/v1/jobs").send().await.problem(Code::METHOD_NOT_ALLOWED);
    app.get("/v1/jobs").send().await.problem(Code::UNAUTHORIZED);
    app.post("/v1/tokens", &json!({})).admin().send().await.problem(Code::INVALID_REQUEST);
    let text = app.request(Method::POST, "/v1/tokens").admin().body("name=x");
    text.send().await.problem(Code::UNSUPPORTED_MEDIA_TYPE);
    let large = app.post("/v1/tokens", &json!({"name": "x".repeat(2 << 20)})).admin();
    large.send().await.problem(Code::PAYLOAD_TOO_LARGE);
    app.post("/v1/jobs/nothing/run", &json!({})).admin().send().await.problem(Code::NOT_FOUND);
}

#[tokio::test]
async fn a_405_names_the_methods_there_are() {
    let app = TestApp::start(vec![]).await;
    let reply = app.request(Method::PUT, "/v1/tokens").send().await;
    reply.problem(Code::METHOD_NOT_ALLOWED);
    assert_eq!(reply.header("allow"), "POST,GET,HEAD");
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_named() {
    let app = TestApp::start(vec![]).await;
    for (body, field, problem) in [
        (r#"{"name": "a", "scope": "admin", "expires": 1}"#, "expires", "unknown field `expires`"),
        (r#"{"name": "a"}"#, "scope", "missing field `scope`"),
        (r#"{"name": 7, "scope": "admin"}"#, "name", "is the number 7; it must be a string"),
        (r#"{"name": "a", "name": "b", "scope": "x"}"#, "name", "duplicate field `name`"),
        (r#"{"name": "a", "scope": "admin"} x"#, "body", "trailing characters"),
        (r#"{"name": "a", "scope": "admin""#, "body", "EOF while parsing"),
        (r#"{"name": "", "scope": "admin"}"#, "name", "must have 1 to 100"),
        (r#"{"name": "a", "scope": "everything"}"#, "scope", "everything"),
        (r#"{"name": "a", "scope": ""}"#, "scope", "grants nothing"),
        (r#"{"name": "a", "scope": "  "}"#, "scope", "grants nothing"),
        (r#"{"name": "a", "scope": "admin", "expires_in": 0}"#, "expires_in", "must be from 1"),
    ] {
        let call = app.request(Method::POST, "/v1/tokens").admin();
        let reply = call.header("content-type", "application/json").body(body).send().await;
        let problem_body = reply.problem(Code::INVALID_REQUEST);
        assert_eq!(problem_body.details["field"], field, "{body}");
        assert!(
            problem_body.details["problem"].as_str().unwrap().contains(problem),
            "{body}: {problem_body:?}"
        );
    }
    let page: serde_json::Value = app.get("/v1/tokens").admin().send().await.json();
    assert_eq!(page["items"], json!([]), "nothing was written");
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_fraction_of_zeros() {
    let app = TestApp::start(vec![]).await;
    for (lifetime, status) in [("60.0", 201), ("6e1", 400), ("60.5", 400), ("-60.0", 400)] {
        let body = format!(r#"{{"name": "7.0", "scope": "admin", "expires_in": {lifetime}}}"#);
        let call = app.request(Method::POST, "/v1/tokens").admin();
        let call = call.header("content-type", "application/json").body(body);
        let reply = call.send().await;
        assert_eq!(reply.status, status, "{lifetime}: {}", reply.text());
        if status == 201 {
            let made: serde_json::Value = reply.json();
            assert_eq!((&made["name"], &made["expires_in"]), (&json!("7.0"), &json!(60)));
        }
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_named() {
    let app = TestApp::start(vec![]).await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=many", "limit"),
        ("page=1", "page"),
        ("limit=1&limit=2", "limit"),
        ("cursor=forged", "cursor"),
    ] {
        let reply = app.get(&format!("/v1/tokens?{query}")).admin().send().await;
        let problem_body = reply.problem(Code::INVALID_REQUEST);
        assert_eq!(problem_body.details["field"], field, "{query}: {problem_body:?}");
    }
}

#[tokio::test]
async fn a_request_keeps_its_id() {
    let app = TestApp::start(vec![]).await;
    let reply = app.get("/healthz").header("x-request-id", "mine-1").send().await;
    assert_eq!(reply.header("x-request-id"), "mine-1");
    let reply = app.get("/nowhere").header("x-request-id", "mine-2").send().await;
    assert_eq!(reply.problem(Code::NOT_FOUND).request_id, "mine-2");
    let reply = app.get("/healthz").header("x-request-id", "not usable").send().await;
    assert_eq!(reply.header("x-request-id").len(), 32);
}
