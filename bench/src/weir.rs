//! `weir serve`, and requests to it that several benchmarks share.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::child::Child;
use crate::load::Request;
use crate::pinning::Pinning;

/// Protects nothing: the server runs as long as a benchmark, on this machine, with made-up data.
const ADMIN_KEY: &str = "an-admin-key-for-benchmarks-only";
pub(crate) const JSON: &str = "content-type: application/json";

/// Starts `weir serve` with its default settings on the embedded store, plus `settings` from the
/// environment.
pub(crate) fn start(
    pinning: Pinning,
    binary: &Path,
    data: &Path,
    settings: &[(&str, &str)],
) -> Child {
    let mut command = pinning.server(binary);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .env("WEIR_ADMIN_KEY", ADMIN_KEY)
        .envs(settings.iter().copied())
        // Writing to a terminal is not what the benchmark measures.
        .stderr(Stdio::null());
    Child::start(&mut command)
}

/// Headers of a request with a JSON body that the admin key authorizes.
pub(crate) fn admin_headers() -> Vec<String> {
    vec![format!("x-api-key: {ADMIN_KEY}"), JSON.to_owned()]
}

/// Sends a request with the admin key and returns the JSON of the response.
pub(crate) fn admin(server: &Child, method: &str, path: &str, body: &Value) -> Value {
    let response = server.send(method, path, &admin_headers(), &body.to_string());
    serde_json::from_str(&response).expect("JSON")
}

/// Sets the limits of a resource by name and capacity; each refills completely in `period_secs`.
pub(crate) fn set_limits(server: &Child, resource: &str, limits: &[(&str, u64)], period_secs: u64) {
    let limit = |(name, capacity): &(&str, u64)| {
        json!({"name": name, "capacity": capacity, "refill_amount": capacity,
            "refill_period_seconds": period_secs})
    };
    let limits: Vec<Value> = limits.iter().map(limit).collect();
    let path = format!("/v1/namespaces/default/limits/resources/{resource}");
    admin(server, "PUT", &path, &json!({ "limits": limits }));
}

/// Acquires for `users` different entities.
pub(crate) fn acquire(
    server: &Child,
    users: usize,
    resource: &str,
    consume: &[(&str, u64)],
) -> Request {
    let consume: serde_json::Map<_, _> =
        consume.iter().map(|(limit, amount)| ((*limit).to_owned(), json!(amount))).collect();
    let body = |user| {
        let body =
            json!({"entity": format!("user-{user}"), "resource": resource, "consume": consume});
        body.to_string()
    };
    Request {
        method: "POST",
        url: format!("{}/v1/namespaces/default/acquire", server.origin),
        headers: admin_headers(),
        bodies: (0..users).map(body).collect(),
        ..Request::default()
    }
}

/// The string at a JSON pointer.
pub(crate) fn text(value: &Value, pointer: &str) -> String {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{value} has no string {pointer}")).to_owned()
}
