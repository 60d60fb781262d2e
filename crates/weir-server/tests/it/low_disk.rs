//! A disk that is nearly full: everything that frees it, and everything that people need to get there, goes on.

#![expect(clippy::indexing_slicing, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::networks::Networks;
use weir_framework::settings::JobSettings;
use weir_framework::testing::{Call, Reply, TestApp};
use weir_framework::{ADMIN_KEY_FILE, Code};
use weir_server::{Settings, keeper};
use weir_testkit::{FaultyDisk, eventually_eq};

use crate::furnished::furnish;

const MIB: u64 = 1024 * 1024;
const MINUTE_MS: u64 = 61_000;
const HOUR_MS: u64 = 3_601_000;
/// Orgs of [`furnish`] with the quotas of the org, and with those of its apps.
const ORG: &str = "/api/v1/orgs/550e8400-e29b-41d4-a716-446655440000";
const BY_APP: &str = "/api/v1/orgs/660e8400-e29b-41d4-a716-446655440001";
const LIMITS: &str = "/v1/namespaces/default/limits";
const JOBS: &str = "/v1/practice/jobs/script-generation";

/// A server whose disk gets full.
struct Scene {
    app: TestApp,
    disk: FaultyDisk,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn start(change: impl FnOnce(&mut weir_framework::Settings)) -> Scene {
        let keeper = keeper::Settings {
            bcrypt_cost: 4,
            // As many as the furniture takes.
            token_rate: 100,
            webhook_allowed_networks: Networks::parse(&["127.0.0.0/8"]).unwrap(),
            ..keeper::Settings::default()
        };
        let settings = Settings { keeper, ..Settings::default() };
        let services = weir_server::services(settings, &JobSettings::default());
        let disk = FaultyDisk::default();
        let for_store = disk.clone();
        let app = TestApp::builder(services).settings(change).store_options(move |options| {
            options.disk = Arc::new(for_store);
            options.free_bytes_min = 8 * MIB;
        });
        Scene { app: app.start().await, disk, folder: tempfile::tempdir().unwrap() }
    }

    /// The disk gets nearly full, a while after what was made: long enough that no instance has tokens of a rate left.
    async fn fill(&self, later_ms: u64) {
        self.app.clock.advance_ms(later_ms);
        self.disk.set_free(7 * MIB);
        eventually_eq(503, async || self.app.get("/readyz").send().await.status).await;
        let refused = self.call(Method::PUT, "/v1/namespaces/another", &Value::Null).await;
        refused.problem(Code::INSUFFICIENT_STORAGE);
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Reply {
        let call = self.app.request(method, path).admin();
        if body.is_null() { call.send().await } else { call.json(body).send().await }
    }

    async fn done(&self, method: Method, path: &str, body: &Value) -> Value {
        let reply = self.call(method, path, body).await;
        assert!((200..300).contains(&reply.status), "{path}: {}", reply.text());
        if reply.body.is_empty() { Value::Null } else { reply.json() }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        self.done(Method::POST, path, body).await
    }

    /// A value that the furnished server has written.
    fn furnished(&self, name: &str) -> String {
        let text =
            std::fs::read_to_string(self.folder.path().join(format!("{name}.dict"))).unwrap();
        text.lines().next().unwrap().trim_matches('"').to_owned()
    }

    /// Submits a job and claims it. Returns the fencing number.
    async fn claimed_job(&self, id: &str) -> Value {
        let job = json!({"platform": "baekjoon", "problem_id": "1000", "title": "A+B", "tags": ["math"],
            "language": "python", "solution_code": "print(1)", "constraints": "none", "job_id": id});
        self.post(JOBS, &job).await;
        let claim = json!({"worker_id": "celery@a"});
        self.post(&format!("{JOBS}/{id}/claim"), &claim).await["fence"].clone()
    }

    async fn sign_in(&self) -> Reply {
        let credential = json!({"credential": weir_framework::testing::ADMIN_KEY});
        self.app.post("/v1/session", &credential).send().await
    }

    /// A request of a session of the console.
    async fn with_session(&self, method: Method, path: &str) -> Call {
        let signed_in = self.sign_in().await;
        assert_eq!(signed_in.status, 200, "{}", signed_in.text());
        let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
        let csrf = signed_in.json::<Value>()["csrf_token"].as_str().unwrap().to_owned();
        let call = self.app.request(method, path).header("cookie", &cookie);
        call.header("sec-fetch-site", "same-origin").header("x-csrf-token", &csrf)
    }
}

fn text(value: &Value, at: &str) -> String {
    value.pointer(at).and_then(Value::as_str).unwrap().to_owned()
}

/// Makes limits on every level, and entities with buckets of which one has a parent that counts it.
async fn make_limits(scene: &Scene) {
    let put = Method::PUT;
    let limits = json!({"limits": [{"name": "rpm", "capacity": 10, "refill_amount": 10,
        "refill_period_seconds": 60}]});
    for level in ["system", "resources/gpt-5", "entities/team/gpt-5", "entities/user-1/gpt-5"] {
        scene.done(put.clone(), &format!("{LIMITS}/{level}"), &limits).await;
    }
    let child = json!({"name": "user-1", "parent": "team"});
    scene.done(put.clone(), "/v1/namespaces/default/entities/user-1", &child).await;
    for entity in ["user-1", "team"] {
        let ask = json!({"entity": entity, "resource": "gpt-5", "consume": {"rpm": 1}});
        scene.post("/v1/namespaces/default/acquire", &ask).await;
    }
}

/// Makes something for every DELETE route to delete: the route and the path of the request, in an order in which all succeed.
async fn deletions(scene: &Scene) -> Vec<(&'static str, String)> {
    let (put, post) = (Method::PUT, Method::POST);
    let nothing = Value::Null;
    let app = "app-production-api";
    for of in [ORG.to_owned(), format!("{BY_APP}/apps/{app}")] {
        scene.done(post.clone(), &format!("{of}/credentials/rotate"), &nothing).await;
    }
    let arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3";
    let profile = json!({"profile_label": "ours", "inference_profile_arn": arn});
    scene.post(&format!("{ORG}/apps/{app}/inference-profiles"), &profile).await;
    let price = json!({"model_id": "acme.model", "input_price_usd_micros_per_1m": 7,
        "output_price_usd_micros_per_1m": 7});
    let import = scene.post("/api/v1/prices", &json!({"prices": [price]})).await;
    make_limits(scene).await;
    scene.done(put.clone(), "/v1/namespaces/doomed", &nothing).await;
    let plan = json!({"name": "Doomed", "max_hints_per_day": 1, "max_executions_per_day": 1});
    let plan = scene.post("/v1/practice/plans", &plan).await;
    let case = json!({"input": "1 2", "output": "3"});
    let problem = json!({"platform": "baekjoon", "problem_id": "1000", "title": "A+B"});
    scene.post("/v1/practice/problems", &problem).await;
    let problem = "/v1/practice/problems/baekjoon/1000";
    let case = scene.post(&format!("{problem}/testcases"), &case).await;
    let review = json!({"owner": "acme", "repo": "weir", "pr_number": 7, "pr_title": "Add a thing",
        "pr_url": "https://example.com/7"});
    let review = scene.post("/v1/reviews", &review).await;
    let token = json!({"name": "test", "scope": "admin", "expires_in": 86_400});
    let token = scene.post("/v1/tokens", &token).await;
    let rotated = scene.post("/v1/signing-key/rotate", &nothing).await;
    let user = scene.furnished("practice-doomed");
    vec![
        ("/v1/session", "/v1/session".to_owned()),
        ("/api/v1/orgs/{org}/webhooks/{id}", format!("{ORG}/webhooks/hook")),
        ("/api/v1/orgs/{org}/sticky", format!("{ORG}/sticky")),
        ("/api/v1/orgs/{org}/apps/{app}/sticky", format!("{BY_APP}/apps/{app}/sticky")),
        ("/api/v1/orgs/{org}/credentials/rotate", format!("{ORG}/credentials/rotate")),
        (
            "/api/v1/orgs/{org}/apps/{app}/credentials/rotate",
            format!("{BY_APP}/apps/{app}/credentials/rotate"),
        ),
        (
            "/api/v1/orgs/{org}/apps/{app}/inference-profiles/{label}",
            format!("{ORG}/apps/{app}/inference-profiles/ours"),
        ),
        ("/api/v1/orgs/{org}/apps/{app}", format!("{ORG}/apps/{app}")),
        ("/api/v1/orgs/{org}", ORG.to_owned()),
        ("/api/v1/prices/imports/{id}", format!("/api/v1/prices/imports/{}", text(&import, "/id"))),
        ("/v1/namespaces/{ns}/limits/system", format!("{LIMITS}/system")),
        ("/v1/namespaces/{ns}/limits/resources/{r}", format!("{LIMITS}/resources/gpt-5")),
        ("/v1/namespaces/{ns}/limits/entities/{id}/{r}", format!("{LIMITS}/entities/team/gpt-5")),
        // With limits and a bucket of its own.
        ("/v1/namespaces/{ns}/entities/{id}", "/v1/namespaces/default/entities/user-1".to_owned()),
        ("/v1/namespaces/{ns}", "/v1/namespaces/doomed".to_owned()),
        ("/v1/practice/plans/{id}", format!("/v1/practice/plans/{}", plan["id"])),
        (
            "/v1/practice/problems/{platform}/{problem_id}/testcases/{id}",
            format!("{problem}/testcases/{}", text(&case, "/id")),
        ),
        ("/v1/practice/problems/{platform}/{problem_id}", format!("{problem}?hard=true")),
        ("/v1/practice/users/{id}", format!("/v1/practice/users/{user}")),
        ("/v1/reviews/{id}", format!("/v1/reviews/{}", text(&review, "/review_id"))),
        ("/v1/tokens/{id}", format!("/v1/tokens/{}", text(&token, "/id"))),
        ("/v1/signing-keys/{kid}", format!("/v1/signing-keys/{}", text(&rotated, "/previous_kid"))),
    ]
}

#[tokio::test]
async fn every_deletion_passes_a_nearly_full_disk() {
    let scene = Scene::start(|_| {}).await;
    furnish(&scene.app, scene.folder.path()).await;
    let deletions = deletions(&scene).await;
    let description: Value = scene.app.get("/openapi.json").send().await.json();
    let paths = description["paths"].as_object().unwrap();
    let all = paths.iter().filter(|(_, item)| item.get("delete").is_some());
    let all: BTreeSet<&str> = all.map(|(path, _)| path.as_str()).collect();
    let tried: BTreeSet<&str> = deletions.iter().map(|(route, _)| *route).collect();
    assert_eq!(tried, all, "every DELETE route is tried");

    scene.fill(HOUR_MS).await;
    for (route, path) in &deletions {
        let call = match *route {
            "/v1/session" => scene.with_session(Method::DELETE, path).await,
            _ => scene.app.request(Method::DELETE, path).admin(),
        };
        let reply = call.send().await;
        assert!((200..300).contains(&reply.status), "{route}: {} {}", reply.status, reply.text());
    }
    // The purge of a namespace deletes too, with its job.
    scene.post("/v1/namespaces/doomed/purge", &Value::Null).await;
}

#[tokio::test]
async fn sign_ins_reads_and_settlements_pass_a_nearly_full_disk() {
    let scene = Scene::start(|_| {}).await;
    furnish(&scene.app, scene.folder.path()).await;
    let mut fences = Vec::new();
    for job in ["done", "failed", "cancelled"] {
        fences.push(scene.claimed_job(job).await);
    }
    let (client, secret) = (scene.furnished("clients"), scene.furnished("secrets"));
    let lease = scene.furnished("leases");
    scene.fill(MINUTE_MS).await;

    let ask =
        json!({"client_id": client, "client_secret": secret, "grant_type": "client_credentials"});
    let signed_in = scene.app.post("/auth/token", &ask).send().await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.text());
    let token = text(&signed_in.json(), "/access_token");
    let refresh = json!({"refresh_token": text(&signed_in.json(), "/refresh_token")});
    let refreshed = scene.app.post("/auth/refresh", &refresh).send().await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text());
    let reads = ["model-selection", "aggregates?from=2026-01-15&to=2026-01-15"];
    for read in reads {
        let path = format!("{BY_APP}/apps/quiet/{read}");
        let reply = scene.app.get(&path).bearer(&token).send().await;
        assert_eq!(reply.status, 200, "{read}: {}", reply.text());
    }
    assert_eq!(scene.with_session(Method::GET, "/v1/session").await.send().await.status, 200);

    let settled = format!("/v1/namespaces/default/leases/{lease}/release");
    scene.post(&settled, &Value::Null).await;
    let beat = json!({"fence": fences[0]});
    scene.post(&format!("{JOBS}/done/heartbeat"), &beat).await;
    let result = json!({"fence": fences[0], "generator_code": "print(1)"});
    scene.post(&format!("{JOBS}/done/complete"), &result).await;
    let failure = json!({"fence": fences[1], "error_message": "no page"});
    scene.post(&format!("{JOBS}/failed/fail"), &failure).await;
    scene.post(&format!("{JOBS}/cancelled/cancel"), &Value::Null).await;

    // What ended is in the security log.
    let log = scene.done(Method::GET, "/v1/security-log", &Value::Null).await;
    assert_eq!(log["items"][0]["action"], "session_opened", "{log}");
}

#[tokio::test]
async fn keys_are_replaced_on_a_nearly_full_disk() {
    let scene = Scene::start(|settings| settings.auth.admin_key = None).await;
    let saved = || std::fs::read_to_string(scene.app.data().unwrap().join(ADMIN_KEY_FILE)).unwrap();
    let key = saved().trim().to_owned();
    scene.disk.set_free(7 * MIB);
    eventually_eq(503, async || scene.app.get("/readyz").send().await.status).await;
    let post = |path: &'static str, key: &str| {
        scene.app.request(Method::POST, path).header("x-api-key", key).send()
    };
    let rotated = post("/v1/admin-key/rotate", &key).await;
    assert_eq!(rotated.status, 200, "{}", rotated.text());
    let new = text(&rotated.json(), "/admin_key");
    assert_eq!(post("/v1/signing-key/rotate", &key).await.status, 401);
    assert_eq!(post("/v1/signing-key/rotate", &new).await.status, 200);
    let listed = scene.app.get("/v1/security-log").header("x-api-key", &new).send().await;
    let actions: Vec<String> = listed.json::<Value>()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| text(event, "/action"))
        .collect();
    for action in ["signing_key_rotated", "admin_key_rotated"] {
        assert!(actions.iter().any(|found| found == action), "{actions:?}");
    }
}

#[tokio::test]
async fn an_event_of_the_security_log_that_is_lost_is_counted() {
    let scene = Scene::start(|_| {}).await;
    let lost = async || {
        let text = scene.app.get("/metrics").admin().send().await.text();
        let line =
            text.lines().find_map(|line| line.strip_prefix("weir_security_events_lost_total "));
        line.unwrap().to_owned()
    };
    assert_eq!(lost().await, "0");
    scene.disk.set_full(true);
    let guess = scene.app.get("/v1/jobs").header("x-api-key", "wak_guess").send().await;
    guess.problem(Code::UNAUTHORIZED);
    assert_eq!(lost().await, "1");
}
