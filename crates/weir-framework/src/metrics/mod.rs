//! Metrics for `/metrics`, with names by Prometheus' conventions: a counter ends in `_total`, and the name includes the unit.
//!
//! Labels are bounded: a route is one that was declared, never the path of a request. A service brings its own metrics
//! with [`Service::metrics`](crate::Service::metrics); `docs/metrics.md` lists them all.

mod certificate;
mod disk;
mod listener;
mod process;
mod route;
mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use weir_api::server::JobOutcome;

use crate::app::App;
use crate::listen::CertificateExpiry;
use certificate::CertificateMetrics;
pub use listener::ListenerMetrics;
pub(crate) use listener::Refusal;
use process::ProcessMetrics;
pub(crate) use route::RouteMetrics;
use store::StoreMetrics;

/// Upper bounds of the buckets of a request's duration, in seconds.
const DURATIONS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

/// The metrics of one service.
pub trait ServiceMetrics: Send + Sync {
    /// Registers the metrics, once.
    fn register(&self, registry: &mut Registry);

    /// Copies values that other modules count, before each scrape.
    fn collect(&self, app: &App) {
        let _ = app;
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: &'static str,
}

/// Why the server ended a request without its handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    Overloaded,
    TimedOut,
    BodyMemory,
}

impl Rejection {
    fn as_str(self) -> &'static str {
        match self {
            Rejection::Overloaded => "overloaded",
            Rejection::TimedOut => "timed_out",
            Rejection::BodyMemory => "body_memory",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Rejected {
    reason: &'static str,
}

/// Counts rejections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rejections(Family<Rejected, Counter>);

impl Rejections {
    pub(crate) fn count(&self, reason: Rejection) {
        self.0.get_or_create(&Rejected { reason: reason.as_str() }).inc();
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Job {
    job: String,
}

type Seconds = Gauge<f64, AtomicU64>;
type Requests = Family<Request, Counter>;
type FastPathRequests = Family<Route, Counter>;
type Durations = Family<Route, Histogram, fn() -> Histogram>;

/// The server's metrics.
pub struct Metrics {
    registry: Registry,
    process: ProcessMetrics,
    certificate: CertificateMetrics,
    store: StoreMetrics,
    pub(crate) listener: ListenerMetrics,
    services: Vec<Arc<dyn ServiceMetrics>>,
    requests: Requests,
    durations: Durations,
    fast_path_requests: FastPathRequests,
    pub(crate) rejections: Rejections,
    pub(crate) in_flight: Gauge,
    pub(crate) body_bytes_in_flight: Gauge,
    job_lag: Family<Job, Seconds>,
    job_late: Family<Job, Gauge>,
    job_runs: Family<Job, Counter>,
    job_failures: Family<Job, Counter>,
    job_failed: Family<Job, Gauge>,
    revocation_hits: Counter,
    revocation_misses: Counter,
    revocations: Counter,
    pub(crate) security_events_lost: Counter,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

impl Metrics {
    pub(crate) fn new(services: Vec<Arc<dyn ServiceMetrics>>) -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("weir"),
            process: ProcessMetrics::default(),
            certificate: CertificateMetrics::default(),
            store: StoreMetrics::default(),
            listener: ListenerMetrics::default(),
            services,
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
            fast_path_requests: Family::default(),
            rejections: Rejections::default(),
            in_flight: Gauge::default(),
            body_bytes_in_flight: Gauge::default(),
            job_lag: Family::default(),
            job_late: Family::default(),
            job_runs: Family::default(),
            job_failures: Family::default(),
            job_failed: Family::default(),
            revocation_hits: Counter::default(),
            revocation_misses: Counter::default(),
            revocations: Counter::default(),
            security_events_lost: Counter::default(),
        };
        metrics.register();
        metrics
    }

    /// Registers everything. The encoder adds `_total` to the names of counters.
    fn register(&mut self) {
        let registry = &mut self.registry;
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of the running server", build);
        registry.register("http_requests", "Requests that got a response", self.requests.clone());
        let help = "Time from the head of a request to its response";
        registry.register("http_request_duration_seconds", help, self.durations.clone());
        let help = "Requests that took the fast path, by route";
        registry.register("http_fast_path_requests", help, self.fast_path_requests.clone());
        let help = "Requests that the server ended without their handler, by reason";
        registry.register("http_requests_rejected", help, self.rejections.0.clone());
        let help = "Requests in progress, without those that wait for their bodies";
        registry.register("http_requests_in_flight", help, self.in_flight.clone());
        let help = "Memory of request bodies that did not arrive with their heads";
        let in_flight = self.body_bytes_in_flight.clone();
        registry.register("http_body_bytes_in_flight", help, in_flight);
        let help = "How far the job is behind the changes that it follows";
        registry.register("job_lag_seconds", help, self.job_lag.clone());
        let help =
            "Whether the job is behind by more than a minute and three of its pauses: 0 or 1";
        registry.register("job_late", help, self.job_late.clone());
        registry.register("job_runs", "Runs of the job, on all instances", self.job_runs.clone());
        let help = "Failed runs of the job, on all instances";
        registry.register("job_failures", help, self.job_failures.clone());
        let help = "Whether the last run of the job failed: 0 or 1";
        registry.register("job_failed", help, self.job_failed.clone());
        let help = "Token checks that the revocation cache decided";
        registry.register("auth_revocation_cache_hits", help, self.revocation_hits.clone());
        let help = "Token checks that read the store";
        registry.register("auth_revocation_cache_misses", help, self.revocation_misses.clone());
        let help = "Revocations made by this instance: single tokens, and all tokens of a client";
        registry.register("auth_revocations", help, self.revocations.clone());
        let help = "Events of the security log that could not be stored; the log has them";
        registry.register("security_events_lost", help, self.security_events_lost.clone());
        self.listener.register(registry);
        self.certificate.register(registry);
        self.store.register(registry);
        for service in &self.services {
            service.register(registry);
        }
    }

    /// The metrics of a route. Routes live as long as the process, so their metrics are leaked: a request then needs
    /// no reference count to hold them.
    pub(crate) fn route(&self, route: &'static str) -> &'static RouteMetrics {
        let fast_path_requests = self.fast_path_requests.clone();
        let (requests, durations) = (self.requests.clone(), self.durations.clone());
        let metrics = RouteMetrics::new(route, requests, durations, fast_path_requests);
        Box::leak(Box::new(metrics))
    }

    /// Exports the expiry of the certificate from now on.
    pub(crate) fn follow_certificate(&self, expiry: CertificateExpiry) {
        self.certificate.follow(expiry);
    }

    /// Everything in the OpenMetrics text format.
    pub(crate) fn text(&self, app: &App) -> String {
        self.collect(app);
        let mut text = String::new();
        // Writing to a string does not fail.
        encode_registry(&mut text, &self.registry).ok();
        encode_registry(&mut text, self.process.registry()).ok();
        encode_eof(&mut text).ok();
        text
    }

    /// Copies the values that other modules count.
    fn collect(&self, app: &App) {
        for status in app.jobs().map(crate::jobs::Running::statuses).unwrap_or_default() {
            let job = Job { job: status.name };
            self.job_lag.get_or_create(&job).set(status.lag_ms as f64 / 1000.0);
            self.job_late.get_or_create(&job).set(i64::from(status.late));
            set(&self.job_runs.get_or_create(&job), status.runs);
            set(&self.job_failures.get_or_create(&job), status.failures);
            let failed = status.last_outcome == Some(JobOutcome::Failed);
            self.job_failed.get_or_create(&job).set(i64::from(failed));
        }
        let counts = app.auth().revocation_counts();
        set(&self.revocation_hits, counts.hits);
        set(&self.revocation_misses, counts.misses);
        set(&self.revocations, counts.revocations);
        self.process.collect();
        self.certificate.collect();
        self.store.collect(app.store().backend());
        for service in &self.services {
            service.collect(app);
        }
    }
}

/// Sets a counter to a total that another module counts and that only grows.
pub fn set(counter: &Counter, total: u64) {
    counter.inner().store(total, Ordering::Relaxed);
}

/// A number as the value of a gauge.
#[must_use]
pub fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
