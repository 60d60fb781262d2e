//! The limit of concurrent requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use prometheus_client::metrics::gauge::Gauge;

#[derive(Debug, Clone)]
pub(super) struct ConcurrencyLimit {
    permits: Arc<AtomicUsize>,
    max: usize,
    in_flight: Gauge,
}

impl ConcurrencyLimit {
    pub(super) fn new(max: usize, in_flight: Gauge) -> Arc<ConcurrencyLimit> {
        Arc::new(ConcurrencyLimit { permits: Arc::default(), max: max.max(1), in_flight })
    }

    /// Another handle to the same limit, whose reference count is not shared with other cores.
    pub(super) fn handle(&self) -> Arc<ConcurrencyLimit> {
        Arc::new(self.clone())
    }

    /// A permit, unless all are taken. The counter guards no other memory, so relaxed order is
    /// enough.
    pub(super) fn try_acquire(limit: &Arc<ConcurrencyLimit>) -> Option<Permit> {
        if limit.permits.fetch_add(1, Relaxed) >= limit.max {
            limit.permits.fetch_sub(1, Relaxed);
            return None;
        }
        limit.in_flight.inc();
        Some(Permit(Arc::clone(limit)))
    }
}

/// Held while a request is in progress; released also when its client disconnects.
#[derive(Debug)]
pub(super) struct Permit(Arc<ConcurrencyLimit>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.permits.fetch_sub(1, Relaxed);
        self.0.in_flight.dec();
    }
}
