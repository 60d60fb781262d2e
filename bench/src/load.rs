//! Asking a route for a while, with wrk or oha, and reading what they tell.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

/// Threads of the load generators; they share the machine with the servers.
const THREADS: usize = 2;
/// Too many requests.
const REFUSED: &str = "429";
/// Sends a body after the other.
const KEYS_SCRIPT: &str = include_str!("keys.lua");

/// Sends a body again and again, each time with other ids.
const IDS_SCRIPT: &str = include_str!("ids.lua");

/// A request, to be repeated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) headers: Vec<String>,
    /// None, one that is sent each time, or many that take turns; each is a line.
    pub(crate) bodies: Vec<String>,
    /// Whether the one body gets ids of its own each time; wrk alone can do that.
    pub(crate) fresh_ids: bool,
    /// Whether a refusal is as good an answer as another.
    pub(crate) may_refuse: bool,
}

/// How hard to ask.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) length: Duration,
    pub(crate) connections: usize,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tool {
    /// wrk: every connection asks again when it was answered.
    Wrk,
    /// oha, likewise.
    Oha,
    /// oha at a fixed rate; latency counts from when a request should have been sent.
    OhaAt(f64),
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answers {
    /// In all.
    pub(crate) count: u64,
    /// Of these, refusals.
    pub(crate) refused: u64,
    /// A second.
    pub(crate) rate: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Processor time of the server for each, where somebody looked.
    pub(crate) server_micros: f64,
}

impl Tool {
    pub(crate) fn name(self) -> String {
        match self {
            Tool::Wrk => "wrk".to_owned(),
            Tool::Oha => "oha".to_owned(),
            Tool::OhaAt(rate) => format!("oha at {rate:.0}/s"),
        }
    }
}

impl Load {
    pub(crate) fn run(&self, tool: Tool, request: &Request) -> Answers {
        let answers = match tool {
            Tool::Wrk => self.wrk(request),
            Tool::Oha => self.oha(request, None),
            Tool::OhaAt(rate) => self.oha(request, Some(rate)),
        };
        let good = answers.refused == 0 || request.may_refuse;
        assert!(good, "not all answers are good: {answers:?}");
        answers
    }

    fn wrk(&self, request: &Request) -> Answers {
        let bodies = lines(&request.bodies);
        let mut script = tempfile::NamedTempFile::new().expect("a script");
        script.write_all(wrk_script(request, bodies.path()).as_bytes()).expect("a script");
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
        let bodies = lines(&request.bodies);
        let mut command = Command::new("oha");
        command
            .args(["--no-tui", "--output-format", "json"])
            .args(["-c", &self.connections.to_string()])
            .args(["-z", &format!("{}s", self.length.as_secs())])
            .args(["-m", request.method]);
        if let Some(rate) = rate {
            command.args(["-q", &format!("{rate:.0}"), "--latency-correction"]);
        }
        match request.bodies.as_slice() {
            [] => {}
            [body] => drop(command.args(["-d", body])),
            _ => drop(command.arg("-Z").arg(bodies.path())),
        }
        for header in &request.headers {
            command.args(["-H", header]);
        }
        read_oha(&output(command.arg(&request.url)))
    }
}

fn lines(bodies: &[String]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bodies.join("\n").as_bytes()).expect("the bodies");
    file
}

/// Only a script can set method and body. It runs once when there is one body at most.
fn wrk_script(request: &Request, bodies: &Path) -> String {
    let method = request.method;
    match request.bodies.as_slice() {
        [_] if request.fresh_ids => {
            let (bodies, run) = (bodies.display(), fastrand::u32(..));
            format!(
                "wrk.method = \"{method}\"\nlocal BODIES, RUN = [[{bodies}]], \"{run:08x}\"\n{IDS_SCRIPT}"
            )
        }
        [] => format!("wrk.method = \"{method}\"\n"),
        [body] => format!("wrk.method = \"{method}\"\nwrk.body = [[{body}]]\n"),
        _ => {
            let bodies = bodies.display();
            format!("wrk.method = \"{method}\"\nlocal BODIES = [[{bodies}]]\n{KEYS_SCRIPT}")
        }
    }
}

/// Runs a load generator; what it told.
pub(crate) fn output(command: &mut Command) -> String {
    let told = command
        .env("TOKIO_WORKER_THREADS", THREADS.to_string())
        .output()
        .expect("load generators are there: scripts/setup.sh bench");
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let errors = String::from_utf8_lossy(&told.stderr);
    assert!(told.status.success(), "{command:?}: {text} {errors}");
    text
}

/// Reads wrk's text: `    99%    1.23ms`, `Requests/sec:  12345.67` and
/// `  24691 requests in 2.00s, 4.12MB read`.
fn read_wrk(text: &str) -> Answers {
    assert!(!text.contains("Socket errors"), "not all came through: {text}");
    let line = |label: &str| {
        let after = text.lines().find_map(|line| line.trim().strip_prefix(label));
        after.map(str::trim)
    };
    let after = |label: &str| line(label).expect("wrk tells it");
    let count =
        text.lines().find_map(|line| line.split_once(" requests in ")?.0.trim().parse().ok());
    let refused = line("Non-2xx or 3xx responses:").map_or(Ok(0), str::parse);
    Answers {
        count: count.expect("a count"),
        refused: refused.expect("a count"),
        rate: after("Requests/sec:").parse().expect("a rate"),
        p50_ms: milliseconds(after("50%")),
        p99_ms: milliseconds(after("99%")),
        server_micros: f64::NAN,
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
    let known = |status: &String| status.starts_with('2') || status == REFUSED;
    assert!(statuses.keys().all(known), "not all answers are good: {statuses:?}");
    let counts = statuses.values().filter_map(Value::as_u64);
    Answers {
        count: counts.sum(),
        refused: statuses.get(REFUSED).and_then(Value::as_u64).unwrap_or(0),
        rate: at("/summary/requestsPerSec").expect("a rate"),
        p50_ms: at("/latencyPercentiles/p50").expect("p50") * 1000.0,
        p99_ms: at("/latencyPercentiles/p99").expect("p99") * 1000.0,
        server_micros: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRK: &str = "Running 2s test @ http://127.0.0.1:8080
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   659.59us  485.82us   6.09ms   84.99%
    Req/Sec    46.07k     1.78k   48.76k    67.50%
  Latency Distribution
     50%  521.00us
     75%    0.91ms
     99%    1.02s
  183113 requests in 2.00s, 31.26MB read
  Non-2xx or 3xx responses: 183000
Requests/sec:  91556.76
Transfer/sec:     15.63MB
";

    #[test]
    fn reads_what_wrk_tells() {
        let answers = read_wrk(WRK);
        assert_eq!((answers.count, answers.refused), (183_113, 183_000));
        assert_eq!((answers.rate, answers.p50_ms, answers.p99_ms), (91_556.76, 0.521, 1_020.0));
    }

    #[test]
    fn a_refusal_is_counted_in_what_oha_tells() {
        let told = r#"{"summary": {"requestsPerSec": 7.0}, "latencyPercentiles": {"p50": 0.001,
            "p99": 0.5}, "statusCodeDistribution": {"200": 3, "429": 4}}"#;
        let answers = read_oha(told);
        assert_eq!((answers.count, answers.refused, answers.rate), (7, 4, 7.0));
        assert_eq!((answers.p50_ms, answers.p99_ms), (1.0, 500.0));
    }
}
