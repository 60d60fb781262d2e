//! Acquires by namespace and resource, counted in memory for the console. The counters are of this instance and since its
//! start; metrics have no such labels, because their number is not bounded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::RwLock;
use weir_framework::ApiError;
use weir_framework::app::App;

/// Resources that are counted, over all namespaces. Acquires on further ones are in the metrics only.
const RESOURCES_MAX: usize = 1_024;

/// Acquires on a resource.
#[derive(Debug, Default)]
struct Counters {
    granted: AtomicU64,
    refused: AtomicU64,
}

impl Counters {
    fn count(&self, is_granted: bool) {
        let counter = if is_granted { &self.granted } else { &self.refused };
        counter.fetch_add(1, Relaxed);
    }
}

/// Acquires on a resource so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceCounts {
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) granted: u64,
    pub(crate) refused: u64,
}

/// Counters by namespace and resource. Every acquire looks one up: comparing a few short names takes less than hashing one.
type ByNamespace = BTreeMap<String, BTreeMap<String, Arc<Counters>>>;

/// Acquires of this instance.
#[derive(Debug)]
pub(crate) struct Traffic {
    since_ms: u64,
    /// Number of counters, so that the bound costs no lock.
    resources: AtomicUsize,
    counters: RwLock<ByNamespace>,
}

impl Traffic {
    pub(super) fn new(since_ms: u64) -> Traffic {
        Traffic { since_ms, resources: AtomicUsize::new(0), counters: RwLock::default() }
    }

    /// When counting began, in milliseconds since 1970.
    pub(crate) fn since_ms(&self) -> u64 {
        self.since_ms
    }

    /// Counts an acquire.
    pub(super) fn count(&self, namespace: &str, resource: &str, is_granted: bool) {
        // Under the lock, which is cheaper than to share the counters.
        let found = |all: &ByNamespace| {
            all.get(namespace)?.get(resource).map(|counters| counters.count(is_granted))
        };
        if found(&self.counters.read()).is_none()
            && let Some(counters) = self.add(namespace, resource)
        {
            counters.count(is_granted);
        }
    }

    fn add(&self, namespace: &str, resource: &str) -> Option<Arc<Counters>> {
        if self.resources.load(Relaxed) >= RESOURCES_MAX {
            return None;
        }
        let mut all = self.counters.write();
        let of_namespace = all.entry(namespace.to_owned()).or_default();
        let counters = Arc::clone(of_namespace.entry(resource.to_owned()).or_default());
        self.resources.store(all.values().map(BTreeMap::len).sum(), Relaxed);
        Some(counters)
    }

    /// The counters of the namespaces that `is_shown` names.
    pub(crate) fn counts(&self, is_shown: impl Fn(&str) -> bool) -> Vec<ResourceCounts> {
        let all = self.counters.read();
        let shown = all.iter().filter(|(namespace, _)| is_shown(namespace));
        let of_namespace = |(namespace, resources): (&String, &BTreeMap<String, Arc<Counters>>)| {
            let namespace = namespace.clone();
            let counts = resources.iter().map(|(resource, counters)| ResourceCounts {
                namespace: namespace.clone(),
                resource: resource.clone(),
                granted: counters.granted.load(Relaxed),
                refused: counters.refused.load(Relaxed),
            });
            counts.collect::<Vec<_>>()
        };
        shown.flat_map(of_namespace).collect()
    }
}

/// The counters of the running server.
pub(crate) fn traffic(app: &App) -> Result<&Traffic, ApiError> {
    app.kept_by("limiter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acquires_are_counted_by_resource_and_bounded() {
        let traffic = Traffic::new(7);
        for (namespace, resource, is_granted) in
            [("a", "gpt", true), ("a", "gpt", true), ("a", "gpt", false), ("b", "gpt", true)]
        {
            traffic.count(namespace, resource, is_granted);
        }
        let counts = traffic.counts(|namespace| namespace == "a");
        let expected = ResourceCounts {
            namespace: "a".to_owned(),
            resource: "gpt".to_owned(),
            granted: 2,
            refused: 1,
        };
        assert_eq!((counts, traffic.since_ms()), (vec![expected], 7));
        for number in 0..2 * RESOURCES_MAX {
            traffic.count("many", &number.to_string(), true);
        }
        assert_eq!(traffic.counts(|_| true).len(), RESOURCES_MAX);
        traffic.count("b", "gpt", true);
        assert_eq!(traffic.counts(|namespace| namespace == "b")[0].granted, 2);
    }
}
