//! Every route of every service with every kind of credentials. Routes come from the API's own description, and kinds of
//! scopes from the services, so that a new service is covered as soon as it is in the list.

use axum::http::Method;
use serde_json::Value;
use utoipa_axum::routes;
use weir_framework::auth::scope_kind::{Level, METRICS, ScopeKind};
use weir_framework::settings::JobSettings;
use weir_framework::testing::{Reply, TestApp};
use weir_framework::{Api, RequiredScope, Service, router};
use weir_server::Settings;

fn services() -> Vec<Box<dyn Service>> {
    weir_server::services(Settings::default(), &JobSettings::default())
}

/// Credentials: their scope, and what a plain reading of it opens.
struct Credentials {
    scope: Option<String>,
    opens: Opens,
}

/// What credentials open.
enum Opens {
    Public,
    Everything,
    Tenant(Tenant),
    /// A tenant of this kind that no request names.
    OtherTenant(&'static ScopeKind),
}

/// A tenant of a kind, with every action or one.
struct Tenant {
    kind: &'static ScopeKind,
    depth: usize,
    action: Option<&'static str>,
}

/// The tenant of the requests, and another one. Ids that must be UUIDs are.
const MINE: [&str; 2] = ["550e8400-e29b-41d4-a716-446655440000", "mine"];
const OTHER: [&str; 2] = ["660e8400-e29b-41d4-a716-446655440001", "other"];

/// The status of a request that was let in. The requests have no body and name what does not exist, so most are refused by
/// their handler: 400 and 415 for the body, 404 for the name, 409 for a key that is set in the configuration.
const LET_IN: [u16; 8] = [200, 201, 202, 204, 400, 404, 409, 415];

/// Stands for any of [`LET_IN`].
const OPEN: u16 = 200;

/// Every scope of `kind`: each depth with each action, for the tenant of the requests and for another one.
fn credentials(kind: &'static ScopeKind) -> Vec<Credentials> {
    let mut all = Vec::new();
    for depth in usize::from(!kind.without_tenant)..=kind.levels.len() {
        for action in kind.actions.iter().copied().chain(["read"]).map(Some).chain([None]) {
            let tenant = Tenant { kind, depth, action };
            let scope = Some(scope(kind, depth, MINE, action));
            all.push(Credentials { scope, opens: Opens::Tenant(tenant) });
        }
        if depth > 0 {
            let scope = Some(scope(kind, depth, OTHER, None));
            all.push(Credentials { scope, opens: Opens::OtherTenant(kind) });
        }
    }
    all
}

/// A scope of the tenant with these ids at its last level; the outer level is the one of the requests.
fn scope(kind: &ScopeKind, depth: usize, ids: [&str; 2], action: Option<&str>) -> String {
    let id = |level: usize| {
        let ids = if level + 1 == depth { ids } else { MINE };
        id(kind.levels.get(level).unwrap().parameter, ids)
    };
    let tenant = match (depth, kind.inner) {
        (0, _) => kind.name.to_owned(),
        (1, _) => format!("{}:{}", kind.name, id(0)),
        (_, Some(inner)) => format!("{}:{} {inner}:{}", kind.name, id(0), id(1)),
        (_, None) => format!("{}:{}/{}", kind.name, id(0), id(1)),
    };
    action.map_or(tenant.clone(), |action| format!("{tenant}:{action}"))
}

/// The id for a path parameter: an org's is a UUID.
fn id<'i>(parameter: &str, ids: [&'i str; 2]) -> &'i str {
    if parameter == "org" { ids[0] } else { ids[1] }
}

impl Credentials {
    /// The expected status of an operation that requires `scope`. Where the path does not name the tenant, a grant of the kind
    /// for any tenant opens it, and its handler finds out whose it is.
    fn expected(&self, path: &str, scope: &str) -> u16 {
        let alternatives = scope.split(" | ").map(|scope| self.expected_of_one(path, scope));
        alternatives.min().unwrap()
    }

    fn expected_of_one(&self, path: &str, scope: &str) -> u16 {
        let is_any_tenant = scope.contains('{') && !path.contains(first_parameter(scope));
        match (&self.opens, scope) {
            (Opens::OtherTenant(kind), scope) if is_any_tenant && is_of_kind(scope, kind) => OPEN,
            (_, "none") | (Opens::Everything, _) => OPEN,
            (Opens::Public, _) => 401,
            (_, "any") => OPEN,
            (Opens::OtherTenant(_), _) => 403,
            (Opens::Tenant(tenant), scope) if tenant.opens(scope) => OPEN,
            _ => 403,
        }
    }
}

impl Tenant {
    fn opens(&self, scope: &str) -> bool {
        let depth = scope.matches('{').count();
        let after_ids = scope.rsplit('}').next().unwrap();
        let needed = after_ids.rsplit_once(':').map(|(_, action)| action);
        let is_included = match self.action {
            None => true,
            Some(action) => needed == Some("read") || needed == Some(action),
        };
        let is_child =
            |kind: &&ScopeKind| kind.parent == Some(self.kind) && is_of_kind(scope, kind);
        let is_ours = is_of_kind(scope, self.kind) || kinds().iter().any(is_child);
        is_ours && self.depth <= depth && is_included
    }
}

/// Every kind of scope of every service.
fn kinds() -> Vec<&'static ScopeKind> {
    services().iter().flat_map(|service| service.scope_kinds()).chain([&METRICS]).collect()
}

/// Whether a required scope is of this kind.
fn is_of_kind(scope: &str, kind: &ScopeKind) -> bool {
    let rest = scope.strip_prefix(kind.name);
    rest.is_some_and(|rest| rest.is_empty() || rest == ":read" || rest.starts_with(":{"))
}

/// The first parameter in a scope, with its braces.
fn first_parameter(scope: &str) -> &str {
    let from = scope.find('{').unwrap();
    let to = scope.find('}').unwrap();
    &scope[from..=to]
}

#[tokio::test]
async fn every_route_opens_to_those_it_should_and_to_nobody_else() {
    let mut all = vec![
        Credentials { scope: None, opens: Opens::Public },
        Credentials { scope: Some("admin".to_owned()), opens: Opens::Everything },
    ];
    all.extend(kinds().into_iter().flat_map(credentials));
    let app = TestApp::start(services()).await;
    let description: Value = app.get("/openapi.json").send().await.json();
    let (mut tried, mut opened) = (0, 0);
    for credentials in &all {
        let mut token = None;
        for Operation { path, method, scope, example } in operations(&description) {
            let call = app.request(method.clone(), &example);
            // Another token after a route that may have revoked it.
            if let (Some(scope), None) = (&credentials.scope, &token) {
                token = Some(app.token(scope).await);
            }
            // These take a bearer for their one-time token.
            let takes_one_time_token = path.ends_with("/credentials/secret");
            let sent = token.iter().filter(|_| !takes_one_time_token);
            let call = sent.fold(call, |call, token| call.bearer(token));
            if !path.starts_with("/v1/namespaces/") && !method.is_safe() {
                token = None;
            }
            let expected = credentials.expected(&path, &scope);
            let reply = call.send().await;
            let who = &credentials.scope;
            let at = format!("{who:?} {method} {path}, which requires {scope}: {}", reply.text());
            if takes_one_time_token {
                // Nobody is kept from the handler, which misses its token.
                assert_eq!((scope.as_str(), reply.status), ("none", 401), "{at}");
                assert!(reply.text().contains("the one-time token is missing"), "{at}");
            } else {
                assert_eq!(outcome(&reply), expected, "{at}");
            }
            tried += 1;
            opened += usize::from(expected == OPEN && scope != "none" && scope != "any");
        }
    }
    assert!(all.len() >= 14 && tried >= 900 && opened >= 200, "{tried} tried, {opened} opened");
}

#[tokio::test]
async fn forged_expired_and_revoked_credentials_open_nothing() {
    let app = TestApp::start(services()).await;
    let description: Value = app.get("/openapi.json").send().await.json();
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
        for Operation { method, scope, example, .. } in operations(&description) {
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

/// A route whose path names no tenant.
#[utoipa::path(get, path = "/t/things", responses((status = 200)))]
async fn no_tenant() {}

#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "only described")]
struct Unseen(String);

mod one {
    /// A review, for one service.
    #[derive(serde::Serialize, utoipa::ToSchema)]
    pub(super) struct Twin {
        score: u8,
    }

    #[utoipa::path(get, path = "/t/one", responses((status = 200, body = Twin)))]
    pub(super) async fn read() -> axum::Json<Twin> {
        axum::Json(Twin { score: 1 })
    }
}

mod other {
    /// Something else of the same name.
    #[derive(serde::Serialize, utoipa::ToSchema)]
    pub(super) struct Twin {
        name: String,
    }

    #[utoipa::path(get, path = "/t/other", responses((status = 200, body = Twin)))]
    pub(super) async fn read() -> axum::Json<Twin> {
        axum::Json(Twin { name: String::new() })
    }
}

#[tokio::test]
async fn a_route_that_is_declared_wrongly_is_found() {
    struct SameName;
    impl Service for SameName {
        fn routes(&self, api: Api) -> Api {
            let admin = RequiredScope::Admin;
            api.route(admin, routes!(one::read)).route(admin, routes!(other::read))
        }
    }
    struct NoTenant;
    impl Service for NoTenant {
        fn routes(&self, api: Api) -> Api {
            static SPACE: ScopeKind = ScopeKind::new("space", &[Level::exact("ns")]);
            api.route(RequiredScope::Tenant(&SPACE), routes!(no_tenant))
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
    assert_eq!(router::mistakes(&opened, &services()), Vec::<String>::new());
    let found = router::mistakes(&opened, &[Box::new(NoTenant), Box::new(Dangling)]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("has no {ns}"), "{found:?}");
    assert!(found[1].contains("#/components/schemas/Unseen"), "{found:?}");
    let found = router::mistakes(&opened, &[Box::new(SameName)]);
    assert_eq!(found, ["two different schemas have the name Twin"]);
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
                scope: required(path, operation).to_owned(),
                example: filled(path, operation),
            });
        }
    }
    all
}

/// The scope that a request without a query requires.
fn required<'a>(path: &str, operation: &'a Value) -> &'a str {
    match path {
        // Only its parameter `repo` makes a narrower scope enough.
        "/v1/reviews/compare" => "reviews:read",
        _ => operation["x-weir-scope"].as_str().unwrap(),
    }
}

fn filled(path: &str, operation: &Value) -> String {
    let mut path = path.to_owned();
    let scope = operation["x-weir-scope"].as_str().unwrap();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        if let (Some(name), Some("path")) = (parameter["name"].as_str(), parameter["in"].as_str()) {
            let braced = format!("{{{name}}}");
            let value = match scope.contains(&braced) {
                true => id(name, MINE),
                false => example(name, &parameter["schema"]),
            };
            path = path.replace(&braced, value);
        }
    }
    assert!(!path.contains('{'), "{path} has a parameter that is not described");
    path
}

/// A well-formed value of a parameter.
fn example<'a>(name: &str, schema: &'a Value) -> &'a str {
    match schema.pointer("/examples/0").and_then(Value::as_str) {
        _ if schema["format"] == "uuid" || name == "org" => MINE[0],
        found => found.unwrap_or("sample"),
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
