//! The servers that are measured: Weir's, and its peers.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::child::{Child, free_port};
use crate::load::output;

/// Guards nothing: the server lives as long as a benchmark, on this machine, with made-up data.
pub(super) const ADMIN_KEY: &str = "an-admin-key-for-benchmarks-only";
const TOKEN_BUCKET: &str = include_str!("token_bucket.lua");

/// Which peers these are.
pub(super) fn print_versions() {
    for peer in ["throttlecrab-server", "redis-server"] {
        println!("{}", output(Command::new(peer).arg("--version")).trim());
    }
}

/// Starts `weir serve` on an empty embedded store, as it comes.
pub(super) fn weir(binary: &Path, data: &Path) -> Child {
    let mut command = Command::new(binary);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .env("WEIR_ADMIN_KEY", ADMIN_KEY)
        // A terminal is no part of what is measured.
        .stderr(Stdio::null());
    Child::start(&mut command)
}

/// What Weir wants to see with every request.
pub(super) fn weir_headers() -> Vec<String> {
    vec![format!("x-api-key: {ADMIN_KEY}"), "content-type: application/json".to_owned()]
}

/// Sets the limits of a resource: name and capacity, refilled whole in `period_secs`.
pub(super) fn set_limits(weir: &Child, resource: &str, limits: &[(&str, u64)], period_secs: u64) {
    let limit = |(name, capacity): &(&str, u64)| {
        json!({"name": name, "capacity": capacity, "refill_amount": capacity,
            "refill_period_seconds": period_secs})
    };
    let limits: Vec<Value> = limits.iter().map(limit).collect();
    let path = format!("/v1/namespaces/default/limits/resources/{resource}");
    weir.ask("PUT", &path, &weir_headers(), &json!({ "limits": limits }).to_string());
}

/// throttlecrab-server as it comes, over HTTP and over Redis' protocol.
pub(super) struct Throttlecrab {
    pub(super) child: Child,
    pub(super) resp_port: u16,
}

impl Throttlecrab {
    pub(super) fn start() -> Throttlecrab {
        let (http_port, resp_port) = (free_port(), free_port());
        let mut command = Command::new("throttlecrab-server");
        command
            .args(["--http", "--http-host", "127.0.0.1", "--http-port", &http_port.to_string()])
            .args(["--redis", "--redis-host", "127.0.0.1", "--redis-port", &resp_port.to_string()]);
        Throttlecrab { child: Child::start_on(&mut command, http_port), resp_port }
    }

    /// Requests it has refused so far; over HTTP it answers these with 200 too.
    pub(super) fn refused(&self) -> u64 {
        let metrics = self.child.ask("GET", "/metrics", &[], "");
        let value = |line: &str| line.strip_prefix("throttlecrab_requests_denied ")?.parse().ok();
        metrics.lines().find_map(value).expect("it counts refusals")
    }
}

/// Redis with the token bucket loaded.
pub(super) struct Redis {
    pub(super) child: Child,
    pub(super) port: u16,
    /// What the script is called by.
    pub(super) script: String,
}

impl Redis {
    /// Starts it without snapshots; `append_only` makes it write a log and sync it every second.
    pub(super) fn start(folder: &Path, append_only: bool) -> Redis {
        std::fs::create_dir_all(folder).expect("a folder");
        let port = free_port();
        let log = if append_only { "yes" } else { "no" };
        let mut command = Command::new("redis-server");
        command
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--appendonly", log, "--appendfsync", "everysec", "--dir"])
            .arg(folder);
        let child = Child::start_on(&mut command, port);
        let mut load = Command::new("redis-cli");
        load.args(["-p", &port.to_string(), "SCRIPT", "LOAD", TOKEN_BUCKET]);
        Redis { child, port, script: output(&mut load).trim().to_owned() }
    }
}
