//! wrk: each connection sends the next request when it has the response.

use std::io::Write as _;
use std::path::Path;

use super::{Load, Request, body_file};
use crate::sample::Sample;

/// Sends the bodies in a scattered order.
const BODIES_SCRIPT: &str = include_str!("bodies.lua");
/// Sends one body with unique ids.
const UNIQUE_IDS_SCRIPT: &str = include_str!("unique_ids.lua");

pub(super) fn run(load: &Load, request: &Request) -> Sample {
    let bodies = body_file(&request.bodies);
    let mut script_file = tempfile::NamedTempFile::new().expect("a script");
    script_file.write_all(script(request, bodies.path()).as_bytes()).expect("a script");
    let mut command = load.pinning.client("wrk");
    command
        .args(["--latency", "--threads", &load.pinning.client_threads().to_string()])
        .args(["--connections", &load.connections.to_string()])
        .args(["--duration", &format!("{}s", load.length.as_secs())])
        .arg("--script")
        .arg(script_file.path());
    for header in &request.headers {
        command.args(["--header", header]);
    }
    parse(&load.output(command.arg(&request.url)))
}

/// Only a script can set method and body. With one body at most it runs once, not per request.
fn script(request: &Request, bodies: &Path) -> String {
    let (method, bodies) = (request.method, bodies.display());
    match request.bodies.as_slice() {
        [_] if request.unique_ids => {
            let run = fastrand::u32(..);
            format!(
                "wrk.method = \"{method}\"\nlocal BODIES, RUN = [[{bodies}]], \"{run:08x}\"\n{UNIQUE_IDS_SCRIPT}"
            )
        }
        [] => format!("wrk.method = \"{method}\"\n"),
        [body] => format!("wrk.method = \"{method}\"\nwrk.body = [[{body}]]\n"),
        _ => format!("wrk.method = \"{method}\"\nlocal BODIES = [[{bodies}]]\n{BODIES_SCRIPT}"),
    }
}

/// Parses wrk's text: `    99%    1.23ms`, `Requests/sec:  12345.67` and
/// `  24691 requests in 2.00s, 4.12MB read`.
fn parse(text: &str) -> Sample {
    assert!(!text.contains("Socket errors"), "requests failed: {text}");
    let find = |label: &str| {
        let value = text.lines().find_map(|line| line.trim().strip_prefix(label));
        value.map(str::trim)
    };
    let value = |label: &str| find(label).expect("a figure of wrk");
    let requests =
        text.lines().find_map(|line| line.split_once(" requests in ")?.0.trim().parse().ok());
    let refused = find("Non-2xx or 3xx responses:").map_or(Ok(0), str::parse);
    Sample {
        requests: requests.expect("a count"),
        refused: refused.expect("a count"),
        rate: value("Requests/sec:").parse().expect("a rate"),
        p50_ms: milliseconds(value("50%")),
        p99_ms: milliseconds(value("99%")),
        cpu_micros: f64::NAN,
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

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "Running 2s test @ http://127.0.0.1:8080
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
    fn parses_the_output_of_wrk() {
        let sample = parse(OUTPUT);
        assert_eq!((sample.requests, sample.refused), (183_113, 183_000));
        assert_eq!((sample.rate, sample.p50_ms, sample.p99_ms), (91_556.76, 0.521, 1_020.0));
    }
}
