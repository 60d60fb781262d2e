//! Metrics of the store, whichever back-end it is.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use weir_table::AnyBackend;

use super::disk::DiskMetrics;
use super::{gauge, set};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verb {
    verb: &'static str,
}

type Calls = Family<Verb, Counter>;
type Units = Family<Verb, Counter<f64, AtomicU64>>;

#[derive(Debug, Default)]
pub(super) struct StoreMetrics {
    commits: Counter,
    checkpoints: Counter,
    dirty_bytes: Gauge,
    log_bytes: Gauge,
    disk: DiskMetrics,
    dynamodb_calls: Calls,
    dynamodb_retries: Calls,
    dynamodb_throttles: Calls,
    dynamodb_refused: Calls,
    dynamodb_read_units: Units,
    dynamodb_write_units: Units,
}

impl StoreMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let help = "Commits to the embedded store since it was made";
        registry.register("store_commits", help, self.commits.clone());
        let help = "Folds of the dirty set into the base store";
        registry.register("store_checkpoints", help, self.checkpoints.clone());
        let help = "Memory of changes that are not folded yet";
        registry.register("store_dirty_bytes", help, self.dirty_bytes.clone());
        registry.register("store_log_bytes", "Size of the log on disk", self.log_bytes.clone());
        self.disk.register(registry);
        let help = "Calls of DynamoDB, without retries";
        registry.register("dynamodb_calls", help, self.dynamodb_calls.clone());
        registry.register("dynamodb_retries", "Retried calls", self.dynamodb_retries.clone());
        let help = "Calls that DynamoDB throttled";
        registry.register("dynamodb_throttles", help, self.dynamodb_throttles.clone());
        let help = "Writes whose condition did not hold";
        registry.register("dynamodb_conditions_refused", help, self.dynamodb_refused.clone());
        let help = "Read capacity consumed";
        registry.register("dynamodb_read_capacity_units", help, self.dynamodb_read_units.clone());
        let help = "Write capacity consumed";
        registry.register("dynamodb_write_capacity_units", help, self.dynamodb_write_units.clone());
    }

    pub(super) fn collect(&self, backend: &AnyBackend) {
        match backend {
            #[cfg(feature = "embedded")]
            AnyBackend::Embedded(embedded) => {
                let stats = embedded.stats();
                set(&self.commits, stats.last_seq);
                set(&self.checkpoints, stats.checkpoints);
                self.dirty_bytes.set(gauge(stats.dirty_bytes));
                self.log_bytes.set(gauge(stats.log_bytes));
                self.disk.collect(embedded);
            }
            #[cfg(feature = "dynamodb")]
            AnyBackend::Dynamo(dynamo) => {
                for (verb, usage) in dynamo.capacity().verbs {
                    let verb = Verb { verb: verb.name() };
                    set(&self.dynamodb_calls.get_or_create(&verb), usage.calls);
                    set(&self.dynamodb_retries.get_or_create(&verb), usage.retries);
                    set(&self.dynamodb_throttles.get_or_create(&verb), usage.throttles);
                    set(&self.dynamodb_refused.get_or_create(&verb), usage.refused);
                    set_units(&self.dynamodb_read_units, &verb, usage.read_milliunits);
                    set_units(&self.dynamodb_write_units, &verb, usage.write_milliunits);
                }
            }
            _ => {}
        }
    }
}

fn set_units(units: &Units, verb: &Verb, milliunits: u64) {
    let units = units.get_or_create(verb);
    units.inner().store((milliunits as f64 / 1000.0).to_bits(), Ordering::Relaxed);
}
