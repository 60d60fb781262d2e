//! Metrics of one route. A response finds its counter without hashing and without a lock.

use std::sync::OnceLock;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use super::{Durations, FastPathRequests, Request, Requests, Route};

/// Number of counters of a route that are found without hashing, by method and status.
const USUAL_MAX: usize = 8;

/// The metrics of a route.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    route: &'static str,
    requests: Requests,
    durations: Durations,
    fast_path_requests: FastPathRequests,
    usual: [OnceLock<Usual>; USUAL_MAX],
    took: OnceLock<Histogram>,
    fast_path: OnceLock<Counter>,
}

/// A counter with its method and status.
#[derive(Debug)]
struct Usual {
    method: &'static str,
    status: u16,
    count: Counter,
}

impl RouteMetrics {
    pub(super) fn new(
        route: &'static str,
        requests: Requests,
        durations: Durations,
        fast_path_requests: FastPathRequests,
    ) -> RouteMetrics {
        let usual = std::array::from_fn(|_| OnceLock::new());
        RouteMetrics {
            route,
            requests,
            durations,
            fast_path_requests,
            usual,
            took: OnceLock::new(),
            fast_path: OnceLock::new(),
        }
    }

    /// Counts a request that takes the fast path.
    pub(crate) fn count_fast_path(&self) {
        let route = self.route;
        let counter = || self.fast_path_requests.get_or_create(&Route { route }).clone();
        self.fast_path.get_or_init(counter).inc();
    }

    /// Counts a response.
    pub(crate) fn observe(&self, method: &'static str, status: u16, took: Duration) {
        match self.usual(method, status) {
            Some(usual) => usual.count.inc(),
            None => self.counter(method, status).inc(),
        };
        let route = self.route;
        let histogram = || self.durations.get_or_create(&Route { route }).clone();
        self.took.get_or_init(histogram).observe(took.as_secs_f64());
    }

    /// A new combination takes the first free place.
    fn usual(&self, method: &'static str, status: u16) -> Option<&Usual> {
        let make = || Usual { method, status, count: self.counter(method, status) };
        let mut usual = self.usual.iter().map(|place| place.get_or_init(make));
        usual.find(|usual| usual.status == status && usual.method == method)
    }

    fn counter(&self, method: &'static str, status: u16) -> Counter {
        self.requests.get_or_create(&Request { method, route: self.route, status }).clone()
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::super::Metrics;
    use super::*;

    #[test]
    fn every_response_is_counted_once() {
        let metrics = Metrics::new(Vec::new());
        let route = metrics.route("/a");
        for status in 200..220 {
            for method in ["GET", "POST", "POST"] {
                route.observe(method, status, Duration::ZERO);
            }
        }
        let mut text = String::new();
        encode(&mut text, &metrics.registry).unwrap();
        for status in 200..220 {
            for (method, count) in [("GET", 1), ("POST", 2)] {
                let labels = format!("method=\"{method}\",route=\"/a\",status=\"{status}\"");
                let line = format!("weir_http_requests_total{{{labels}}} {count}\n");
                assert!(text.contains(&line), "{line} in {text}");
            }
        }
        assert!(text.contains("duration_seconds_count{route=\"/a\"} 60\n"), "{text}");
    }

    #[test]
    fn a_route_without_requests_has_no_series() {
        let metrics = Metrics::new(Vec::new());
        let _route = metrics.route("/a");
        let mut text = String::new();
        encode(&mut text, &metrics.registry).unwrap();
        assert!(!text.contains("route="), "{text}");
    }
}
