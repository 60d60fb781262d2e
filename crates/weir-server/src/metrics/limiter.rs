//! What the limiter did.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_limiter::Limiter;
use weir_table::AnyBackend;

use crate::app::App;

/// What became of a request for tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Granted,
    Refused,
    Degraded,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Label {
    result: &'static str,
}

/// The limiter's counters. Those of the hot path are made once: a request looks nothing up.
#[derive(Debug)]
pub(crate) struct Counts {
    acquires: Family<Label, Counter>,
    granted: Counter,
    refused: Counter,
    degraded: Counter,
    errors: Counter,
    pub(crate) leases_open: Gauge,
    cache_hits: Gauge,
    cache_misses: Gauge,
}

impl Default for Counts {
    fn default() -> Counts {
        let acquires = Family::<Label, Counter>::default();
        let of = |result| acquires.get_or_create(&Label { result }).clone();
        let (granted, refused) = (of("granted"), of("refused"));
        let (degraded, errors) = (of("degraded"), of("error"));
        Counts {
            acquires,
            granted,
            refused,
            degraded,
            errors,
            leases_open: Gauge::default(),
            cache_hits: Gauge::default(),
            cache_misses: Gauge::default(),
        }
    }
}

impl Counts {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Requests for tokens, by what became of them";
        registry.register("limiter_acquires", help, self.acquires.clone());
        let help = "Leases that are held until they are settled or expire";
        registry.register("limiter_leases_open", help, self.leases_open.clone());
        let help = "Config levels answered from memory";
        registry.register("limiter_cache_hits", help, self.cache_hits.clone());
        let help = "Config levels read from the store";
        registry.register("limiter_cache_misses", help, self.cache_misses.clone());
    }

    /// Counts a request for tokens.
    pub(crate) fn acquired(&self, taken: Taken) {
        match taken {
            Taken::Granted => &self.granted,
            Taken::Refused => &self.refused,
            Taken::Degraded => &self.degraded,
            Taken::Error => &self.errors,
        }
        .inc();
    }

    /// Takes the figures that the limiter keeps.
    pub(super) fn look(&self, app: &App) {
        let Some(limiter) = app.kept::<Limiter<AnyBackend>>() else {
            return;
        };
        let told = limiter.cache_statistics();
        self.cache_hits.set(super::gauge(told.hits));
        self.cache_misses.set(super::gauge(told.misses));
    }
}
