//! The servers that Weir is compared with.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::http::{DAY_SECS, FEW, GRANTED_ONE, GRANTED_TWO, KEYS, MINUTE_SECS, PLENTY, REFUSED};
use crate::child::{Child, free_port};
use crate::compare::{Case, Contender};
use crate::load::{Request, RespCommand, output};
use crate::pinning::Pinning;

const TOKEN_BUCKET: &str = include_str!("token_bucket.lua");

/// The peers, throttlecrab first because it is the baseline.
pub(super) fn all<'a>(pinning: Pinning) -> Vec<Contender<'a>> {
    for peer in ["throttlecrab-server", "redis-server"] {
        println!("{}", output(Command::new(peer).arg("--version")).trim());
    }
    let redis = |name, log| Contender {
        name,
        start: Box::new(move |data: &Path| redis(pinning, data, log)),
    };
    vec![
        Contender { name: "throttlecrab", start: Box::new(move |_| throttlecrab(pinning)) },
        redis("Redis", "no"),
        redis("Redis AOF", "yes"),
    ]
}

/// Starts throttlecrab-server with its default settings, over HTTP and RESP.
fn throttlecrab(pinning: Pinning) -> (Child, Vec<Case>) {
    let (http_port, resp_port) = (free_port(), free_port());
    let mut command = pinning.server("throttlecrab-server");
    command
        .args(["--http", "--http-host", "127.0.0.1", "--http-port", &http_port.to_string()])
        .args(["--redis", "--redis-host", "127.0.0.1", "--redis-port", &resp_port.to_string()]);
    let server = Child::start_on(&mut command, http_port);
    let granted = throttle(&server, "granted", PLENTY, MINUTE_SECS);
    let refused = throttle(&server, "refused", FEW, DAY_SECS);
    // Its status is 200 for a refusal too, so the outcome is checked here.
    assert!(sends_allowed(&server, &granted), "throttlecrab grants");
    (0..FEW).for_each(|_| server.warm_up(&refused));
    assert!(!sends_allowed(&server, &refused), "throttlecrab refuses");
    let (plenty, minute) = (PLENTY.to_string(), MINUTE_SECS.to_string());
    let words = ["THROTTLE", "user-__rand_int__", &plenty, &plenty, &minute, "1"];
    let cases = vec![
        Case::http(GRANTED_ONE, granted),
        Case::http(REFUSED, refused),
        resp_case(GRANTED_ONE, resp_port, &words),
    ];
    (server, cases)
}

fn throttle(server: &Child, prefix: &str, capacity: u64, period_secs: u64) -> Request {
    let body = |key| {
        let body = json!({"key": format!("{prefix}-{key}"), "max_burst": capacity,
            "count_per_period": capacity, "period": period_secs, "quantity": 1});
        body.to_string()
    };
    Request {
        method: "POST",
        url: format!("{}/throttle", server.origin),
        headers: vec![crate::weir::JSON.to_owned()],
        bodies: (0..KEYS).map(body).collect(),
        ..Request::default()
    }
}

fn sends_allowed(server: &Child, request: &Request) -> bool {
    let body = request.bodies.first().expect("a body");
    let response = server.send("POST", "/throttle", &request.headers, body);
    response.contains("\"allowed\":true")
}

/// Starts Redis without snapshots and loads the token bucket.
fn redis(pinning: Pinning, data: &Path, log: &str) -> (Child, Vec<Case>) {
    let port = free_port();
    let mut command = pinning.server("redis-server");
    command
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
        .args(["--appendonly", log, "--appendfsync", "everysec", "--dir"])
        .arg(data);
    let server = Child::start_on(&mut command, port);
    let mut load = Command::new("redis-cli");
    load.args(["-p", &port.to_string(), "SCRIPT", "LOAD", TOKEN_BUCKET]);
    let script = output(&mut load).trim().to_owned();
    let case = |name, amounts: &[&str]| {
        let (plenty, minute_ms) = (PLENTY.to_string(), (MINUTE_SECS * 1000).to_string());
        let key = format!("{}:user-__rand_int__", amounts.len());
        let mut words = vec!["EVALSHA", script.as_str(), "1", &key];
        for amount in amounts {
            words.extend([amount, plenty.as_str(), &plenty, &minute_ms]);
        }
        resp_case(name, port, &words)
    };
    let cases = vec![case(GRANTED_ONE, &["1"]), case(GRANTED_TWO, &["1", "100"])];
    (server, cases)
}

fn resp_case(name: &'static str, port: u16, words: &[&str]) -> Case {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Case::resp(name, RespCommand { port, words, keys: KEYS }).against(GRANTED_ONE)
}
