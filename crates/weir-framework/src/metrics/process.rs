//! The metrics that every Prometheus client exports of its process, under their usual names.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::gauge;

/// Metrics of the process. They have a registry of their own, because their names take no prefix.
#[derive(Debug)]
pub(super) struct ProcessMetrics {
    registry: Registry,
    resident: Gauge,
    open_files: Gauge,
    cpu: Counter<f64, AtomicU64>,
}

impl Default for ProcessMetrics {
    fn default() -> ProcessMetrics {
        let mut metrics = ProcessMetrics {
            registry: Registry::default(),
            resident: Gauge::default(),
            open_files: Gauge::default(),
            cpu: Counter::default(),
        };
        let registry = &mut metrics.registry;
        let help = "Resident memory of the process";
        registry.register("process_resident_memory_bytes", help, metrics.resident.clone());
        registry.register("process_open_fds", "Open file descriptors", metrics.open_files.clone());
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
