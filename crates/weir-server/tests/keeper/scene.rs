//! A server with the keeper, and helpers that call it.

use std::path::PathBuf;
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use weir_api::keeper::{ClientSecret, ConfigResponse, TokenRequest, TokenResponse};
use weir_api::secret::Secret;
use weir_framework::networks::Networks;
use weir_framework::testing::{Call, Reply, TestApp};
use weir_server::keeper::{KeeperService, Settings};
use weir_server::limiter::LimiterService;

pub(crate) const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";
pub(crate) const OTHER: &str = "660e8400-e29b-41d4-a716-446655440001";
pub(crate) const APP: &str = "api";

pub(crate) struct Scene {
    pub(crate) app: TestApp,
}

/// A client with its secret and its tokens.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) org: String,
    pub(crate) id: String,
    pub(crate) secret: String,
    pub(crate) access: String,
    pub(crate) refresh: String,
}

impl Scene {
    pub(crate) async fn start() -> Scene {
        Scene::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Settings)) -> Scene {
        Scene::start_in(None, change).await
    }

    /// A server on the store in a folder.
    pub(crate) async fn start_in(
        data: Option<PathBuf>,
        change: impl FnOnce(&mut Settings),
    ) -> Scene {
        // The real cost of a hash would make every test wait.
        let mut settings = Settings { bcrypt_cost: 4, ..Settings::default() };
        // Totals are summed up when the server starts and when a test says so, not in between.
        settings.catch_up_secs = 24 * 3600;
        // The webhooks of tests listen here.
        settings.webhook_allowed_networks = Networks::parse(&["127.0.0.0/8"]).unwrap();
        change(&mut settings);
        let budgets = KeeperService::new(settings).aggregate_every(Duration::from_secs(24 * 3600));
        let limits = LimiterService::default();
        let app = TestApp::builder(vec![Box::new(limits), Box::new(budgets)]);
        // Requests come through a proxy where a test says so.
        let proxies = Networks::parse(&["127.0.0.0/8"]).unwrap();
        let app = app.settings(|settings| settings.edge.trusted_proxies = proxies);
        let app = data.into_iter().fold(app, |app, data| app.data(data));
        Scene { app: app.start().await }
    }

    /// A server with an org whose one app is `api`, and the app's client.
    pub(crate) async fn with_app() -> (Scene, Client) {
        let scene = Scene::start().await;
        scene.org(ORG).await;
        let client = scene.app(ORG, APP).await;
        (scene, client)
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        self.app.request(method, path)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path).admin().send().await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Reply {
        self.call(Method::PUT, path).admin().json(body).send().await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.call(Method::POST, path).admin().json(body).send().await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        self.call(Method::DELETE, path).admin().send().await
    }

    /// Creates an org, and its client.
    pub(crate) async fn org(&self, org: &str) -> Client {
        let made = self.put(&at(org, ""), &new_org()).await;
        assert_eq!(made.status, 201, "{}", made.text());
        self.client(org, &made).await
    }

    /// Creates an app, and its client.
    pub(crate) async fn app(&self, org: &str, app: &str) -> Client {
        let made = self.put(&at(org, &format!("/apps/{app}")), &json!({"app_name": "API"})).await;
        assert_eq!(made.status, 201, "{}", made.text());
        self.client(org, &made).await
    }

    async fn client(&self, org: &str, made: &Reply) -> Client {
        let credentials = made.json::<ConfigResponse>().credentials.unwrap();
        let fetched = self.call(Method::GET, &credentials.secret_retrieval.url).send().await;
        assert_eq!(fetched.status, 200, "{}", fetched.text());
        let secret = fetched.json::<ClientSecret>().client_secret;
        let tokens = self.token(&credentials.client_id, &secret).await;
        assert_eq!(tokens.status, 200, "{}", tokens.text());
        let tokens: TokenResponse = tokens.json();
        Client {
            org: org.to_owned(),
            id: credentials.client_id,
            secret,
            access: tokens.access_token,
            refresh: tokens.refresh_token,
        }
    }

    /// Requests a pair of tokens.
    pub(crate) async fn token(&self, id: &str, secret: &str) -> Reply {
        self.token_request(id, secret).send().await
    }

    /// Requests a pair of tokens, from this address behind a proxy.
    pub(crate) async fn token_from(&self, address: &str, id: &str, secret: &str) -> Reply {
        self.token_request(id, secret).header("x-forwarded-for", address).send().await
    }

    fn token_request(&self, id: &str, secret: &str) -> Call {
        let request = TokenRequest {
            client_id: id.to_owned(),
            client_secret: Secret::new(secret),
            grant_type: "client_credentials".to_owned(),
            scope: None,
        };
        self.app.post("/auth/token", &request)
    }

    /// Reads as a client.
    pub(crate) async fn read(&self, client: &Client, tail: &str) -> Reply {
        self.call(Method::GET, &at(&client.org, tail)).bearer(&client.access).send().await
    }

    /// Selects a model, as the app `api`.
    pub(crate) async fn select(&self, client: &Client) -> Reply {
        self.read(client, "/apps/api/model-selection").await
    }

    /// Submits the usage of a call, as the app `api`.
    pub(crate) async fn submit(&self, client: &Client, body: &Value) -> Reply {
        let path = at(&client.org, "/apps/api/costs");
        self.app.post(&path, body).bearer(&client.access).send().await
    }

    /// Runs a job now. Returns the number of items that it processed.
    pub(crate) async fn run(&self, job: &str) -> u64 {
        let ran = self.post(&format!("/v1/jobs/{job}/run"), &json!({})).await;
        assert_eq!(ran.status, 200, "{}", ran.text());
        ran.json::<Value>()["items"].as_u64().unwrap()
    }
}

/// A path of an org.
pub(crate) fn at(org: &str, tail: &str) -> String {
    format!("/api/v1/orgs/{org}{tail}")
}

pub(crate) fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// An org with ten dollars a day for `premium`, and five for `standard`.
pub(crate) fn new_org() -> Value {
    json!({
        "org_name": "Sample Corp", "timezone": "America/New_York", "quota_scope": "ORG",
        "model_ordering": ["premium", "standard"],
        "quotas": {"premium": 10_000_000, "standard": 5_000_000},
    })
}

/// The usage of a call of `premium`: $1.50.
pub(crate) fn used(number: u32) -> Value {
    json!({
        "request_id": request_id(number), "model_label": "premium",
        "bedrock_model_id": "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "input_tokens": 0, "output_tokens": 100_000, "status": "OK",
        "timestamp": "2026-01-15T12:00:00Z",
    })
}

pub(crate) fn request_id(number: u32) -> String {
    format!("7c9e6679-7425-40de-944b-{number:012x}")
}

/// `body` with other fields.
pub(crate) fn with(mut body: Value, changes: Value) -> Value {
    if let (Some(all), Value::Object(more)) = (body.as_object_mut(), changes) {
        all.extend(more);
    }
    body
}
