//! Load generators: wrk, oha at a fixed rate, and redis-benchmark.

mod oha;
mod redis;
mod wrk;

use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

pub(crate) use redis::RespCommand;

use crate::pinning::Pinning;
use crate::sample::Sample;

/// An HTTP request to repeat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) headers: Vec<String>,
    /// None, one that every request has, or many in a scattered order. Each is one line.
    pub(crate) bodies: Vec<String>,
    /// Whether every request has unique ids in place of the placeholders in its body (wrk only).
    pub(crate) unique_ids: bool,
    /// Whether the server should respond with status 429 rather than success.
    pub(crate) expect_refusal: bool,
}

/// Headers in addition to those that a request needs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Headers {
    /// None.
    Minimal,
    /// Those that a common HTTP client sends.
    Client,
}

/// How to generate load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) length: Duration,
    pub(crate) connections: usize,
    pub(crate) pinning: Pinning,
    /// Requests per second. Without a rate, each connection sends as soon as it has a response.
    pub(crate) rate: Option<f64>,
}

impl Headers {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Headers::Minimal => "minimal",
            Headers::Client => "client",
        }
    }

    fn values(self) -> &'static [&'static str] {
        match self {
            Headers::Minimal => &[],
            Headers::Client => &[
                "user-agent: python-requests/2.32",
                "accept-encoding: gzip, deflate",
                "accept: */*",
            ],
        }
    }
}

impl Load {
    pub(crate) fn run(&self, request: &Request, headers: Headers) -> Sample {
        let mut request = request.clone();
        request.headers.extend(headers.values().iter().map(|header| (*header).to_owned()));
        let sample = match self.rate {
            None => wrk::run(self, &request),
            Some(rate) => oha::run(self, &request, rate),
        };
        let refusals = if request.expect_refusal { sample.requests } else { 0 };
        assert_eq!(sample.refused, refusals, "{}: refused responses", request.url);
        sample
    }

    pub(crate) fn run_resp(&self, command: &RespCommand) -> Sample {
        redis::run(self, command)
    }

    /// Runs a load generator and returns its standard output.
    fn output(&self, command: &mut Command) -> String {
        output(command.env("TOKIO_WORKER_THREADS", self.pinning.client_threads().to_string()))
    }
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}; run scripts/setup.sh bench"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {text} {errors}; run scripts/setup.sh bench");
    text
}

/// A temporary file with one body per line.
fn body_file(bodies: &[String]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bodies.join("\n").as_bytes()).expect("the bodies");
    file
}
