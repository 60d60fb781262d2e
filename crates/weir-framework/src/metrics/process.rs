//! The metrics that every Prometheus client exports of its process, under their usual names.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_table::clock::Clock;

use super::gauge;

/// The number of the field of `/proc/self/stat` with the start of the process, as proc(5) counts.
const START_FIELD: usize = 22;

/// Metrics of the process. They have a registry of their own, because their names take no prefix.
#[derive(Debug)]
pub(super) struct ProcessMetrics {
    registry: Registry,
    resident: Gauge,
    open_files: Gauge,
    max_files: Gauge,
    start: Gauge<f64, AtomicU64>,
    cpu: Counter<f64, AtomicU64>,
}

impl Default for ProcessMetrics {
    fn default() -> ProcessMetrics {
        let mut metrics = ProcessMetrics {
            registry: Registry::default(),
            resident: Gauge::default(),
            open_files: Gauge::default(),
            max_files: Gauge::default(),
            start: Gauge::default(),
            cpu: Counter::default(),
        };
        let registry = &mut metrics.registry;
        let help = "Resident memory of the process";
        registry.register("process_resident_memory_bytes", help, metrics.resident.clone());
        registry.register("process_open_fds", "Open file descriptors", metrics.open_files.clone());
        let help = "Largest number of open file descriptors";
        registry.register("process_max_fds", help, metrics.max_files.clone());
        let help = "Start of the process, in seconds since 1970";
        registry.register("process_start_time_seconds", help, metrics.start.clone());
        metrics.start.set(start_seconds());
        let help = "User and system CPU time of the process";
        registry.register("process_cpu_seconds", help, metrics.cpu.clone());
        metrics
    }
}

impl ProcessMetrics {
    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Reads the values from the kernel. A value that it does not provide stays as it was.
    pub(super) fn collect(&self) {
        if let Some(bytes) = resident_bytes() {
            self.resident.set(gauge(bytes));
        }
        if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
            self.open_files.set(gauge(files.count() as u64));
        }
        let files_max = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        self.max_files.set(gauge(files_max.unwrap_or(u64::MAX)));
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let seconds = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9;
        self.cpu.inner().store(seconds.to_bits(), std::sync::atomic::Ordering::Relaxed);
    }
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

/// The start of the process; the time of this call if the kernel does not say.
fn start_seconds() -> f64 {
    let now = Clock::System.now_ms() as f64 / 1e3;
    now - age_seconds().unwrap_or_default()
}

/// The age of the process: the time since the machine booted, less the ticks at which the process started. The time of booting is
/// also in `/proc/stat`, which a sandbox may hide.
fn age_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program may have spaces; the fields after its closing parenthesis are numbered from 3.
    let fields = stat.rsplit_once(") ")?.1;
    let ticks: u64 = fields.split(' ').nth(START_FIELD - 3)?.parse().ok()?;
    let since_boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let since_boot = since_boot.tv_sec as f64 + since_boot.tv_nsec as f64 / 1e9;
    Some(since_boot - ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_started_before_now_and_not_long_ago() {
        let age = age_seconds().unwrap();
        // The start is in hundredths of a second.
        assert!((-0.01..3600.0).contains(&age), "{age}");
        let now = Clock::System.now_ms() as f64 / 1e3;
        let since = now - start_seconds();
        assert!((age - 0.1..age + 60.0).contains(&since), "{since} and {age}");
    }

    #[test]
    fn every_value_is_read() {
        let metrics = ProcessMetrics::default();
        metrics.collect();
        assert!(metrics.resident.get() > 1 << 20 && metrics.cpu.get() > 0.0, "{metrics:?}");
        assert!((3..=metrics.max_files.get()).contains(&metrics.open_files.get()), "{metrics:?}");
    }
}
