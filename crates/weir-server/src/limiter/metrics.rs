//! Metrics of the limiter.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_limiter::Limiter;
use weir_table::AnyBackend;

use weir_framework::metrics::{ServiceMetrics, set};
use weir_framework::{ApiError, App};

/// The outcome of an acquire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcquireOutcome {
    Granted,
    Refused,
    Degraded,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    result: &'static str,
}

/// Metrics of the limiter. The counters of acquires are created once, so that a request looks none up by label.
#[derive(Debug)]
pub(crate) struct LimiterMetrics {
    acquires: Family<Label, Counter>,
    granted: Counter,
    refused: Counter,
    degraded: Counter,
    errors: Counter,
    pub(crate) leases_open: Gauge,
    cache_hits: Counter,
    cache_misses: Counter,
}

impl Default for LimiterMetrics {
    fn default() -> LimiterMetrics {
        let acquires = Family::<Label, Counter>::default();
        let counter = |result| acquires.get_or_create(&Label { result }).clone();
        let (granted, refused) = (counter("granted"), counter("refused"));
        let (degraded, errors) = (counter("degraded"), counter("error"));
        LimiterMetrics {
            acquires,
            granted,
            refused,
            degraded,
            errors,
            leases_open: Gauge::default(),
            cache_hits: Counter::default(),
            cache_misses: Counter::default(),
        }
    }
}

impl LimiterMetrics {
    /// Records an acquire.
    pub(crate) fn acquired(&self, outcome: AcquireOutcome) {
        match outcome {
            AcquireOutcome::Granted => &self.granted,
            AcquireOutcome::Refused => &self.refused,
            AcquireOutcome::Degraded => &self.degraded,
            AcquireOutcome::Error => &self.errors,
        }
        .inc();
    }
}

impl ServiceMetrics for LimiterMetrics {
    fn register(&self, registry: &mut Registry) {
        let help = "Acquires, by outcome";
        registry.register("limiter_acquires", help, self.acquires.clone());
        let help = "Open leases that roll back on expiry";
        registry.register("limiter_leases_open", help, self.leases_open.clone());
        let help = "Config levels read from the cache";
        registry.register("limiter_config_cache_hits", help, self.cache_hits.clone());
        let help = "Config levels read from the store";
        registry.register("limiter_config_cache_misses", help, self.cache_misses.clone());
    }

    fn collect(&self, app: &App) {
        let Some(limiter) = app.kept::<Limiter<AnyBackend>>() else {
            return;
        };
        let cache = limiter.cache_statistics();
        set(&self.cache_hits, cache.hits);
        set(&self.cache_misses, cache.misses);
    }
}

/// The metrics of the running service.
pub(crate) fn metrics(app: &App) -> Result<&LimiterMetrics, ApiError> {
    app.kept_by::<Arc<LimiterMetrics>>("limiter").map(Arc::as_ref)
}
