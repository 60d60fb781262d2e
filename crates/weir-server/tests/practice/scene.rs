//! A server with practice, and helpers to call it.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::problem::Problem;
use weir_framework::testing::{Call, Reply, TestApp};
use weir_server::practice::{PracticeService, Settings};
use weir_table::{Item, Query};

pub(crate) const TABLE: &str = "algoitny_main";

pub(crate) struct Scene {
    pub(crate) app: TestApp,
}

impl Scene {
    pub(crate) async fn start() -> Scene {
        Scene::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Scene {
        Scene { app: TestApp::start(vec![Box::new(PracticeService::new(settings))]).await }
    }

    /// A request below `/v1/practice`, by the operator.
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

    /// A request with a body, which is left out if it is null.
    pub(crate) async fn send(&self, method: Method, tail: &str, body: &Value) -> Reply {
        let call = self.call(method, tail);
        if body.is_null() { call.send().await } else { call.json(body).send().await }
    }

    pub(crate) async fn post(&self, tail: &str, body: &Value) -> Reply {
        self.send(Method::POST, tail, body).await
    }

    /// The JSON of a successful change.
    pub(crate) async fn done(&self, method: Method, tail: &str, body: &Value) -> Value {
        let reply = self.send(method, tail, body).await;
        assert!(matches!(reply.status, 200 | 201), "{tail}: {}", reply.text());
        reply.json()
    }

    /// Creates a user on a plan; returns the id.
    pub(crate) async fn user(&self, name: &str, plan: u64) -> String {
        let email = format!("{name}@example.com");
        let body = json!({"email": email, "name": name, "plan_id": plan});
        let user = self.done(Method::POST, "users", &body).await;
        user["id"].as_str().unwrap().to_owned()
    }

    /// Takes an action of a user.
    pub(crate) async fn take(&self, user: &str, action: &str) -> Reply {
        self.post(&format!("users/{user}/usage"), &json!({"action": action})).await
    }

    /// Runs a job to its end.
    pub(crate) async fn run_job(&self, name: &str) -> Value {
        let reply = self.app.post(&format!("/v1/jobs/{name}/run"), &json!({})).admin().send().await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json()
    }

    /// Everything that the table holds, as text, without the rollups that a job writes meanwhile.
    pub(crate) async fn stored(&self) -> String {
        let found = self.app.store.query(&Query::scan(TABLE)).await.unwrap();
        assert!(found.cursor.is_none());
        let is_rollup = |item: &&Item| item.s("PK").unwrap().starts_with("ULOG_AGG");
        format!("{:?}", found.items.iter().filter(|item| !is_rollup(item)).collect::<Vec<_>>())
    }
}

pub(crate) fn path(tail: &str) -> String {
    format!("/v1/practice/{tail}")
}

/// The problem of a refusal with this code, which only practice has.
pub(crate) fn refused(reply: &Reply, status: u16, code: &str) -> Problem {
    let problem = reply.any_problem();
    assert_eq!((reply.status, problem.error.as_str()), (status, code), "{}", reply.text());
    problem
}

/// A field of each element of a list.
pub(crate) fn texts(list: &Value, field: &str) -> Vec<String> {
    let of = |element: &Value| element[field].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(of).collect()
}
