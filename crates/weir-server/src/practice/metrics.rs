//! Metrics of practice. How long routes take is in the metrics of requests.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_framework::metrics::ServiceMetrics;
use weir_framework::{ApiError, App};
use weir_practice::kinds::{Action, JobType};
use weir_practice::stats::RollupReport;
use weir_practice::usage::ClockReading;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UsageLabels {
    action: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    r#type: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TypeLabel {
    r#type: &'static str,
}

/// The effect of a request on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobEvent {
    /// The job was submitted.
    Submitted,
    /// A worker claimed it.
    Claimed,
    /// The job is complete.
    Completed,
    /// The job failed.
    Failed,
    /// The job waits for a worker again after it failed.
    Retried,
    /// The job was cancelled.
    Cancelled,
    /// A worker that no longer held it was refused.
    LeaseLost,
}

impl JobEvent {
    fn as_str(self) -> &'static str {
        match self {
            JobEvent::Submitted => "submitted",
            JobEvent::Claimed => "claimed",
            JobEvent::Completed => "completed",
            JobEvent::Failed => "failed",
            JobEvent::Retried => "retried",
            JobEvent::Cancelled => "cancelled",
            JobEvent::LeaseLost => "lease_lost",
        }
    }
}

/// Metrics of practice.
#[derive(Debug, Default)]
pub(crate) struct PracticeMetrics {
    usage: Family<UsageLabels, Counter>,
    jobs: Family<JobLabels, Counter>,
    leases_expired: Family<TypeLabel, Gauge>,
    rollups: Counter,
    clock_ahead: Gauge<f64, AtomicU64>,
    clock_ahead_requests: Counter,
}

impl PracticeMetrics {
    /// Counts a request for usage: `allowed`, `repeated` or `refused`.
    pub(crate) fn usage(&self, action: Action, result: &'static str) {
        let labels = UsageLabels { action: action.as_str(), result };
        self.usage.get_or_create(&labels).inc();
    }

    /// Counts what a request did to a job.
    pub(crate) fn job(&self, job_type: JobType, outcome: JobEvent) {
        let labels = JobLabels { r#type: job_type.as_str(), outcome: outcome.as_str() };
        self.jobs.get_or_create(&labels).inc();
    }

    /// Records how many jobs have a lease that is over.
    pub(super) fn leases_expired(&self, job_type: JobType, jobs: usize) {
        let label = TypeLabel { r#type: job_type.as_str() };
        self.leases_expired.get_or_create(&label).set(i64::try_from(jobs).unwrap_or(i64::MAX));
    }

    /// Records a run of the job that rolls up usage.
    pub(super) fn rolled_up(&self, report: &RollupReport) {
        self.rollups.inc_by(report.written);
    }

    /// Records how far the clock is ahead of the newest usage item.
    pub(super) fn clock(&self, reading: &ClockReading) {
        self.clock_ahead.set(reading.ahead_ms as f64 / 1000.0);
        let counted = self.clock_ahead_requests.get();
        self.clock_ahead_requests.inc_by(reading.ahead_total.saturating_sub(counted));
    }
}

impl ServiceMetrics for PracticeMetrics {
    fn register(&self, registry: &mut Registry) {
        let help = "Requests for usage, by action and by result: allowed, repeated, refused";
        registry.register("practice_usage", help, self.usage.clone());
        let help = "Requests of workers and administrators about jobs, by type and by outcome";
        registry.register("practice_jobs", help, self.jobs.clone());
        let help = "Jobs whose worker has sent nothing for the length of its lease, by type";
        registry.register("practice_job_leases_expired", help, self.leases_expired.clone());
        let help = "Rollups of a user and a day that were written";
        registry.register("practice_rollups", help, self.rollups.clone());
        let help = "How far the clock is ahead of the newest usage item that this instance has seen, in \
             seconds; an idle service has a lead too";
        registry.register("practice_clock_ahead_seconds", help, self.clock_ahead.clone());
        let help =
            "Requests that found the clock ahead of the newest usage item by more than a minute";
        registry.register("practice_clock_ahead_requests", help, self.clock_ahead_requests.clone());
    }
}

/// The metrics of the running service.
pub(crate) fn metrics(app: &App) -> Result<&PracticeMetrics, ApiError> {
    app.kept_by::<Arc<PracticeMetrics>>("practice").map(Arc::as_ref)
}
