//! oha at a fixed rate: latencies count from the time at which a request was due.

use serde_json::Value;

use super::{Load, Request, body_file};
use crate::sample::Sample;

const TOO_MANY_REQUESTS: &str = "429";

pub(super) fn run(load: &Load, request: &Request, rate: f64) -> Sample {
    assert!(!request.unique_ids, "oha cannot send unique ids");
    let bodies = body_file(&request.bodies);
    let mut command = load.pinning.client("oha");
    command
        .args(["--no-tui", "--output-format", "json", "--latency-correction"])
        .args(["-q", &format!("{rate:.0}")])
        .args(["-c", &load.connections.to_string()])
        .args(["-z", &format!("{}s", load.length.as_secs())])
        .args(["-m", request.method]);
    match request.bodies.as_slice() {
        [] => {}
        [body] => drop(command.args(["-d", body])),
        _ => drop(command.arg("-Z").arg(bodies.path())),
    }
    for header in &request.headers {
        command.args(["-H", header]);
    }
    parse(&load.output(command.arg(&request.url)))
}

fn parse(text: &str) -> Sample {
    let output: Value = serde_json::from_str(text).expect("JSON");
    let figure = |path: &str| output.pointer(path).and_then(Value::as_f64).expect("a figure");
    let statuses = output.pointer("/statusCodeDistribution");
    let statuses = statuses.and_then(Value::as_object).expect("statuses");
    let expected = |status: &String| status.starts_with('2') || status == TOO_MANY_REQUESTS;
    assert!(statuses.keys().all(expected), "unexpected statuses: {statuses:?}");
    Sample {
        requests: statuses.values().filter_map(Value::as_u64).sum(),
        refused: statuses.get(TOO_MANY_REQUESTS).and_then(Value::as_u64).unwrap_or(0),
        rate: figure("/summary/requestsPerSec"),
        p50_ms: figure("/latencyPercentiles/p50") * 1000.0,
        p99_ms: figure("/latencyPercentiles/p99") * 1000.0,
        cpu_micros: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_output_of_oha() {
        let output = r#"{"summary": {"requestsPerSec": 7.0}, "latencyPercentiles": {"p50": 0.001,
            "p99": 0.5}, "statusCodeDistribution": {"200": 3, "429": 4}}"#;
        let sample = parse(output);
        assert_eq!((sample.requests, sample.refused, sample.rate), (7, 4, 7.0));
        assert_eq!((sample.p50_ms, sample.p99_ms), (1.0, 500.0));
    }
}
