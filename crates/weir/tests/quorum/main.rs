//! Readers that know the layout of the reviews' table query it without Weir, and find what the API returns.
//!
//! `examples.md` has the queries of the document that describes the table, unchanged. They run with boto3 on a table that a
//! server wrote on DynamoDB Local. Two things are to be known about them:
//! - Bounds like `2025-01-01T00:00:00Z` leave out the first second of a range: keys have milliseconds, and
//!   `…00:00:00.000Z` sorts before `…00:00:00Z`. So the upper bound `…23:59:59Z` has the whole last second.
//! - The query by category returns findings and consensus items; the list of the API has the findings only.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "these are tests, their helpers included"
)]

#[expect(dead_code, reason = "nothing is killed here")]
#[path = "../exact/instance.rs"]
mod instance;
#[expect(dead_code, reason = "nothing is asked of a namespace here")]
#[path = "../exact/wire.rs"]
mod wire;

use std::path::Path;
use std::process::Command;

use axum::http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::instance::Instance;
use crate::wire::{Answer, Wire};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/quorum");
/// Retention counts from the time of a review, and these are old.
const CONFIG: &str = "[reviews]\nreview_days = 3650\ncost_days = 3650\nrollup_days = 3650\n";

const REVIEW: &[&str] = &[
    "review_id",
    "pr_number",
    "pr_title",
    "pr_url",
    "models_used",
    "total_findings",
    "consensus_findings",
    "status",
    "total_cost_usd",
    "created_at",
];
const RESPONSE: &[&str] = &[
    "model_id",
    "findings_count",
    "input_tokens",
    "output_tokens",
    "latency_ms",
    "cost_usd",
    "status",
];
const FINDING: &[&str] = &[
    "review_id",
    "finding_id",
    "model_id",
    "severity",
    "category",
    "file_path",
    "line_start",
    "line_end",
    "title",
    "description",
    "suggestion",
    "in_consensus",
    "created_at",
];
const CONSENSUS: &[&str] = &[
    "review_id",
    "consensus_id",
    "agreeing_models",
    "agreement_count",
    "severity",
    "category",
    "file_path",
    "merged_description",
    "finding_ids",
    "created_at",
];

/// A server on a table of its own.
struct Server {
    runtime: tokio::runtime::Runtime,
    folder: TempDir,
    prefix: String,
    _instance: Instance,
}

impl Server {
    fn start() -> Server {
        let (folder, prefix) =
            (tempfile::tempdir().unwrap(), weir_testkit::unique_prefix("quorum"));
        std::fs::write(folder.path().join("weir.toml"), CONFIG).unwrap();
        let endpoint = weir_testkit::dynamo_local_endpoint().unwrap();
        let flags = ["--store", "dynamodb", "--dynamodb-endpoint"];
        let flags = flags.into_iter().chain([endpoint, "--table-prefix", &prefix]);
        let flags: Vec<String> = flags.map(ToOwned::to_owned).collect();
        let instance = Instance::start(folder.path(), &flags, &folder.path().join("address"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Server { runtime, folder, prefix, _instance: instance }
    }

    #[track_caller]
    fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let address = std::fs::read_to_string(self.folder.path().join("address")).unwrap();
        let path = format!("/v1/reviews{path}");
        let answer = self.runtime.block_on(async {
            Wire::connect(&address).await.unwrap().call(method, &path, None, body).await
        });
        match answer {
            Answer::Response(200..=299, response) => response,
            other => panic!("{path}: {other:?}"),
        }
    }

    /// A list of the API, which fits on one page.
    #[track_caller]
    fn list(&self, path: &str) -> Vec<Value> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let page = self.call(Method::GET, &format!("{path}{separator}limit=100"), None);
        assert_eq!(page["next_cursor"], Value::Null);
        page["items"].as_array().unwrap().clone()
    }

    /// Runs the examples, and returns what each found.
    fn examples(&self) -> Vec<Value> {
        let bin = weir_testkit::installed("python/bin").unwrap();
        let output = Command::new(bin.join("python"))
            .arg(Path::new(FOLDER).join("examples.py"))
            .arg(weir_testkit::dynamo_local_endpoint().unwrap())
            .arg(format!("{}quorum-metrics-dev", self.prefix))
            .arg(Path::new(FOLDER).join("examples.md"))
            .envs(weir_testkit::dynamo_local_environment())
            .env("TZ", "UTC")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A review as the document has it: three or four models, some of which agree.
fn review(id: &str, repo: &str, at: &str) -> Value {
    let finding = |number: u32, severity: &str, category: &str, said: &str| {
        json!({"finding_id": format!("finding-{number:03}"), "severity": severity,
            "category": category, "file_path": "src/auth/login.py", "line_start": 45 + number * 100,
            "line_end": 52 + number * 100, "title": format!("SQL injection in `query_{number}`"),
            "description": format!("User input reaches `query_{number}` {said}"),
            "suggestion": "Use parameterized queries"})
    };
    let response = |model: &str, latency: u32, cost: &str, findings: Value| {
        json!({"model_id": model, "status": "success", "input_tokens": 15_420,
            "output_tokens": 2_340, "latency_ms": latency, "cost_usd": cost, "findings": findings})
    };
    let findings = |said: &str| {
        json!([finding(1, "high", "security", said), finding(2, "low", "style", said)])
    };
    json!({"review_id": id, "owner": "owner", "repo": repo, "pr_number": 123,
    "pr_title": "Add new feature", "pr_url": "https://github.com/owner/repo/pull/123",
    "created_at": at, "responses": [
        response("anthropic.claude-3-sonnet", 11_000, "0.0101", findings("directly")),
        response("claude-3-sonnet", 12_500, "0.0089", findings("without a check")),
        response("gpt-4", 9_001, "0.02", findings("unescaped")),
        response("llama-70b", 700, "0.000001", json!([finding(3, "medium", "security", "raw")])),
    ]})
}

/// Reviews of January 2025, at the edges of the ranges of the examples too.
fn record(server: &Server) {
    for (id, repo, at) in [
        ("uuid-v4", "repo", "2025-01-15T10:30:00Z"),
        ("same-day", "repo", "2025-01-15T23:59:59.999Z"),
        ("other-repo", "other", "2025-01-15T00:00:00Z"),
        ("first-second", "repo", "2025-01-01T00:00:00.999Z"),
        ("next-second", "repo", "2025-01-01T00:00:01Z"),
        ("last-second", "repo", "2025-01-31T23:59:59.999Z"),
        ("later", "repo", "2025-02-01T00:00:00Z"),
        ("eighth", "repo", "2025-01-08T00:00:00Z"),
    ] {
        server.call(Method::POST, "", Some(&review(id, repo, at)));
    }
}

/// Asserts that items of the table and entries of a list of the API are the same, in the same order.
#[track_caller]
fn assert_same(items: &[Value], entries: &[Value], fields: &[&str]) {
    let only = |all: &[Value]| -> Vec<Vec<Value>> {
        let value = |one: &Value, name: &str| {
            let value = plain(&one[name]);
            if name.ends_with("_usd") { dollars(&value) } else { value }
        };
        all.iter().map(|one| fields.iter().map(|name| value(one, name)).collect()).collect()
    };
    assert!(!items.is_empty());
    assert_eq!(only(items), only(entries));
}

/// Numbers of DynamoDB come as text.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.to_string().into(),
        Value::Array(values) => values.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// The API writes six decimals, DynamoDB as few as there are.
fn dollars(value: &Value) -> Value {
    value.as_str().unwrap().trim_end_matches('0').trim_end_matches('.').into()
}

fn items(example: &Value, query: usize) -> Vec<Value> {
    example["queries"][query].as_array().unwrap().clone()
}

/// The oldest first, as queries return them without `ScanIndexForward=False`.
fn reversed(mut entries: Vec<Value>) -> Vec<Value> {
    entries.reverse();
    entries
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["review_id"].as_str().unwrap()).collect()
}

#[test]
fn documented_queries_return_what_the_api_returns_dynamodb_local() {
    let server = Server::start();
    record(&server);
    let examples = server.examples();
    let [repo, responses, claude, compare, date, recent, high, security, ttl] = &examples[..]
    else {
        panic!("{} examples", examples.len());
    };

    assert_same(&items(repo, 0), &server.list("/repos/owner/repo"), REVIEW);
    assert_same(&items(responses, 0), &server.list("/uuid-v4/responses"), RESPONSE);
    let entries = server.list("/models/anthropic.claude-3-sonnet");
    assert_same(&items(claude, 0), &entries, RESPONSE);
    check_metrics(&claude["variables"], &entries);

    // The first second is left out, the last one is not.
    for (query, model) in ["claude-3-sonnet", "gpt-4", "llama-70b"].into_iter().enumerate() {
        let range = "from=2025-01-01T00:00:01Z&to=2025-02-01T00:00:00Z";
        let entries = reversed(server.list(&format!("/models/{model}?{range}")));
        assert_same(&items(compare, query), &entries, RESPONSE);
        let found = items(compare, query);
        assert_eq!(ids(&found).first(), Some(&"next-second"));
        assert_eq!(ids(&found).last(), Some(&"last-second"));
    }

    let entries = reversed(server.list("/dates/2025-01-15"));
    assert_same(&items(date, 0), &entries, REVIEW);
    assert_eq!(ids(&items(date, 0)), ["other-repo", "uuid-v4", "same-day"]);

    let entries = reversed(server.list("?from=2025-01-08T00:00:01Z"));
    assert_same(&items(recent, 0), &entries, REVIEW);
    assert!(!ids(&items(recent, 0)).contains(&"eighth"), "its first second is left out");

    let entries = reversed(server.list("/findings?severity=high"));
    assert_same(&items(high, 0), &entries, FINDING);
    check_security(&server, &items(security, 0));
    check_ttl(ttl, &items(repo, 0));
}

/// The sums of the example are those of the list of the API.
fn check_metrics(variables: &Value, entries: &[Value]) {
    let number = |value: &Value| -> f64 {
        value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
    };
    let sum = |name: &str| entries.iter().map(|entry| number(&entry[name])).sum::<f64>();
    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    let mean = sum("latency_ms") / entries.len() as f64;
    for (name, expected) in [
        ("total_findings", sum("findings_count")),
        ("avg_latency", mean),
        ("total_cost", sum("cost_usd")),
    ] {
        assert!((number(&variables[name]) - expected).abs() < 1e-9, "{name}: {variables}");
    }
}

/// The category has findings and consensus items.
fn check_security(server: &Server, found: &[Value]) {
    let range = "from=2025-01-01T00:00:01Z&to=2025-02-01T00:00:00Z";
    let of = |kind: &str| -> Vec<Value> {
        found.iter().filter(|item| item["entity_type"] == kind).cloned().collect()
    };
    let entries = reversed(server.list(&format!("/findings?category=security&{range}")));
    assert_same(&of("FINDING"), &entries, FINDING);
    let mut entries = reversed(server.list(&format!("/consensus?{range}")));
    entries.retain(|entry| entry["category"] == "security");
    assert_same(&of("CONSENSUS"), &entries, CONSENSUS);
    assert_eq!(of("FINDING").len() + of("CONSENSUS").len(), found.len());
}

/// The example counts from now, Weir from the time of the review: then recording late does not prolong the retention.
fn check_ttl(example: &Value, reviews: &[Value]) {
    let in_90_days = example["item"]["ttl"].as_i64().unwrap();
    let now = i64::try_from(weir_table::clock::Clock::System.now_ms() / 1000).unwrap();
    assert!((in_90_days - now - 90 * 86_400).abs() < 600, "{in_90_days}");
    let found = reviews.iter().find(|item| item["review_id"] == "uuid-v4").unwrap();
    let created_at_s = 1_736_937_000;
    assert_eq!(found["ttl"], (created_at_s + 3_650 * 86_400).to_string());
}
