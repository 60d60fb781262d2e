//! Running an operation from many callers and counting.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Operations a caller does before it lets the others go on.
const TURN: u64 = 16;
/// Processor time in `/proc/PID/stat` is counted in these, on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// What a case came to.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// Operations done.
    pub(crate) count: u64,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// Latencies in nanoseconds.
    pub(crate) latency: Histogram<u64>,
}

impl Figures {
    /// Operations a second.
    pub(crate) fn rate(&self) -> f64 {
        self.count as f64 / self.elapsed.as_secs_f64()
    }

    /// A quantile in microseconds.
    pub(crate) fn micros(&self, quantile: f64) -> f64 {
        self.latency.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// The longest in microseconds.
    pub(crate) fn max_micros(&self) -> f64 {
        self.latency.max() as f64 / 1000.0
    }

    fn merge(parts: impl IntoIterator<Item = Histogram<u64>>, elapsed: Duration) -> Figures {
        let mut latency = histogram();
        parts.into_iter().for_each(|part| latency.add(part).expect("same bounds"));
        Figures { count: latency.len(), elapsed, latency }
    }
}

pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(100, 600_000_000_000, 3).expect("sound bounds")
}

/// Runs `operation(caller, n)` from async tasks for a while.
pub(crate) async fn tasks<F, O>(callers: usize, length: Duration, operation: F) -> Figures
where
    F: Fn(usize, u64) -> O + Send + Sync + 'static,
    O: Future<Output = ()> + Send,
{
    let operation = Arc::new(operation);
    let start = Instant::now();
    let running: Vec<_> = (0..callers)
        .map(|caller| {
            let operation = Arc::clone(&operation);
            tokio::spawn(async move {
                let mut latency = histogram();
                let mut n = 0;
                while start.elapsed() < length {
                    // Callers take turns, as those of a server do between requests. Otherwise one
                    // runs until its budget is used up while the others' clocks tick.
                    if n % TURN == 0 {
                        tokio::task::yield_now().await;
                    }
                    let before = Instant::now();
                    operation(caller, n).await;
                    latency.saturating_record(before.elapsed().as_nanos() as u64);
                    n += 1;
                }
                latency
            })
        })
        .collect();
    let mut parts = Vec::new();
    for task in running {
        parts.push(task.await.expect("a caller"));
    }
    Figures::merge(parts, start.elapsed())
}

/// Runs `operation(caller, n)` from threads for a while.
pub(crate) fn threads(
    callers: usize,
    length: Duration,
    operation: impl Fn(usize, u64) + Sync,
) -> Figures {
    let start = Instant::now();
    let parts: Vec<Histogram<u64>> = std::thread::scope(|scope| {
        let operation = &operation;
        let running: Vec<_> = (0..callers)
            .map(|caller| {
                scope.spawn(move || {
                    let mut latency = histogram();
                    let mut n = 0;
                    let mut before = Instant::now();
                    while before - start < length {
                        operation(caller, n);
                        let now = Instant::now();
                        latency.saturating_record((now - before).as_nanos() as u64);
                        before = now;
                        n += 1;
                    }
                    latency
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("a caller")).collect()
    });
    Figures::merge(parts, start.elapsed())
}

/// A number that looks random and is the same in every run.
pub(crate) fn scatter(caller: usize, n: u64) -> u64 {
    let mut x =
        (caller as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 29)
}

/// Resident memory of this process in MiB, now.
pub(crate) fn resident_mib() -> u64 {
    resident_mib_of("self")
}

/// Resident memory of a process in MiB, now.
pub(crate) fn resident_mib_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}

/// The processor time a process has used, its own and the kernel's for it.
pub(crate) fn processor_time_of(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // The name comes second, in parentheses, and may hold spaces.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks = fields.split_whitespace().skip(11).take(2);
    TICK * ticks.map(|field| field.parse::<u32>().expect("ticks")).sum::<u32>()
}
