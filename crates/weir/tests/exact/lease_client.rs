//! What a client does with a lease: adjusts it, releases part of it and ends it, each call under a key and made twice.

use serde_json::{Value, json};

use crate::client::{Task, pause};
use crate::wire::Answer;

/// How often a call is made until it is answered: servers that were killed take a while to come back.
const TRIES_MAX: u32 = 10_000;

/// Settles a lease in some way, and returns what it holds in the end.
pub(crate) async fn settle(task: &mut Task, lease: &str) -> i64 {
    let taken = task.plan.consume["tpm"].as_i64().unwrap();
    let mut net = taken;
    for number in 0..fastrand::u32(..3) {
        let by = [2, -1, 5, -2][fastrand::usize(..4)];
        let (verb, body) = if by < 0 && fastrand::bool() {
            ("release", json!({"release": {"tpm": -by}}))
        } else {
            ("adjust", json!({"adjust": {"tpm": by}}))
        };
        if net + by < 0 {
            continue;
        }
        net += by;
        let response = twice(task, lease, verb, number, &body).await;
        assert_eq!(
            (&response["state"], &response["net"]["tpm"]),
            (&json!("open"), &json!(net)),
            "{response}"
        );
    }
    let (verb, kept) = [("commit", net), ("rollback", 0), ("release", 0)][fastrand::usize(..3)];
    let response = twice(task, lease, verb, u32::MAX, &json!({})).await;
    assert_eq!(response["net"]["tpm"], kept, "{verb}: {response}");
    kept
}

/// Makes a call and makes it again, of another server if there is one: it counts once, and is answered the same.
async fn twice(task: &mut Task, lease: &str, verb: &str, number: u32, body: &Value) -> Value {
    let first = answered(task, lease, verb, number, body).await;
    if fastrand::bool() {
        task.next_server();
    }
    let again = answered(task, lease, verb, number, body).await;
    assert_eq!(first, again, "{verb} {body}");
    again
}

/// Makes a call until it is answered.
async fn answered(task: &mut Task, lease: &str, verb: &str, number: u32, body: &Value) -> Value {
    let (tail, key) = (format!("leases/{lease}/{verb}"), format!("call-{number}"));
    let body = (verb == "adjust" || verb == "release").then_some(body);
    for _ in 0..TRIES_MAX {
        match task.ask(&tail, Some(&key), body).await {
            Answer::Response(200, response) => {
                task.counts.settles += 1;
                return response;
            }
            Answer::Response(503, _) => task.counts.contended += 1,
            Answer::Response(status, response) => panic!("{verb} {body:?}: {status} {response}"),
            Answer::Lost | Answer::Unsent => task.next_server(),
        }
        pause().await;
    }
    panic!("{verb} was never answered");
}
