//! How many requests are under way: never more than are allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use prometheus_client::metrics::gauge::Gauge;

#[derive(Debug, Clone)]
pub(super) struct Turns {
    taken: Arc<AtomicUsize>,
    max: usize,
    in_flight: Gauge,
}

impl Turns {
    pub(super) fn new(max: usize, in_flight: Gauge) -> Arc<Turns> {
        Arc::new(Turns { taken: Arc::default(), max: max.max(1), in_flight })
    }

    /// Another hold of the same turns.
    pub(super) fn apart(&self) -> Arc<Turns> {
        Arc::new(self.clone())
    }

    /// A turn, if one is free. It only counts and guards no other memory, so relaxed order is enough.
    pub(super) fn take(turns: &Arc<Turns>) -> Option<Turn> {
        if turns.taken.fetch_add(1, Relaxed) >= turns.max {
            turns.taken.fetch_sub(1, Relaxed);
            return None;
        }
        turns.in_flight.inc();
        Some(Turn(Arc::clone(turns)))
    }
}

/// Held while a request is under way, also one whose caller leaves.
#[derive(Debug)]
pub(super) struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Relaxed);
        self.0.in_flight.dec();
    }
}
