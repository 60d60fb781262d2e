//! The counters of acquires over the last seconds, from which rates are measured. All streams share them, so that their
//! memory does not grow with the number of streams.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use weir_framework::ApiError;
use weir_framework::app::App;

use crate::limiter::traffic::traffic;

/// Time over which rates are measured.
const SPAN: Duration = Duration::from_secs(10);
/// Least time between two samples.
const BETWEEN: Duration = Duration::from_millis(200);

/// Acquires on the resources of a namespace so far, granted and refused.
type Resources = HashMap<String, (u64, u64)>;

/// The counters at a time, by namespace and resource.
#[derive(Debug)]
struct Sample {
    at: Instant,
    counts: HashMap<String, Resources>,
}

/// The samples of the last seconds, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Samples(Mutex<VecDeque<Arc<Sample>>>);

/// Acquires on a resource within some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Acquires<'s> {
    pub(super) namespace: &'s str,
    pub(super) resource: &'s str,
    pub(super) granted: u64,
    pub(super) refused: u64,
}

impl Acquires<'_> {
    /// Granted and refused ones.
    pub(super) fn sum(&self) -> u64 {
        self.granted.saturating_add(self.refused)
    }
}

/// The oldest and the newest sample.
#[derive(Debug)]
pub(super) struct Span {
    old: Arc<Sample>,
    new: Arc<Sample>,
}

impl Samples {
    /// Takes a sample, unless there is one of this moment. Returns the span up to it.
    pub(super) fn take(&self, app: &App) -> Result<Span, ApiError> {
        let traffic = traffic(app)?;
        let now = Instant::now();
        let mut samples = self.0.lock();
        while samples.front().is_some_and(|old| now.duration_since(old.at) > SPAN) {
            samples.pop_front();
        }
        let new = match samples.back() {
            Some(last) if now.duration_since(last.at) < BETWEEN => Arc::clone(last),
            _ => {
                let mut counts: HashMap<String, Resources> = HashMap::new();
                for of in traffic.counts(|_| true) {
                    let resources = counts.entry(of.namespace).or_default();
                    resources.insert(of.resource, (of.granted, of.refused));
                }
                let new = Arc::new(Sample { at: now, counts });
                samples.push_back(Arc::clone(&new));
                new
            }
        };
        let old = samples.front().map_or_else(|| Arc::clone(&new), Arc::clone);
        Ok(Span { old, new })
    }
}

impl Span {
    /// Length in seconds.
    pub(super) fn secs(&self) -> f64 {
        self.new.at.duration_since(self.old.at).as_secs_f64()
    }

    /// The acquires within the span, of the namespaces that `is_shown` names, on resources with any.
    pub(super) fn acquires(&self, is_shown: impl Fn(&str) -> bool) -> Vec<Acquires<'_>> {
        let shown = self.new.counts.iter().filter(|(namespace, _)| is_shown(namespace));
        let mut acquires = Vec::new();
        for (namespace, resources) in shown {
            let old = self.old.counts.get(namespace);
            for (resource, (granted, refused)) in resources {
                let before = old.and_then(|old| old.get(resource)).copied().unwrap_or_default();
                let (granted, refused) =
                    (granted.saturating_sub(before.0), refused.saturating_sub(before.1));
                if (granted, refused) != (0, 0) {
                    acquires.push(Acquires { namespace, resource, granted, refused });
                }
            }
        }
        acquires
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(at: Instant, counts: &[(&str, &str, (u64, u64))]) -> Arc<Sample> {
        let mut all: HashMap<String, Resources> = HashMap::new();
        for (namespace, resource, counts) in counts {
            let resources = all.entry((*namespace).to_owned()).or_default();
            resources.insert((*resource).to_owned(), *counts);
        }
        Arc::new(Sample { at, counts: all })
    }

    #[tokio::test]
    async fn acquires_are_those_within_the_span() {
        let at = Instant::now();
        let old = sample(at, &[("a", "gpt", (5, 1)), ("a", "quiet", (7, 0)), ("b", "gpt", (1, 0))]);
        let new = sample(
            at + Duration::from_secs(4),
            &[
                ("a", "gpt", (9, 1)),
                ("a", "quiet", (7, 0)),
                ("b", "gpt", (1, 2)),
                ("c", "x", (3, 0)),
            ],
        );
        let span = Span { old, new };
        assert!((span.secs() - 4.0).abs() < 1e-9);
        let of = |namespace, resource, granted, refused| Acquires {
            namespace,
            resource,
            granted,
            refused,
        };
        let mut acquires = span.acquires(|namespace| namespace != "b");
        acquires.sort_by_key(|of| of.namespace);
        assert_eq!(acquires, [of("a", "gpt", 4, 0), of("c", "x", 3, 0)]);
    }
}
