//! A server with limits, and helpers to call it.

use axum::http::Method;
use serde_json::{Value, json};
use weir_framework::testing::{Call, Reply, TestApp};
use weir_server::limiter::LimiterService;

pub(crate) struct Scene {
    pub(crate) app: TestApp,
}

impl Scene {
    pub(crate) async fn start() -> Scene {
        Scene { app: TestApp::start(vec![Box::new(LimiterService::default())]).await }
    }

    /// A server whose system limits are 100 requests and 10 000 tokens a minute.
    pub(crate) async fn with_limits() -> Scene {
        let scene = Scene::start().await;
        scene.set_limits().await;
        scene
    }

    /// Sets the system limits to 100 requests and 10 000 tokens a minute.
    pub(crate) async fn set_limits(&self) {
        let limits = json!({"limits": [minutely("rpm", 100), minutely("tpm", 10_000)]});
        assert_eq!(self.put("limits/system", &limits).await.status, 201);
    }

    /// A request in the namespace `default`, by the operator.
    pub(crate) fn call(&self, method: Method, tail: &str) -> Call {
        self.app.request(method, &path(tail)).admin()
    }

    pub(crate) async fn get(&self, tail: &str) -> Reply {
        self.call(Method::GET, tail).send().await
    }

    pub(crate) async fn put(&self, tail: &str, body: &Value) -> Reply {
        self.call(Method::PUT, tail).json(body).send().await
    }

    pub(crate) async fn post(&self, tail: &str, body: &Value) -> Reply {
        self.call(Method::POST, tail).json(body).send().await
    }

    /// Posts without a body.
    pub(crate) async fn post_empty(&self, tail: &str) -> Reply {
        self.call(Method::POST, tail).send().await
    }

    pub(crate) async fn delete(&self, tail: &str) -> Reply {
        self.call(Method::DELETE, tail).send().await
    }

    /// Takes `consume` for `user` on `gpt-4`.
    pub(crate) async fn acquire(&self, consume: Value) -> Reply {
        let request = json!({"entity": "user", "resource": "gpt-4", "consume": consume});
        self.post("acquire", &request).await
    }

    /// The lease of a granted acquire.
    pub(crate) async fn lease(&self, consume: Value) -> String {
        let reply = self.acquire(consume).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply.json::<Value>()["lease"].as_str().unwrap().to_owned()
    }

    /// Tokens of each limit available to `entity` on `gpt-4`.
    pub(crate) async fn available_to(&self, entity: &str) -> Vec<(String, i64)> {
        let reply = self.get(&format!("availability?entity={entity}&resource=gpt-4")).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let body: Value = reply.json();
        let limits = body["limits"].as_array().unwrap().iter();
        let own = limits.filter(|limit| limit["entity"] == entity);
        own.map(|limit| {
            (limit["name"].as_str().unwrap().to_owned(), limit["available"].as_i64().unwrap())
        })
        .collect()
    }

    /// Tokens of `rpm` available to `user` on `gpt-4`.
    pub(crate) async fn requests_left(&self) -> i64 {
        let available = self.available_to("user").await;
        available.iter().find(|(name, _)| name == "rpm").unwrap().1
    }
}

pub(crate) fn path(tail: &str) -> String {
    format!("/v1/namespaces/default/{tail}")
}

/// A limit of `amount` a minute.
pub(crate) fn minutely(name: &str, amount: u64) -> Value {
    json!({"name": name, "capacity": amount, "refill_amount": amount, "refill_period_seconds": 60})
}
