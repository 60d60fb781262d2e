//! The metrics that every Prometheus client exports of its process, under their usual names.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_table::clock::Clock;

use super::gauge;

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
        // The kernel knows it better by milliseconds, in files that a sandbox may hide.
        metrics.start.set(Clock::System.now_ms() as f64 / 1e3);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_has_started_just_now() {
        let before = Clock::System.now_ms() as f64 / 1e3;
        let start = ProcessMetrics::default().start.get();
        assert!((before..before + 3600.0).contains(&start), "{start} and {before}");
    }

    #[test]
    fn every_value_is_read() {
        let metrics = ProcessMetrics::default();
        metrics.collect();
        assert!(metrics.resident.get() > 1 << 20 && metrics.cpu.get() > 0.0, "{metrics:?}");
        assert!((3..=metrics.max_files.get()).contains(&metrics.open_files.get()), "{metrics:?}");
    }
}
