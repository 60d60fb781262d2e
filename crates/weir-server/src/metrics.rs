//! What is counted, for `/metrics`. Labels are bounded: routes are those that are declared, never
//! the paths that were asked for.

mod keeper;
mod limiter;
mod tally;

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use weir_table::AnyBackend;

use crate::app::App;
use crate::jobs::Outcome;
pub(crate) use limiter::Taken;
pub(crate) use tally::Tally;

/// Upper bounds of the buckets of a request's duration, in seconds.
const DURATIONS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum Refusal {
    Overloaded,
    TimedOut,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refused {
    reason: Refusal,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Job {
    job: String,
}

type Seconds = Gauge<f64, AtomicU64>;
type Requests = Family<Request, Counter>;
type Durations = Family<Route, Histogram, fn() -> Histogram>;

/// The server's counters.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    requests: Requests,
    durations: Durations,
    refused: Family<Refused, Counter>,
    pub(crate) under_way: Gauge,
    job_lag: Family<Job, Seconds>,
    job_runs: Family<Job, Gauge>,
    job_failures: Family<Job, Gauge>,
    job_failed: Family<Job, Gauge>,
    revocation_hits: Gauge,
    revocation_misses: Gauge,
    /// What the keeper did.
    pub(crate) keeper: keeper::Counts,
    /// What the limiter did.
    pub(crate) limiter: limiter::Counts,
    resident: Gauge,
    store: Family<Store, Gauge>,
    dynamodb: Family<Verb, Gauge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verb {
    verb: &'static str,
    figure: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Store {
    figure: &'static str,
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut metrics = Metrics {
            registry: Registry::with_prefix("weir"),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
            refused: Family::default(),
            under_way: Gauge::default(),
            job_lag: Family::default(),
            job_runs: Family::default(),
            job_failures: Family::default(),
            job_failed: Family::default(),
            revocation_hits: Gauge::default(),
            revocation_misses: Gauge::default(),
            keeper: keeper::Counts::default(),
            limiter: limiter::Counts::default(),
            resident: Gauge::default(),
            store: Family::default(),
            dynamodb: Family::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that runs", build);
        registry.register("http_requests", "Requests answered", self.requests.clone());
        let help = "How long requests took";
        registry.register("http_request_duration_seconds", help, self.durations.clone());
        registry.register(
            "http_requests_refused",
            "Requests cut short by the server",
            self.refused.clone(),
        );
        registry.register(
            "http_requests_under_way",
            "Requests being answered",
            self.under_way.clone(),
        );
        registry.register("job_lag_seconds", "How far a job is behind", self.job_lag.clone());
        registry.register("job_runs", "Runs of a job, on all instances", self.job_runs.clone());
        registry.register("job_failures", "Failed runs of a job", self.job_failures.clone());
        registry.register("job_failed", "Whether a job's last run failed", self.job_failed.clone());
        let help = "Token checks answered without the store";
        registry.register("auth_revocation_hits", help, self.revocation_hits.clone());
        let help = "Token checks that asked the store";
        registry.register("auth_revocation_misses", help, self.revocation_misses.clone());
        self.keeper.register(registry);
        self.limiter.register(registry);
        registry.register(
            "resident_memory_bytes",
            "Memory the process holds",
            self.resident.clone(),
        );
        registry.register("store", "Figures of the embedded store", self.store.clone());
        let help = "Calls of DynamoDB and the capacity they took, by verb";
        registry.register("dynamodb", help, self.dynamodb.clone());
    }

    /// The counters of a route's answers. Routes are declared once in a process's life, so these are kept for as
    /// long: that no request counts its hold of them is worth more than the memory.
    pub(crate) fn tally(&self, route: &'static str) -> &'static Tally {
        Box::leak(Box::new(Tally::new(route, self.requests.clone(), self.durations.clone())))
    }

    pub(crate) fn refused(&self, reason: Refusal) {
        self.refused.get_or_create(&Refused { reason }).inc();
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn text(&self, app: &App) -> String {
        self.look(app);
        let mut text = String::new();
        // Writing to a string does not fail.
        encode(&mut text, &self.registry).ok();
        text
    }

    /// Takes the figures that others keep.
    fn look(&self, app: &App) {
        for status in app.jobs().map(crate::jobs::Running::statuses).unwrap_or_default() {
            let job = Job { job: status.name };
            self.job_lag.get_or_create(&job).set(status.lag_ms as f64 / 1000.0);
            self.job_runs.get_or_create(&job).set(gauge(status.runs));
            self.job_failures.get_or_create(&job).set(gauge(status.failures));
            let failed = status.last_outcome == Some(Outcome::Failed);
            self.job_failed.get_or_create(&job).set(i64::from(failed));
        }
        let counts = app.auth().revocation_counts();
        self.revocation_hits.set(gauge(counts.hits));
        self.revocation_misses.set(gauge(counts.misses));
        self.keeper.look(app);
        self.limiter.look(app);
        self.resident.set(gauge(resident_bytes()));
        self.look_at_store(app.store().backend());
    }

    fn look_at_store(&self, backend: &AnyBackend) {
        match backend {
            #[cfg(feature = "embedded")]
            AnyBackend::Embedded(embedded) => {
                let stats = embedded.stats();
                for (figure, value) in [
                    ("commits", stats.last_seq),
                    ("dirty_bytes", stats.dirty_bytes),
                    ("log_bytes", stats.log_bytes),
                    ("checkpoints", stats.checkpoints),
                ] {
                    self.store.get_or_create(&Store { figure }).set(gauge(value));
                }
            }
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo(dynamo) => {
                for (verb, usage) in dynamo.capacity().verbs {
                    let figures = [
                        ("calls", usage.calls),
                        ("retries", usage.retries),
                        ("throttles", usage.throttles),
                        ("refused", usage.refused),
                        ("read_milliunits", usage.read_milliunits),
                        ("write_milliunits", usage.write_milliunits),
                    ];
                    for (figure, value) in figures {
                        let verb = Verb { verb: verb.name(), figure };
                        self.dynamodb.get_or_create(&verb).set(gauge(value));
                    }
                }
            }
            _ => {}
        }
    }
}

fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// What the kernel says this process holds in memory; zero where it does not say.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) * 1024
}
