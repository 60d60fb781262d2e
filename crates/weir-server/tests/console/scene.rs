//! A server with every service, and a person's browser.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::networks::Networks;
use weir_framework::settings::JobSettings;
use weir_framework::testing::{ADMIN_KEY, Call, Reply, TestApp};
use weir_server::{Settings, keeper, services};

pub(crate) const SESSION: &str = "/v1/session";

/// A running server.
pub(crate) struct Scene {
    pub(crate) app: TestApp,
}

/// A person's browser: the cookie and the CSRF token of a session.
#[derive(Debug, Clone)]
pub(crate) struct Browser {
    pub(crate) cookie: String,
    pub(crate) csrf: String,
    pub(crate) session: Value,
}

impl Scene {
    pub(crate) async fn start() -> Scene {
        Scene::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut keeper::Settings)) -> Scene {
        let mut keeper = keeper::Settings { bcrypt_cost: 4, ..keeper::Settings::default() };
        // Totals are summed up when a test says so.
        keeper.catch_up_secs = 24 * 3600;
        change(&mut keeper);
        let settings = Settings { keeper, ..Settings::default() };
        let jobs = JobSettings { aggregate_interval_secs: 3600, ..JobSettings::default() };
        let app = TestApp::builder(services(settings, &jobs));
        // Requests come through a proxy where a test says so.
        let proxies = Networks::parse(&["127.0.0.0/8"]).unwrap();
        let app = app.settings(|settings| settings.edge.trusted_proxies = proxies);
        Scene { app: app.start().await }
    }

    pub(crate) async fn admin(&self, method: Method, path: &str, body: &Value) -> Value {
        let call = self.app.request(method, path).admin();
        let call = if body.is_null() { call } else { call.json(body) };
        let reply = call.send().await;
        assert!((200..300).contains(&reply.status), "{path}: {}", reply.text());
        if reply.body.is_empty() { Value::Null } else { reply.json() }
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.admin(Method::GET, path, &Value::Null).await
    }

    /// Tries to sign in.
    pub(crate) fn sign_in_call(&self, credential: &str) -> Call {
        self.app.post(SESSION, &json!({"credential": credential}))
    }

    /// Signs in with a credential.
    pub(crate) async fn sign_in(&self, credential: &str) -> Browser {
        Browser::of(&self.sign_in_call(credential).send().await)
    }

    /// Signs in with the admin key.
    pub(crate) async fn ada(&self) -> Browser {
        let body = json!({"credential": ADMIN_KEY, "name": "ada"});
        Browser::of(&self.app.post(SESSION, &body).send().await)
    }

    /// A request of a page in a browser.
    pub(crate) fn page(&self, browser: &Browser, method: Method, path: &str) -> Call {
        let call = self.app.request(method, path).header("cookie", &browser.cookie);
        call.header("sec-fetch-site", "same-origin")
    }

    /// A reading request of a page.
    pub(crate) async fn read(&self, browser: &Browser, path: &str) -> Reply {
        self.page(browser, Method::GET, path).send().await
    }

    /// A changing request of a page, with its CSRF token.
    pub(crate) fn change(&self, browser: &Browser, method: Method, path: &str) -> Call {
        self.page(browser, method, path).header("x-csrf-token", &browser.csrf)
    }

    /// An org with ten dollars a day for `premium` and five for `standard`, and its app `api`.
    pub(crate) async fn org(&self, org: &str, scope: &str) {
        self.org_named(org, scope, "Sample Corp").await;
    }

    pub(crate) async fn org_named(&self, org: &str, scope: &str, name: &str) {
        let body = json!({
            "org_name": name, "timezone": "UTC", "quota_scope": scope,
            "model_ordering": ["premium", "standard"],
            "quotas": {"premium": 10_000_000, "standard": 5_000_000},
        });
        self.admin(Method::PUT, &format!("/api/v1/orgs/{org}"), &body).await;
        let app = format!("/api/v1/orgs/{org}/apps/api");
        self.admin(Method::PUT, &app, &json!({"app_name": "API"})).await;
    }

    /// A call of `premium` that costs this much.
    pub(crate) async fn spend(&self, org: &str, number: u32, at: &str, usd_micros: u64) {
        let body = json!({
            "request_id": format!("7c9e6679-7425-40de-944b-{number:012x}"),
            "model_label": "premium", "input_tokens": 1_000, "output_tokens": 100,
            "bedrock_model_id": "anthropic.claude-sonnet-4-5-20250929-v1:0",
            "status": "OK", "timestamp": at, "cost_usd_micros": usd_micros,
        });
        self.admin(Method::POST, &format!("/api/v1/orgs/{org}/apps/api/costs"), &body).await;
    }

    pub(crate) async fn aggregate(&self) {
        self.admin(Method::POST, "/v1/jobs/keeper-aggregate/run", &Value::Null).await;
    }

    /// Limits of the system in a namespace, and an acquire of a token.
    pub(crate) async fn acquire(&self, ns: &str, resource: &str, entity: &str, tokens: u64) -> u16 {
        let path = format!("/v1/namespaces/{ns}/acquire");
        let body = json!({"entity": entity, "resource": resource, "consume": {"rpm": tokens}});
        self.app.post(&path, &body).admin().send().await.status
    }

    pub(crate) async fn namespace(&self, ns: &str) {
        self.admin(Method::PUT, &format!("/v1/namespaces/{ns}"), &Value::Null).await;
        let limits = json!({"limits": [limit(10)]});
        let path = format!("/v1/namespaces/{ns}/limits/system");
        self.admin(Method::PUT, &path, &limits).await;
    }
}

impl Browser {
    fn of(signed_in: &Reply) -> Browser {
        assert_eq!(signed_in.status, 200, "{}", signed_in.text());
        assert_eq!(signed_in.header("cache-control"), "no-store");
        let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
        let session: Value = signed_in.json();
        let csrf = session["csrf_token"].as_str().unwrap().to_owned();
        Browser { cookie, csrf, session }
    }

    /// The name of the cookie.
    pub(crate) fn name(&self) -> &str {
        self.cookie.split_once('=').unwrap().0
    }

    /// The session's token, as an attacker with the cookie has it.
    pub(crate) fn token(&self) -> &str {
        self.cookie.split_once('=').unwrap().1
    }
}

/// A limit of so many requests per minute.
pub(crate) fn limit(capacity: u64) -> Value {
    json!({"name": "rpm", "capacity": capacity, "refill_amount": capacity, "refill_period_seconds": 60})
}
