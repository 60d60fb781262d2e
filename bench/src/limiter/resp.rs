//! Asking over Redis' protocol, with redis-benchmark.

use std::cell::Cell;
use std::process::Command;
use std::time::Duration;

use crate::load::{Answers, Load, output};

/// How the client is called in tables.
pub(super) const TOOL: &str = "redis-benchmark";
/// It is told how often to ask, not how long; the first time this long a run is guessed.
const FIRST_GUESS_A_SECOND: f64 = 50_000.0;

/// A command, to be repeated with other keys.
pub(super) struct RespCommand {
    port: u16,
    words: Vec<String>,
    /// What the run before came to.
    rate: Cell<f64>,
}

impl RespCommand {
    /// `__rand_int__` in a word stands for a number below the count of keys.
    pub(super) fn new(port: u16, words: &[&str]) -> RespCommand {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        RespCommand { port, words, rate: Cell::new(FIRST_GUESS_A_SECOND) }
    }

    pub(super) fn run(&self, load: &Load, keys: usize) -> Answers {
        let count = self.count(load.length);
        let mut command = Command::new(TOOL);
        // One thread: with more it looks at the clock four times a second only, and Redis itself
        // answers on one.
        command
            .args(["--csv", "-p", &self.port.to_string()])
            .args(["-c", &load.connections.to_string()])
            .args(["-n", &count.to_string(), "-r", &keys.to_string()])
            .args(&self.words);
        let answers = read(&output(&mut command), count);
        self.rate.set(answers.rate);
        answers
    }

    fn count(&self, length: Duration) -> u64 {
        (self.rate.get() * length.as_secs_f64()) as u64
    }
}

/// Reads a header and a line; the last seven fields are
/// `"rps","avg","min","p50","p95","p99","max"`, times in milliseconds.
fn read(text: &str, count: u64) -> Answers {
    let line = text.lines().rfind(|line| line.starts_with('"')).expect("figures");
    let fields: Vec<f64> =
        line.rsplit(',').map_while(|field| field.trim_matches('"').parse().ok()).collect();
    let from_end = |place: usize| fields.get(place).copied().expect("seven figures");
    Answers {
        count,
        refused: 0,
        rate: from_end(6),
        p50_ms: from_end(3),
        p99_ms: from_end(1),
        server_micros: f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_redis_benchmark_tells() {
        let told = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\
            \"EVALSHA b38 1 b:__rand_int__ 1 100\",\"57045.07\",\"0.965\",\"0.128\",\"0.895\",\"1.471\",\"2.063\",\"6.687\"\n";
        let answers = read(told, 9);
        assert_eq!((answers.count, answers.rate), (9, 57_045.07));
        assert_eq!((answers.p50_ms, answers.p99_ms), (0.895, 2.063));
    }
}
