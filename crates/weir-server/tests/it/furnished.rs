//! A server with something of everything, so that whoever makes requests up gets further than "there is no such thing".
//!
//! What is named once and for all stands in `tests/schemathesis` too; what is new every time, such as secrets and leases, is
//! written into files beside it.

use std::path::Path;

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::testing::TestApp;

/// An org whose quotas are its own, and one whose quotas are its apps'.
const ORGS: [(&str, &str); 2] = [
    ("550e8400-e29b-41d4-a716-446655440000", "ORG"),
    ("660e8400-e29b-41d4-a716-446655440001", "APP"),
];
const APPS: [&str; 2] = ["app-production-api", "nightly"];
const ENTITIES: [&str; 2] = ["team", "user-1"];
/// An entity, and a resource, whose limits nobody changes. It is on no list, so that nobody finds it to remove it.
const STEADY: &str = "steady";
/// As many as are asked for in a short run, about.
const REFRESHES: usize = 20;
const LEASES: usize = 24;
const DOOMED: usize = 20;
const LIMITS: &str = "/v1/namespaces/default";

/// Sets everything up, and writes what only the run knows into `folder`.
pub(crate) async fn furnish(app: &TestApp, folder: &Path) {
    let site = Site { app, folder };
    for (org, scope) in ORGS {
        site.org(org, scope).await;
    }
    site.call(Method::PUT, "/api/v1/orgs/doomed", &new_org("APP")).await;
    for (org, app) in [("doomed", "doomed"), (ORGS[1].0, "doomed")] {
        site.app(org, app).await;
    }
    site.clients().await;
    site.leases().await;
    site.practice().await;
}

struct Site<'a> {
    app: &'a TestApp,
    folder: &'a Path,
}

impl Site<'_> {
    async fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        let reply = self.app.request(method, path).admin().json(body).send().await;
        assert!((200..300).contains(&reply.status), "{path}: {}", reply.text());
        reply.json()
    }

    /// Values to choose from, a line each.
    fn write(&self, name: &str, values: &[String]) {
        let lines: String = values.iter().map(|value| format!("{value:?}\n")).collect();
        std::fs::write(self.folder.join(format!("{name}.dict")), lines).unwrap();
    }

    async fn org(&self, org: &str, scope: &str) {
        let path = format!("/api/v1/orgs/{org}");
        self.call(Method::PUT, &path, &new_org(scope)).await;
        for app in APPS {
            self.app(org, app).await;
        }
        // A day to replay.
        let used = json!({"request_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "model_label": "premium",
            "bedrock_model_id": "anthropic.claude-sonnet-4-5-20250929-v1:0", "input_tokens": 1_000,
            "output_tokens": 100, "status": "OK", "timestamp": "2026-01-15T11:30:00Z"});
        self.call(Method::POST, &format!("{path}/apps/{}/costs", APPS[0]), &used).await;
        // Nobody listens there, so that a replay ends at once; one of the two keeps its address.
        let hook = json!({"url": "http://127.0.0.1:9/weir"});
        for id in ["hook", "kept"] {
            self.call(Method::PUT, &format!("{path}/webhooks/{id}"), &hook).await;
        }
        // The first notice.
        let app = if scope == "APP" { format!("/apps/{}", APPS[0]) } else { String::new() };
        let moved = json!({"model_label": "standard"});
        self.call(Method::PUT, &format!("{path}{app}/sticky"), &moved).await;
    }

    /// Creates an app and returns the response.
    async fn app(&self, org: &str, app: &str) -> Value {
        let path = format!("/api/v1/orgs/{org}/apps/{app}");
        self.call(Method::PUT, &path, &json!({"app_name": "Sample"})).await
    }

    /// A client whose secret nobody rotates, with tokens to refresh; and one whose tokens may go.
    async fn clients(&self) {
        let [_, (org, _)] = ORGS;
        let client = self.app(org, "quiet").await;
        let url = text(&client, "/credentials/secret_retrieval/url");
        let response = self.app.get(&url).send().await.json::<Value>();
        let (id, secret) =
            (text(&client, "/credentials/client_id"), text(&response, "/client_secret"));
        let ask =
            json!({"client_id": id, "client_secret": secret, "grant_type": "client_credentials"});
        let mut refreshes = Vec::new();
        for _ in 0..REFRESHES {
            let tokens = self.call(Method::POST, "/auth/token", &ask).await;
            refreshes.push(text(&tokens, "/refresh_token"));
        }
        self.write("clients", &[id]);
        self.write("secrets", &[secret]);
        self.write("refreshes", &refreshes);
        let other = self.app(org, "spare").await;
        self.write("revoked", &[text(&other, "/credentials/client_id")]);
    }

    /// Users of each plan, others that may go, and the result of a task.
    async fn practice(&self) {
        for (file, count) in [("practice-users", 3), ("practice-doomed", DOOMED)] {
            let mut ids = Vec::new();
            for number in 0..count {
                let email = format!("{file}-{number}@example.com");
                let user = json!({"email": email, "name": "Ann", "plan_id": number % 3 + 1});
                let user = self.call(Method::POST, "/v1/practice/users", &user).await;
                ids.push(text(&user, "/id"));
            }
            self.write(file, &ids);
        }
        let task = json!({"status": "STARTED"});
        self.call(Method::PUT, "/v1/practice/tasks/task-1", &task).await;
    }

    /// Entities, limits, and leases that are open for an hour.
    async fn leases(&self) {
        let limits = json!({"limits": [{"name": "rpm", "capacity": 1_000_000_000,
            "refill_amount": 1_000_000_000, "refill_period_seconds": 60}]});
        for level in ["resources/gpt-4", "entities/steady/steady"] {
            self.call(Method::PUT, &format!("{LIMITS}/limits/{level}"), &limits).await;
        }
        for entity in ENTITIES {
            let path = format!("{LIMITS}/entities/{entity}");
            self.call(Method::PUT, &path, &json!({"name": entity})).await;
        }
        let ask = json!({"entity": STEADY, "resource": STEADY, "consume": {"rpm": 100},
            "lease_ttl_secs": 3_600});
        let mut leases = Vec::new();
        for _ in 0..LEASES {
            let lease = self.call(Method::POST, &format!("{LIMITS}/acquire"), &ask).await;
            leases.push(text(&lease, "/lease"));
        }
        self.write("leases", &leases);
    }
}

fn new_org(scope: &str) -> Value {
    let quotas = json!({"premium": 1_000_000_000_000_000_u64, "standard": 5_000_000});
    json!({"org_name": "Sample Corp", "timezone": "UTC", "quota_scope": scope,
        "model_ordering": ["premium", "standard"], "quotas": quotas})
}

/// The text at this place of an answer.
fn text(value: &Value, at: &str) -> String {
    value.pointer(at).and_then(Value::as_str).unwrap().to_owned()
}
