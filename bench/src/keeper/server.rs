//! `weir serve` with an org, an app, and a token of it.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use weir_table::clock::Clock;

use crate::child::Child;
use crate::load::Request;

/// Guards nothing: the server lives as long as a benchmark, on this machine, with made-up data.
const ADMIN_KEY: &str = "an-admin-key-for-benchmarks-only";
const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";
const APP: &str = "bench";
const JSON: &str = "content-type: application/json";
/// Where each request gets an id of its own.
const MARK: &str = "00000000-0000-4000-8000-000000000000";
/// A quota that is never reached.
const PLENTY: u64 = 1_000_000_000_000_000;

/// A server, and who asks it.
pub(super) struct Server {
    pub(super) child: Child,
    token: String,
    model: String,
}

impl Server {
    /// Starts `weir serve` as it comes, but for the rates of one client, which a load generator exceeds.
    pub(super) fn start(binary: &Path, data: &Path, scope: &str) -> Server {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env("WEIR_ADMIN_KEY", ADMIN_KEY)
            .env("WEIR_KEEPER_SELECTION_RATE", "0")
            .env("WEIR_KEEPER_SUBMISSION_RATE", "10000000")
            // A terminal is no part of what is measured.
            .stderr(Stdio::null());
        let child = Child::start(&mut command);
        let admin = [format!("x-api-key: {ADMIN_KEY}"), JSON.to_owned()];
        let ask = |method, path: &str, body: Value| -> Value {
            let told = child.ask(method, path, &admin, &body.to_string());
            serde_json::from_str(&told).expect("JSON")
        };
        let org = format!("/api/v1/orgs/{ORG}");
        let labels = ["premium", "standard", "economy"];
        let quotas: serde_json::Map<_, _> =
            labels.iter().map(|label| ((*label).to_owned(), json!(PLENTY))).collect();
        ask(
            "PUT",
            &org,
            json!({"org_name": "Bench", "timezone": "UTC", "quota_scope": scope,
            "model_ordering": labels, "quotas": quotas}),
        );
        let app = format!("{org}/apps/{APP}");
        let made = ask("PUT", &app, json!({"app_name": "Bench"}));
        let one_time = text(&made, "/credentials/secret_retrieval/token");
        let secret = format!("{app}/credentials/secret?token={one_time}");
        let secret: Value =
            serde_json::from_str(&child.ask("GET", &secret, &[], "")).expect("JSON");
        let tokens = ask(
            "POST",
            "/auth/token",
            json!({"grant_type": "client_credentials",
            "client_id": text(&secret, "/client_id"), "client_secret": text(&secret, "/client_secret")}),
        );
        let token = text(&tokens, "/access_token");
        let mut server = Server { child, token, model: String::new() };
        let (_, selected) = server.select();
        let selected: Value = serde_json::from_str(&selected).expect("JSON");
        server.model = text(&selected, "/recommended_model/bedrock_model_id");
        server
    }

    fn headers(&self) -> Vec<String> {
        vec![format!("authorization: Bearer {}", self.token), JSON.to_owned()]
    }

    fn path(&self, tail: &str) -> String {
        format!("/api/v1/orgs/{ORG}/apps/{APP}/{tail}")
    }

    /// Head and body of a selection.
    fn select(&self) -> (String, String) {
        self.child.exchange("GET", &self.path("model-selection"), &self.headers(), "")
    }

    /// The header that asks whether the selection is still the same.
    pub(super) fn etag(&self) -> String {
        let (head, _) = self.select();
        let of = |line: &str| Some(line.split_once(": ")?.1.to_owned());
        let is_etag = |line: &&str| line.to_ascii_lowercase().starts_with("etag:");
        let etag = head.lines().find(is_etag).and_then(of).expect("an ETag");
        format!("if-none-match: {etag}")
    }

    fn request(&self, method: &'static str, tail: &str) -> Request {
        let url = format!("{}{}", self.child.origin, self.path(tail));
        Request { method, url, headers: self.headers(), ..Request::default() }
    }

    pub(super) fn selection(&self, headers: &[String]) -> Request {
        let mut request = self.request("GET", "model-selection");
        request.headers.extend_from_slice(headers);
        request
    }

    fn body(&self, id: &str) -> Value {
        let now = i64::try_from(Clock::System.now_ms()).expect("a time");
        let now = weir_keeper::day::rfc3339(now);
        json!({"request_id": id, "model_label": "premium", "bedrock_model_id": self.model,
            "input_tokens": 1200, "output_tokens": 340, "status": "OK", "timestamp": now})
    }

    /// A submission, each time of another id.
    pub(super) fn submission(&self) -> Request {
        let bodies = vec![self.body(MARK).to_string()];
        Request { bodies, fresh_ids: true, ..self.request("POST", "costs") }
    }

    /// Batches of submissions, each time of other ids: the last digits of the mark number them.
    pub(super) fn batch(&self, size: usize) -> Request {
        let bodies: Vec<Value> = (0..size).map(|_| self.body(MARK)).collect();
        let bodies = vec![json!({ "requests": bodies }).to_string()];
        Request { bodies, fresh_ids: true, ..self.request("POST", "costs/batch") }
    }
}

/// A text in an answer.
fn text(of: &Value, path: &str) -> String {
    of.pointer(path).and_then(Value::as_str).expect("it is told").to_owned()
}
