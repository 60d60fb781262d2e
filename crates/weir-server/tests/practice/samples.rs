//! Sample requests, and further helpers to send them.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::testing::Reply;
use weir_practice::Practice;
use weir_practice::ids::PlanId;
use weir_practice::objects::Objects;
use weir_practice::plans::{PlanFields, PlanLimit};
use weir_table::AnyBackend;

use crate::scene::{Scene, path, texts};

impl Scene {
    /// The JSON of a successful POST.
    pub(crate) async fn make(&self, tail: &str, body: &Value) -> Value {
        self.done(Method::POST, tail, body).await
    }

    pub(crate) async fn patch(&self, tail: &str, body: &Value) -> Reply {
        self.send(Method::PATCH, tail, body).await
    }

    pub(crate) async fn put(&self, tail: &str, body: &Value) -> Reply {
        self.send(Method::PUT, tail, body).await
    }

    pub(crate) async fn delete(&self, tail: &str) -> Reply {
        self.send(Method::DELETE, tail, &Value::Null).await
    }

    /// A field of each item on a page.
    pub(crate) async fn listed(&self, tail: &str, field: &str) -> Vec<String> {
        texts(&self.read(tail).await["items"], field)
    }

    /// A request with a token; without a body if it is null.
    pub(crate) async fn by(&self, token: &str, method: Method, tail: &str, body: &Value) -> Reply {
        let call = self.app.request(method, &path(tail)).bearer(token);
        if body.is_null() { call.send().await } else { call.json(body).send().await }
    }

    /// The domain on the store of the server.
    pub(crate) fn practice(&self) -> Practice<AnyBackend> {
        let (store, clock) = (self.app.store.clone(), self.app.clock.clone());
        let settings = weir_practice::Settings::default();
        Practice::new(store, Objects::unavailable(), clock, settings).unwrap()
    }

    /// Creates a plan that shows users only their own problems, of which they may have `max_problems`.
    pub(crate) async fn narrow_plan(&self, max_problems: u32) -> u64 {
        let practice = self.practice();
        let pro = practice.plan(PlanId::PRO).await.unwrap().fields;
        let (name, max_problems) = ("Narrow".to_owned(), PlanLimit::AtMost(max_problems));
        let fields = PlanFields { name, max_problems, can_view_all_problems: false, ..pro };
        practice.create_plan(fields, "test").await.unwrap().id.get()
    }
}

/// A problem to create.
pub(crate) fn problem(id: &str) -> Value {
    json!({"platform": "baekjoon", "problem_id": id, "title": "A+B",
        "problem_url": "https://www.acmicpc.net/problem/1000", "tags": ["math", "easy"],
        "solution_code": "print(sum(map(int, input().split())))", "language": "python",
        "constraints": "0 < A, B < 10", "metadata": {"difficulty": "bronze", "level": 5},
        "test_cases": [{"input": "1 2", "output": "3", "sample": true},
            {"input": "4 5", "output": "9"}]})
}

/// A job to submit for script generation.
pub(crate) fn script_job() -> Value {
    json!({"platform": "baekjoon", "problem_id": "1000", "title": "A+B", "tags": ["math"],
        "language": "python", "solution_code": "print(1)", "constraints": "none",
        "celery_task_id": "task-1"})
}

/// A run to record.
pub(crate) fn run() -> Value {
    json!({"user_identifier": "ann", "problem_id": "7", "platform": "baekjoon",
        "problem_number": "1000", "problem_title": "A+B", "language": "python",
        "code": "print(3)", "result_summary": {"time_ms": 12}, "passed_count": 1,
        "failed_count": 1, "total_count": 2, "test_results": [{"ok": true}, {"ok": false}],
        "hints": ["read the input"], "metadata": {"client": "web"}})
}
