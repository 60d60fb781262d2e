//! Every route with every kind of credentials, made from the API's own description: nobody picks.

use axum::http::Method;
use serde_json::Value;
use utoipa_axum::routes;
use weir_framework::testing::{Reply, TestApp};
use weir_framework::{Api, RequiredScope, Service, router};
use weir_server::keeper::KeeperService;
use weir_server::limiter::LimiterService;

/// A route for each kind of tenant, so that the matrix covers them before any domain is there.
struct Tenants;

macro_rules! handler {
    ($name:ident, $method:ident, $path:literal) => {
        #[doc = "A tenant's route"]
        #[utoipa::path($method, path = $path, responses((status = 200)))]
        async fn $name() {}
    };
}
handler!(read_org, get, "/t/orgs/{org}");
handler!(write_org, put, "/t/orgs/{org}");
handler!(read_app, get, "/t/orgs/{org}/apps/{app}");
handler!(write_app, put, "/t/orgs/{org}/apps/{app}");
handler!(read_ns, get, "/t/namespaces/{ns}");
handler!(write_ns, post, "/t/namespaces/{ns}");
handler!(read_owner, get, "/t/owners/{owner}");
handler!(write_owner, delete, "/t/owners/{owner}");

impl Service for Tenants {
    fn routes(&self, api: Api) -> Api {
        api.route(RequiredScope::Org, routes!(read_org, write_org))
            .route(RequiredScope::Org, routes!(read_app, write_app))
            .route(RequiredScope::Namespace, routes!(read_ns, write_ns))
            .route(RequiredScope::Owner, routes!(read_owner, write_owner))
    }
}

/// Credentials, and what they are expected to open.
struct Credentials {
    name: &'static str,
    scope: Option<&'static str>,
    opens: fn(scope: &str, write: bool, path: &str) -> u16,
}

/// The org of the credentials, and an id of anything that is named by one.
const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";

/// How a request is answered that was let in. The requests have no body and name what does not exist, so most are refused by
/// their handler: 400 and 415 for the body, 404 for the name, 409 for a key that is set in the configuration.
const LET_IN: [u16; 8] = [200, 201, 202, 204, 400, 404, 409, 415];

/// Stands for any of [`LET_IN`].
const OPEN: u16 = 200;

const CREDENTIALS: &[Credentials] = &[
    Credentials {
        name: "nobody",
        scope: None,
        opens: |scope, _, _| if scope == "none" { OPEN } else { 401 },
    },
    Credentials { name: "admin", scope: Some("admin"), opens: |_, _, _| OPEN },
    Credentials {
        name: "own org",
        scope: Some("org:550e8400-e29b-41d4-a716-446655440000 ns:mine owner:mine"),
        opens: |scope, _, _| if scope == "admin" { 403 } else { OPEN },
    },
    Credentials {
        name: "own app",
        scope: Some("org:550e8400-e29b-41d4-a716-446655440000 app:x ns:mine owner:mine"),
        opens: |scope, _, path| match scope {
            "admin" => 403,
            "org" if !path.contains("/apps/") => 403,
            _ => OPEN,
        },
    },
    Credentials {
        name: "another tenant",
        scope: Some("org:660e8400-e29b-41d4-a716-446655440001 ns:other owner:other"),
        opens: |scope, _, _| {
            if matches!(scope, "none" | "any") { OPEN } else { 403 }
        },
    },
    Credentials {
        name: "another app",
        scope: Some("org:550e8400-e29b-41d4-a716-446655440000 app:y"),
        opens: |scope, _, _| {
            if matches!(scope, "none" | "any") { OPEN } else { 403 }
        },
    },
];

#[tokio::test]
async fn every_route_opens_to_those_it_should_and_to_nobody_else() {
    let app = TestApp::start(vec![
        Box::new(Tenants),
        Box::new(LimiterService::default()),
        Box::new(KeeperService::default()),
    ])
    .await;
    let told: Value = app.get("/openapi.json").send().await.json();
    let mut tried = 0;
    for credentials in CREDENTIALS {
        let mut token = None;
        for Operation { path, method, scope, example } in operations(&told) {
            let call = app.request(method.clone(), &example);
            // Another token after a route that may have revoked it.
            if let (Some(scope), None) = (credentials.scope, &token) {
                token = Some(app.token(scope).await);
            }
            let call = token.iter().fold(call, |call, token| call.bearer(token));
            if !path.starts_with("/v1/namespaces/") && !method.is_safe() {
                token = None;
            }
            let expected = (credentials.opens)(&scope, !method.is_safe(), &path);
            let reply = call.send().await;
            let at = format!("{} {method} {path}: {}", credentials.name, reply.text());
            assert_eq!(outcome(&reply), expected, "{at}");
            tried += 1;
        }
    }
    assert!(tried >= 100, "only {tried} were tried");
}

#[tokio::test]
async fn forged_expired_and_revoked_credentials_open_nothing() {
    let app = TestApp::start(vec![
        Box::new(Tenants),
        Box::new(LimiterService::default()),
        Box::new(KeeperService::default()),
    ])
    .await;
    let told: Value = app.get("/openapi.json").send().await.json();
    let good = app.token("admin").await;
    let page: Value = app.get("/v1/tokens").admin().send().await.json();
    let id = page["items"][0]["id"].as_str().unwrap().to_owned();
    let revoked = app.request(Method::DELETE, &format!("/v1/tokens/{id}")).admin().send().await;
    assert_eq!(revoked.status, 200);
    let expired = app.token("admin").await;
    app.clock.advance_ms(3_601_000);
    let fresh = app.token("admin").await;
    let (head, tail) = fresh.rsplit_once('.').unwrap();
    let flipped = if tail.starts_with('A') { 'B' } else { 'A' };
    let tampered = format!("{head}.{flipped}{}", &tail[1..]);
    for token in [&good, &expired, &tampered, "", "x", "a.b.c", "..", &format!("{head}.")] {
        for Operation { method, scope, example, .. } in operations(&told) {
            if scope != "none" {
                let reply = app.request(method.clone(), &example).bearer(token).send().await;
                assert_eq!(reply.status, 401, "{method} {example} {token:?}: {}", reply.text());
                reply.any_problem();
            }
        }
    }
}

/// A route whose description refers to what it does not hold.
#[utoipa::path(get, path = "/t/things/{id}", params(("id" = Unseen, Path)), responses((status = 200)))]
async fn refers() {}

#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described")]
struct Unseen(String);

#[tokio::test]
async fn a_route_that_is_declared_wrongly_is_found() {
    struct NoTenant;
    impl Service for NoTenant {
        fn routes(&self, api: Api) -> Api {
            api.route(RequiredScope::Namespace, routes!(read_org))
        }
    }
    struct Dangling;
    impl Service for Dangling {
        fn routes(&self, api: Api) -> Api {
            api.route(RequiredScope::Admin, routes!(refers))
        }
    }
    let app = TestApp::start(vec![]).await;
    let opened = weir_framework::App::open(
        app.store.clone(),
        weir_framework::Settings::default(),
        app.data().map(Into::into),
        &[],
    );
    let opened = opened.await.unwrap();
    let ours: [Box<dyn Service>; 2] =
        [Box::new(LimiterService::default()), Box::new(KeeperService::default())];
    assert_eq!(router::mistakes(&opened, &ours), Vec::<String>::new());
    let found = router::mistakes(&opened, &[Box::new(NoTenant), Box::new(Dangling)]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("has no {ns}"), "{found:?}");
    assert!(found[1].contains("#/components/schemas/Unseen"), "{found:?}");
}

/// An operation of the description.
struct Operation {
    path: String,
    method: Method,
    scope: String,
    /// Its path with parameters that are well-formed, so that a handler looks for what they name.
    example: String,
}

fn operations(description: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            all.push(Operation {
                path: path.clone(),
                method: Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(),
                scope: operation["x-weir-scope"].as_str().unwrap().to_owned(),
                example: filled(path, &operation["parameters"]),
            });
        }
    }
    all
}

fn filled(path: &str, parameters: &Value) -> String {
    let mut path = path.to_owned();
    for parameter in parameters.as_array().into_iter().flatten() {
        if let (Some(name), Some("path")) = (parameter["name"].as_str(), parameter["in"].as_str()) {
            path = path.replace(&format!("{{{name}}}"), example(name, &parameter["schema"]));
        }
    }
    // The routes of `Tenants` describe no parameters.
    let tenants = [("{org}", ORG), ("{app}", "x"), ("{ns}", "mine"), ("{owner}", "mine")];
    let path = tenants.iter().fold(path, |path, (name, value)| path.replace(name, value));
    assert!(!path.contains('{'), "{path} has a parameter that is not described");
    path
}

fn example<'a>(name: &str, schema: &'a Value) -> &'a str {
    match name {
        "org" => ORG,
        "app" => "x",
        "ns" | "owner" => "mine",
        _ if schema["format"] == "uuid" => ORG,
        _ => schema.pointer("/examples/0").and_then(Value::as_str).unwrap_or("sample"),
    }
}

/// [`OPEN`], or how the door was shut.
fn outcome(reply: &Reply) -> u16 {
    match reply.status {
        401 | 403 => {
            reply.any_problem();
            reply.status
        }
        status => {
            let text = reply.text();
            assert!(LET_IN.contains(&status), "{status} is no answer to who was let in: {text}");
            OPEN
        }
    }
}
