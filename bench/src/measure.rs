//! Runs an operation from many concurrent callers and measures rate and latency.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// Operations that a caller does before it yields to the others.
const OPERATIONS_PER_YIELD: u64 = 16;
/// The unit of CPU time in `/proc/PID/stat`, on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Rate and latencies of a case.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// Operations completed.
    pub(crate) count: u64,
    /// The time they took together.
    pub(crate) elapsed: Duration,
    /// Latencies in nanoseconds.
    pub(crate) latency: Histogram<u64>,
}

impl Figures {
    /// Operations per second.
    pub(crate) fn rate(&self) -> f64 {
        self.count as f64 / self.elapsed.as_secs_f64()
    }

    /// A quantile of the latencies in microseconds.
    pub(crate) fn micros(&self, quantile: f64) -> f64 {
        self.latency.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// The longest latency in microseconds.
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

/// Runs `operation(caller, n)` from async tasks for `length`.
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
                    // The callers of a server alternate between requests. Without this, one runs
                    // until its tokio budget is used up and the others seem slow.
                    if n % OPERATIONS_PER_YIELD == 0 {
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

/// Runs `operation(caller, n)` from threads for `length`.
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

/// A pseudo-random number that is the same in every run.
pub(crate) fn scatter(caller: usize, n: u64) -> u64 {
    let mut x =
        (caller as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ n.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 29)
}

/// Resident memory of this process in MiB.
pub(crate) fn resident_mib() -> u64 {
    resident_mib_of("self")
}

/// Resident memory of a process in MiB.
pub(crate) fn resident_mib_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}

/// CPU time of a process so far: all of its threads and ended children, in user and kernel mode.
pub(crate) fn cpu_time_of(process: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("a running process");
    // The second field is the name in parentheses, which may contain spaces.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks = fields.split_whitespace().skip(11).take(4);
    TICK * ticks.map(|field| field.parse::<u32>().expect("ticks")).sum::<u32>()
}

/// The load average of the machine over the last minute, as text.
pub(crate) fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Bytes of all files below a folder.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}
