//! What the requests of a listener share: permits of the concurrency limit, and memory for request bodies.
//!
//! A request holds a permit while the server works on it, and none while its body is on its way: slow clients cost a
//! connection, not a permit. When all permits are taken, probes and operators take one of a small reserve.
//! Why: `docs/adr/0038-permits-and-reserves.md`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use axum::extract::Request;
use axum::http::header;
use prometheus_client::metrics::gauge::Gauge;

use super::Settings;
use crate::authorize::API_KEY;
use crate::limits;
use crate::metrics::{Metrics, Rejection, Rejections, gauge};
use crate::{ApiError, Code};

/// Permits that only readiness probes may take, once all others are taken.
const PROBES_RESERVED: usize = 16;
/// Permits that only operators may take, once all others are taken.
const OPERATORS_RESERVED: usize = 16;
/// The `Retry-After` of a request that the server has no capacity for.
const RETRY_SECS: u64 = 1;
/// `Authorization` of an operator who sends the admin key as a bearer token.
const BEARER_ADMIN_KEY: &str = "bearer wak_";

/// The kind of caller that a permit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Pool {
    /// No permit is held.
    None,
    Everyone,
    /// Readiness probes, which wait for the store.
    Probes,
    /// Whoever sends the admin key, and scrapers of `/metrics`. `authorize` checks that they are.
    Operators,
    /// The liveness probe. It waits for nothing, so it needs no bound.
    Liveness,
}

impl Pool {
    /// The reserve that a request may use; none for most.
    fn reserved_for(request: &Request) -> Option<Pool> {
        match request.uri().path() {
            "/healthz" => return Some(Pool::Liveness),
            "/readyz" | "/health" => return Some(Pool::Probes),
            "/metrics" => return Some(Pool::Operators),
            _ => {}
        }
        let authorization = request.headers().get(header::AUTHORIZATION);
        let start = authorization.and_then(|value| value.as_bytes().get(..BEARER_ADMIN_KEY.len()));
        let is_key =
            start.is_some_and(|start| start.eq_ignore_ascii_case(BEARER_ADMIN_KEY.as_bytes()));
        (is_key || request.headers().contains_key(API_KEY)).then_some(Pool::Operators)
    }
}

/// Permits and memory. The counters guard no other memory, so relaxed order is enough.
#[derive(Debug, Clone)]
pub(super) struct Capacity {
    /// Permits taken, by pool.
    permits: Arc<[AtomicUsize; 5]>,
    requests_max: usize,
    in_flight: Gauge,
    body_bytes: Arc<AtomicUsize>,
    body_bytes_max: usize,
    body_bytes_in_flight: Gauge,
    rejections: Rejections,
}

impl Capacity {
    pub(super) fn new(settings: &Settings, metrics: &Metrics) -> Arc<Capacity> {
        Arc::new(Capacity {
            permits: Arc::default(),
            requests_max: settings.requests_max.max(1),
            in_flight: metrics.in_flight.clone(),
            body_bytes: Arc::default(),
            body_bytes_max: settings.body_bytes_in_flight_max,
            body_bytes_in_flight: metrics.body_bytes_in_flight.clone(),
            rejections: metrics.rejections.clone(),
        })
    }

    /// Another handle to the same capacity, whose reference count is not shared with other cores.
    pub(super) fn handle(&self) -> Arc<Capacity> {
        Arc::new(self.clone())
    }

    fn max(&self, pool: Pool) -> usize {
        match pool {
            Pool::None => 0,
            Pool::Everyone => self.requests_max,
            Pool::Probes => PROBES_RESERVED,
            Pool::Operators => OPERATORS_RESERVED,
            Pool::Liveness => usize::MAX,
        }
    }

    fn try_acquire(&self, pool: Pool) -> bool {
        let Some(taken) = self.permits.get(pool as usize) else { return false };
        let is_free = taken.fetch_add(1, Relaxed) < self.max(pool);
        match is_free {
            true => self.in_flight.inc(),
            false => taken.fetch_sub(1, Relaxed) as i64,
        };
        is_free
    }

    fn release(&self, pool: u8) {
        if pool != Pool::None as u8
            && let Some(taken) = self.permits.get(usize::from(pool))
        {
            taken.fetch_sub(1, Relaxed);
            self.in_flight.dec();
        }
    }

    fn try_reserve(&self, bytes: usize) -> bool {
        let reserved = self.body_bytes.fetch_add(bytes, Relaxed).saturating_add(bytes);
        let fits = reserved <= self.body_bytes_max;
        match fits {
            true => self.body_bytes_in_flight.inc_by(gauge(bytes as u64)),
            false => self.body_bytes.fetch_sub(bytes, Relaxed) as i64,
        };
        fits
    }

    fn free(&self, bytes: usize) {
        self.body_bytes.fetch_sub(bytes, Relaxed);
        self.body_bytes_in_flight.dec_by(gauge(bytes as u64));
    }
}

/// The share of one request: at most one permit, and the memory of its body. Given back when the request ends.
#[derive(Debug)]
pub(crate) struct Admission {
    capacity: Arc<Capacity>,
    pool: AtomicU8,
    body_bytes: AtomicUsize,
}

impl Admission {
    pub(super) fn new(capacity: &Arc<Capacity>) -> Admission {
        Admission {
            capacity: Arc::clone(capacity),
            pool: AtomicU8::new(Pool::None as u8),
            body_bytes: AtomicUsize::new(0),
        }
    }

    /// Takes a permit for the head of a request; returns whether there was one.
    pub(super) fn admit(&self, request: &Request) -> bool {
        self.acquire(Pool::Everyone)
            || Pool::reserved_for(request).is_some_and(|pool| self.acquire(pool))
    }

    /// Takes the permit again that [`Admission::pause`] has given back.
    pub(crate) fn resume(&self, is_admin: bool) -> bool {
        self.pool.load(Relaxed) != Pool::None as u8
            || self.acquire(Pool::Everyone)
            || (is_admin && self.acquire(Pool::Operators))
    }

    /// Gives the permit back while the server waits for the client.
    pub(crate) fn pause(&self) {
        self.capacity.release(self.pool.swap(Pool::None as u8, Relaxed));
    }

    /// Whether the request runs on the reserve of operators, which its caller must turn out to be.
    pub(crate) fn is_for_operators(&self) -> bool {
        self.pool.load(Relaxed) == Pool::Operators as u8
    }

    /// Reserves memory for `bytes` more of the body.
    ///
    /// # Errors
    /// The bodies in flight leave no room, or this one alone would not fit.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), ApiError> {
        let max = self.capacity.body_bytes_max;
        if self.body_bytes.load(Relaxed).saturating_add(bytes) > max {
            return Err(crate::body::too_large(max));
        }
        if !self.capacity.try_reserve(bytes) {
            self.reject(Rejection::BodyMemory);
            return Err(no_capacity("memory for request bodies"));
        }
        self.body_bytes.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// Counts a request that ends without its handler.
    pub(crate) fn reject(&self, reason: Rejection) {
        self.capacity.rejections.count(reason);
    }

    /// Counts a request beyond the concurrency limit; returns its error.
    pub(crate) fn overloaded(&self) -> ApiError {
        self.reject(Rejection::Overloaded);
        no_capacity("concurrent requests")
    }

    /// Gives everything back.
    pub(super) fn end(&self) {
        self.pause();
        // Most requests have reserved nothing.
        if self.body_bytes.load(Relaxed) > 0 {
            self.capacity.free(self.body_bytes.swap(0, Relaxed));
        }
    }

    fn acquire(&self, pool: Pool) -> bool {
        let is_taken = self.capacity.try_acquire(pool);
        if is_taken {
            self.pool.store(pool as u8, Relaxed);
        }
        is_taken
    }
}

/// A request ends here also when its client disconnects.
impl Drop for Admission {
    fn drop(&mut self) {
        self.end();
    }
}

fn no_capacity(what: &str) -> ApiError {
    let detail = format!("the server is at its limit of {what}; retry after {RETRY_SECS} s");
    limits::retry_after(ApiError::new(Code::SERVICE_UNAVAILABLE, detail), RETRY_SECS)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn capacity(requests_max: usize, body_bytes_in_flight_max: usize) -> Arc<Capacity> {
        let settings = Settings { requests_max, body_bytes_in_flight_max, ..Settings::default() };
        Capacity::new(&settings, &Metrics::new(Vec::new()))
    }

    fn request(path: &str, headers: &[(&str, &str)]) -> Request {
        let builder =
            headers.iter().fold(Request::builder().uri(path), |builder, (name, value)| {
                builder.header(*name, *value)
            });
        builder.body(Body::empty()).unwrap()
    }

    #[test]
    fn probes_and_operators_have_reserves_of_their_own() {
        let capacity = capacity(1, 0);
        let admitted = |path: &str, headers: &[(&str, &str)]| {
            let admission = Admission::new(&capacity);
            admission.admit(&request(path, headers)).then_some(admission)
        };
        let first = admitted("/v1/tokens", &[]).unwrap();
        assert!(admitted("/v1/tokens", &[]).is_none());
        assert!(admitted("/v1/tokens", &[("authorization", "Bearer ey")]).is_none());
        let key = [("x-api-key", "any")];
        let operators: Vec<_> = (0..OPERATORS_RESERVED).map(|_| admitted("/a", &key)).collect();
        assert!(operators.iter().flatten().all(Admission::is_for_operators));
        assert_eq!(operators.iter().flatten().count(), OPERATORS_RESERVED);
        assert!(admitted("/a", &key).is_none());
        assert!(admitted("/a", &[("authorization", "bearer WAK_x")]).is_none());
        let probes: Vec<_> = (0..PROBES_RESERVED).map(|_| admitted("/readyz", &[])).collect();
        assert_eq!(probes.iter().flatten().count(), PROBES_RESERVED);
        assert!(admitted("/health", &[]).is_none());
        let alive: Vec<_> = (0..1_000).map(|_| admitted("/healthz", &[])).collect();
        assert_eq!(alive.iter().flatten().count(), 1_000);
        drop(operators);
        assert!(admitted("/metrics", &[]).is_some_and(|admission| admission.is_for_operators()));
        drop(first);
        assert!(admitted("/v1/tokens", &[]).is_some());
        drop((probes, alive));
        assert_eq!(capacity.in_flight.get(), 0);
    }

    #[test]
    fn a_request_that_waits_for_its_client_holds_no_permit() {
        let capacity = capacity(1, 0);
        let (slow, other) = (Admission::new(&capacity), Admission::new(&capacity));
        assert!(slow.admit(&request("/a", &[])));
        slow.pause();
        slow.pause();
        assert!(other.admit(&request("/a", &[])));
        assert!(!slow.resume(false));
        assert!(slow.resume(true) && slow.is_for_operators());
        drop(other);
        assert!(slow.resume(false), "it holds a permit already");
        slow.pause();
        assert!(slow.resume(false) && !slow.is_for_operators());
        assert_eq!(capacity.in_flight.get(), 1);
    }

    #[test]
    fn memory_is_bounded_for_all_bodies_together() {
        let capacity = capacity(1, 100);
        let (one, other) = (Admission::new(&capacity), Admission::new(&capacity));
        one.reserve(60).unwrap();
        assert_eq!(one.reserve(41).unwrap_err().code(), Code::PAYLOAD_TOO_LARGE);
        other.reserve(40).unwrap();
        let refused = other.reserve(1).unwrap_err();
        assert_eq!(refused.code(), Code::SERVICE_UNAVAILABLE);
        assert_eq!(capacity.body_bytes_in_flight.get(), 100);
        drop(one);
        other.reserve(60).unwrap();
        drop(other);
        assert_eq!(capacity.body_bytes_in_flight.get(), 0);
    }
}
