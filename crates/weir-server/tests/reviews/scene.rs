//! A server with reviews, and helpers to call it.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::testing::{Call, Reply, TestApp};
use weir_server::reviews::ReviewsService;
use weir_table::{Item, Query};

pub(crate) const TABLE: &str = "quorum-metrics-dev";

pub(crate) struct Scene {
    pub(crate) app: TestApp,
}

impl Scene {
    pub(crate) async fn start() -> Scene {
        Scene { app: TestApp::start(vec![Box::new(ReviewsService::default())]).await }
    }

    /// A request below `/v1/reviews`, by the operator.
    pub(crate) fn call(&self, method: Method, tail: &str) -> Call {
        self.app.request(method, &path(tail)).admin()
    }

    pub(crate) async fn get(&self, tail: &str) -> Reply {
        self.call(Method::GET, tail).send().await
    }

    /// The JSON of a successful read.
    pub(crate) async fn read(&self, tail: &str) -> Value {
        let reply = self.get(tail).await;
        assert_eq!(reply.status, 200, "{tail}: {}", reply.text());
        reply.json()
    }

    /// The ids of the reviews on a page.
    pub(crate) async fn ids(&self, tail: &str) -> Vec<String> {
        texts(&self.read(tail).await["items"], "review_id")
    }

    pub(crate) async fn post(&self, tail: &str, body: &Value) -> Reply {
        self.call(Method::POST, tail).json(body).send().await
    }

    pub(crate) async fn put(&self, tail: &str, body: &Value) -> Reply {
        self.call(Method::PUT, tail).json(body).send().await
    }

    pub(crate) async fn delete(&self, tail: &str) -> Reply {
        self.call(Method::DELETE, tail).send().await
    }

    /// Records a review.
    pub(crate) async fn record(&self, body: &Value) -> Value {
        let reply = self.post("", body).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()
    }

    /// Runs a job to its end.
    pub(crate) async fn run_job(&self, name: &str) -> Value {
        let reply = self.app.post(&format!("/v1/jobs/{name}/run"), &json!({})).admin().send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    }

    /// Everything that the table holds of reviews, as text. Jobs run meanwhile, so their own items are left out.
    pub(crate) async fn stored(&self) -> String {
        let found = self.app.store.query(&Query::scan(TABLE)).await.unwrap();
        assert!(found.cursor.is_none());
        let is_of_job = |item: &&Item| {
            let partition = item.s("PK").unwrap();
            partition.starts_with("ROLLUP") || partition == "RAWSWEEP"
        };
        format!("{:?}", found.items.iter().filter(|item| !is_of_job(item)).collect::<Vec<_>>())
    }
}

pub(crate) fn path(tail: &str) -> String {
    match tail {
        "" => "/v1/reviews".to_owned(),
        tail if tail.starts_with('?') => format!("/v1/reviews{tail}"),
        tail => format!("/v1/reviews/{tail}"),
    }
}

/// A field of each element of a list.
pub(crate) fn texts(list: &Value, field: &str) -> Vec<String> {
    let of = |element: &Value| element[field].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(of).collect()
}

/// A review of two models that agree on one of their findings.
pub(crate) fn review(id: &str) -> Value {
    let mut only = finding("2");
    only["file_path"] = json!("src/other.py");
    only["severity"] = json!("low");
    only["category"] = Value::Null;
    json!({"review_id": id, "owner": "acme", "repo": "weir", "pr_number": 7, "pr_title": "Add a thing",
        "pr_url": "https://example.test/acme/weir/pull/7", "files": ["src/login.py", "src/other.py"],
        "requested_by": "octocat", "created_at": "2026-01-15T11:00:00Z",
        "responses": [response("claude-sonnet", vec![finding("1"), only]),
            response("meta/llama-3", vec![finding("1")])]})
}

/// The response of a model.
pub(crate) fn response(model: &str, findings: Vec<Value>) -> Value {
    json!({"model_id": model, "status": "success", "input_tokens": 15_420, "output_tokens": 2_340,
        "latency_ms": 12_500, "cost_usd": "0.0089", "findings": findings})
}

pub(crate) fn finding(id: &str) -> Value {
    json!({"finding_id": id, "severity": "high", "category": "security", "file_path": "src/login.py",
        "line_start": 45, "line_end": 52, "title": "SQL injection in `login`",
        "description": "User input is concatenated into the SQL query of `login`.",
        "suggestion": "Use a parameterized query."})
}
