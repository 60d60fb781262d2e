//! Asking a route for a while, with wrk or oha, and reading what they tell.

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

/// Threads of the load generators; they share the machine with the servers.
const THREADS: usize = 2;

/// One request, to be repeated.
#[derive(Debug, Clone, Default)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) url: String,
    pub(super) headers: Vec<String>,
    pub(super) body: &'static str,
}

/// How hard to ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) length: Duration,
    pub(super) connections: usize,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tool {
    /// wrk: every connection asks again when it was answered.
    Wrk,
    /// oha, likewise.
    Oha,
    /// oha at a fixed rate; latency counts from when a request should have been sent.
    OhaAt(f64),
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answers {
    /// A second.
    pub(super) rate: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

impl Tool {
    pub(super) fn name(self) -> String {
        match self {
            Tool::Wrk => "wrk".to_owned(),
            Tool::Oha => "oha".to_owned(),
            Tool::OhaAt(rate) => format!("oha at {rate:.0}/s"),
        }
    }
}

impl Load {
    pub(super) fn run(&self, tool: Tool, request: &Request) -> Answers {
        match tool {
            Tool::Wrk => self.wrk(request),
            Tool::Oha => self.oha(request, None),
            Tool::OhaAt(rate) => self.oha(request, Some(rate)),
        }
    }

    fn wrk(&self, request: &Request) -> Answers {
        // Only a script can set method and body. It runs once; the request is the same each time.
        let mut script = tempfile::NamedTempFile::new().expect("a script");
        write!(script, "wrk.method = \"{}\"\nwrk.body = [[{}]]\n", request.method, request.body)
            .expect("a script");
        let mut command = Command::new("wrk");
        command
            .args(["--latency", "--threads", &THREADS.to_string()])
            .args(["--connections", &self.connections.to_string()])
            .args(["--duration", &format!("{}s", self.length.as_secs())])
            .arg("--script")
            .arg(script.path());
        for header in &request.headers {
            command.args(["--header", header]);
        }
        read_wrk(&output(command.arg(&request.url)))
    }

    fn oha(&self, request: &Request, rate: Option<f64>) -> Answers {
        let mut command = Command::new("oha");
        command
            .args(["--no-tui", "--output-format", "json"])
            .args(["-c", &self.connections.to_string()])
            .args(["-z", &format!("{}s", self.length.as_secs())])
            .args(["-m", request.method]);
        if let Some(rate) = rate {
            command.args(["-q", &format!("{rate:.0}"), "--latency-correction"]);
        }
        if !request.body.is_empty() {
            command.args(["-d", request.body]);
        }
        for header in &request.headers {
            command.args(["-H", header]);
        }
        read_oha(&output(command.arg(&request.url)))
    }
}

fn output(command: &mut Command) -> String {
    let told = command
        .env("TOKIO_WORKER_THREADS", THREADS.to_string())
        .output()
        .expect("wrk and oha are there: scripts/setup.sh bench");
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let errors = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{command:?}: {text} {errors}");
    text
}

/// Reads wrk's text: `    99%    1.23ms` and `Requests/sec:  12345.67`.
fn read_wrk(text: &str) -> Answers {
    assert!(!text.contains("Non-2xx"), "not all answers are good: {text}");
    assert!(!text.contains("Socket errors"), "not all came through: {text}");
    let after = |label: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(label));
        line.map(str::trim).expect("wrk tells it")
    };
    Answers {
        rate: after("Requests/sec:").parse().expect("a rate"),
        p50_ms: milliseconds(after("50%")),
        p99_ms: milliseconds(after("99%")),
    }
}

fn milliseconds(text: &str) -> f64 {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number: f64 = text.trim_end_matches(unit).parse().expect("a number");
    match unit {
        "us" => number / 1000.0,
        "ms" => number,
        _ => number * 1000.0,
    }
}

fn read_oha(text: &str) -> Answers {
    let told: Value = serde_json::from_str(text).expect("JSON");
    let at = |path: &str| told.pointer(path).and_then(Value::as_f64);
    let statuses = told.pointer("/statusCodeDistribution");
    let statuses = statuses.and_then(Value::as_object).expect("statuses");
    assert!(
        statuses.keys().all(|status| status.starts_with('2')),
        "not all answers are good: {statuses:?}"
    );
    Answers {
        rate: at("/summary/requestsPerSec").expect("a rate"),
        p50_ms: at("/latencyPercentiles/p50").expect("p50") * 1000.0,
        p99_ms: at("/latencyPercentiles/p99").expect("p99") * 1000.0,
    }
}
