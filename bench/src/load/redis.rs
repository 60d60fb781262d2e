//! redis-benchmark, for servers that speak the Redis protocol (RESP).

use super::Load;
use crate::sample::Sample;

/// redis-benchmark sends a number of requests instead of running for a time.
const REQUESTS_PER_SECOND: u64 = 50_000;

/// A Redis command to repeat with different keys.
pub(crate) struct RespCommand {
    pub(crate) port: u16,
    /// `__rand_int__` in a word stands for a random number below `keys`.
    pub(crate) words: Vec<String>,
    pub(crate) keys: usize,
}

pub(super) fn run(load: &Load, resp: &RespCommand) -> Sample {
    let requests = REQUESTS_PER_SECOND * load.length.as_secs();
    let mut command = load.pinning.client("redis-benchmark");
    // With more than one thread redis-benchmark reads the clock only four times per second.
    command
        .args(["--csv", "-p", &resp.port.to_string()])
        .args(["-c", &load.connections.to_string()])
        .args(["-n", &requests.to_string(), "-r", &resp.keys.to_string()])
        .args(&resp.words);
    parse(&load.output(&mut command), requests)
}

/// Parses a header and a line; the last seven fields are
/// `"rps","avg","min","p50","p95","p99","max"`, times in milliseconds.
fn parse(text: &str, requests: u64) -> Sample {
    let line = text.lines().rfind(|line| line.starts_with('"')).expect("figures");
    let fields: Vec<f64> =
        line.rsplit(',').map_while(|field| field.trim_matches('"').parse().ok()).collect();
    let from_end = |index: usize| fields.get(index).copied().expect("seven figures");
    Sample {
        requests,
        refused: 0,
        rate: from_end(6),
        p50_ms: from_end(3),
        p99_ms: from_end(1),
        cpu_micros: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_output_of_redis_benchmark() {
        let output = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\
            \"EVALSHA b38 1 b:__rand_int__ 1 100\",\"57045.07\",\"0.965\",\"0.128\",\"0.895\",\"1.471\",\"2.063\",\"6.687\"\n";
        let sample = parse(output, 9);
        assert_eq!((sample.requests, sample.rate), (9, 57_045.07));
        assert_eq!((sample.p50_ms, sample.p99_ms), (0.895, 2.063));
    }
}
