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

const MINE: &str = "org:mine app:x ns:mine owner:mine";

/// 200 stands for "let in", whatever the handler then says.
const CREDENTIALS: &[Credentials] = &[
    Credentials {
        name: "nobody",
        scope: None,
        opens: |scope, _, _| if scope == "none" { 200 } else { 401 },
    },
    Credentials { name: "admin", scope: Some("admin"), opens: |_, _, _| 200 },
    Credentials {
        name: "own org",
        scope: Some("org:mine ns:mine owner:mine"),
        opens: |scope, _, _| if scope == "admin" { 403 } else { 200 },
    },
    Credentials {
        name: "own app",
        scope: Some(MINE),
        opens: |scope, _, path| match scope {
            "admin" => 403,
            "org" if !path.contains("/apps/") => 403,
            _ => 200,
        },
    },
    Credentials {
        name: "another tenant",
        scope: Some("org:other ns:other owner:other"),
        opens: |scope, _, _| {
            if matches!(scope, "none" | "any") { 200 } else { 403 }
        },
    },
    Credentials {
        name: "another app",
        scope: Some("org:mine app:y"),
        opens: |scope, _, _| {
            if matches!(scope, "none" | "any") { 200 } else { 403 }
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
        for (path, method, scope) in operations(&told) {
            let call = app.request(method.clone(), &filled(&path));
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
        for (path, method, scope) in operations(&told) {
            if scope != "none" {
                let reply = app.request(method.clone(), &filled(&path)).bearer(token).send().await;
                assert_eq!(reply.status, 401, "{method} {path} {token:?}: {}", reply.text());
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
    assert!(found[0].contains("names no {ns}"), "{found:?}");
    assert!(found[1].contains("#/components/schemas/Unseen"), "{found:?}");
}

/// Path, method and scope of every operation.
fn operations(told: &Value) -> Vec<(String, Method, String)> {
    let mut all = Vec::new();
    for (path, item) in told["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            all.push((
                path.clone(),
                method,
                operation["x-weir-scope"].as_str().unwrap().to_owned(),
            ));
        }
    }
    all
}

fn filled(path: &str) -> String {
    path.replace("{org}", "mine")
        .replace("{app}", "x")
        .replace("{ns}", "mine")
        .replace("{owner}", "mine")
        .replace(['{', '}'], "")
}

/// Let in, or how the door was shut.
fn outcome(reply: &Reply) -> u16 {
    match reply.status {
        401 | 403 => {
            reply.any_problem();
            reply.status
        }
        _ => 200,
    }
}
