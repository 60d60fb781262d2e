//! Every route with the credentials of others, made from the API's own description: nobody picks.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::testing::Reply;

use crate::scene::{Client, ORG, OTHER, Scene};

/// Path, method and scope of every operation below `/api` and `/auth`.
async fn operations(scene: &Scene) -> Vec<(String, Method, String)> {
    let description: Value = scene.app.get("/openapi.json").send().await.json();
    let mut all = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        if !path.starts_with("/api/") && !path.starts_with("/auth/") {
            continue;
        }
        for (method, operation) in item.as_object().unwrap() {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let scope = operation["x-weir-scope"].as_str().unwrap().to_owned();
            all.push((path.clone(), method, scope));
        }
    }
    assert!(all.len() >= 30, "only {} were found", all.len());
    all
}

fn filled(path: &str, org: &str, app: &str) -> String {
    let path = path.replace("{org}", org).replace("{app}", app);
    path.replace("{date}", "today").replace("{id}", "hook")
}

impl Scene {
    /// Asks with a body where the method has one; what it says does not matter, because nobody gets that far.
    async fn ask(&self, method: &Method, path: &str, token: Option<&str>) -> Reply {
        let call = self.call(method.clone(), path);
        let call = if method.is_safe() { call } else { call.json(&json!({})) };
        let call = token.iter().fold(call, |call, token| call.bearer(token));
        call.send().await
    }
}

#[tokio::test]
async fn no_route_opens_to_another_org_or_app_or_without_credentials() {
    let scene = Scene::start_with(|settings| settings.token_address_rate = 0).await;
    no_route_opens_to_others(&scene).await;
}

#[cfg(feature = "dynamodb")]
#[tokio::test]
async fn no_route_opens_to_another_on_dynamodb_local() {
    let scene = crate::instances::Shared::new("access").start().await;
    no_route_opens_to_others(&scene).await;
}

async fn no_route_opens_to_others(scene: &Scene) {
    let org = scene.org(ORG).await;
    let app = scene.app(ORG, "api").await;
    let sibling = scene.app(ORG, "sibling").await;
    let other_org = scene.org(OTHER).await;
    let other_app = scene.app(OTHER, "api").await;
    let mut tried = 0;
    for (path, method, scope) in operations(scene).await {
        if scope == "none" {
            continue;
        }
        let (mine, is_app) = (filled(&path, ORG, "api"), path.contains("{app}"));
        let expect = |who: &str, reply: &Reply, expected: u16| {
            assert_eq!(reply.status, expected, "{who} {method} {mine}: {}", reply.text());
            reply.any_problem();
        };
        expect("nobody", &scene.ask(&method, &mine, None).await, 401);
        // A list without an org in its path has what the caller reaches.
        let is_list = scope.starts_with("org:") && !path.contains("{org}");
        for (who, client) in [
            ("another org", &other_org),
            ("an app of another org", &other_app),
            ("a sibling", &sibling),
        ] {
            let reply = scene.ask(&method, &mine, Some(&client.access)).await;
            if is_list {
                assert_eq!(reply.status, 200, "{who} {method} {mine}: {}", reply.text());
                assert!(!reply.text().contains(ORG), "{who} {method} {mine}: {}", reply.text());
            } else {
                expect(who, &reply, 403);
            }
        }
        for token in [&org.refresh, &app.refresh] {
            expect("a refresh token", &scene.ask(&method, &mine, Some(token)).await, 401);
        }
        let reaches = |client: &Client| {
            scope.starts_with("org:") && (client.id == org.id || is_app || is_list)
        };
        for client in [&org, &app] {
            let reply = scene.ask(&method, &mine, Some(&client.access)).await;
            let is_let_in = !matches!(reply.status, 401 | 403);
            assert_eq!(
                is_let_in,
                reaches(client),
                "{} {method} {mine}: {}",
                client.id,
                reply.text()
            );
        }
        tried += 1;
    }
    assert!(tried >= 25, "only {tried} were tried");
}

#[tokio::test]
async fn the_case_of_an_org_id_does_not_matter() {
    let scene = Scene::start().await;
    let org = scene.org(ORG).await;
    let app = scene.app(ORG, "api").await;
    let upper = Client { org: ORG.to_uppercase(), ..org };
    for (client, tail) in [
        (&upper, ""),
        (&upper, "/apps/api"),
        (&upper, "/apps/api/model-selection"),
        (&Client { org: ORG.to_uppercase(), ..app.clone() }, "/apps/api/model-selection"),
    ] {
        let reply = scene.read(client, tail).await;
        assert_eq!(reply.status, 200, "{} {tail}: {}", client.id, reply.text());
    }
    let config: Value = scene.read(&upper, "").await.json();
    assert_eq!(config["org_id"], ORG);
    // Another org's is still another's, and so is an app's name in another case.
    let other = Client { org: OTHER.to_uppercase(), ..app.clone() };
    assert_eq!(scene.read(&other, "/apps/api").await.status, 403);
    assert_eq!(scene.read(&app, "/apps/API").await.status, 403);
    let token = scene.app.token(&format!("org:{}", ORG.to_uppercase())).await;
    let issued = Client { access: token, ..app };
    assert_eq!(scene.read(&issued, "/apps/api").await.status, 200);
}

#[tokio::test]
async fn only_routes_that_check_their_own_credentials_are_public() {
    let scene = Scene::start().await;
    let all = operations(&scene).await;
    let mut open: Vec<&str> = all
        .iter()
        .filter(|(_, _, scope)| scope == "none")
        .map(|(path, _, _)| path.as_str())
        .collect();
    open.sort_unstable();
    open.dedup();
    assert_eq!(
        open,
        [
            "/api/v1/orgs/{org}/apps/{app}/credentials/secret",
            "/api/v1/orgs/{org}/credentials/secret",
            "/auth/refresh",
            "/auth/revoke",
            "/auth/token",
        ]
    );
}
