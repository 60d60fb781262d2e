//! Users of practice and workers on its jobs, in several processes: limits, sign-ups and claims are exact.

mod sign_ups;
mod usage;
mod workers;

use std::path::PathBuf;

use axum::http::Method;
use serde_json::{Value, json};

use crate::ground::Ground;

const PRACTICE: &str = "/v1/practice";

/// Asks the first server something that must succeed.
fn call(ground: &Ground, method: Method, path: &str, body: Option<&Value>) -> Value {
    ground.call(method, &format!("{PRACTICE}{path}"), body)
}

/// All entries of a list.
fn list(ground: &Ground, path: &str) -> Vec<Value> {
    let mut client = crate::patient::Client::new(&ground.address_files(), 0);
    ground.runtime.block_on(client.list(&format!("{PRACTICE}{path}")))
}

/// A user of a new plan with this limit for hints and executions. Returns the id.
fn sign_up(ground: &Ground, limit: u64) -> String {
    let plan = json!({"name": format!("At most {limit}"), "max_hints_per_day": limit,
        "max_executions_per_day": limit});
    let plan = call(ground, Method::POST, "/plans", Some(&plan));
    let user = json!({"email": "ann@example.com", "name": "Ann", "plan_id": plan["id"]});
    let user = call(ground, Method::POST, "/users", Some(&user));
    user["id"].as_str().unwrap().to_owned()
}

/// The address files of servers for a process of clients: each process begins with another server.
fn address_files_of(ground: &Ground, process: usize) -> Vec<PathBuf> {
    let mut address_files = ground.address_files();
    let first = process % address_files.len();
    address_files.rotate_left(first);
    address_files
}
