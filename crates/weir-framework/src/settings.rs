//! The sections `[server]` and `[jobs]` of the configuration, and the only place with their defaults.
//!
//! Each field declares its documentation, default and environment variable once; a service does the same for its own
//! section.

use std::path::PathBuf;

use serde::Serialize;

use crate::client_address::ForwardedHeader;
use crate::networks::Networks;

/// The listener and its limits.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub struct ServerSettings {
    /// Address to listen on, HOST:PORT. Port 0 selects a free port.
    #[config(default = "127.0.0.1:8080", env = "WEIR_LISTEN")]
    pub listen: String,
    /// Certificate chain for HTTPS: a PEM file. Requires tls_key.
    #[config(env = "WEIR_TLS_CERT")]
    pub tls_cert: Option<PathBuf>,
    /// Private key for HTTPS: a PEM file. Requires tls_cert.
    #[config(env = "WEIR_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
    /// Maximum size of a request body in bytes. Requests that record reviews may have 10 MiB, whatever it is.
    #[config(default = 1_048_576, env = "WEIR_BODY_BYTES_MAX")]
    pub body_bytes_max: usize,
    /// Seconds within which a client must send the headers of a request.
    #[config(default = 10, env = "WEIR_HEADER_TIMEOUT_SECS")]
    pub header_timeout_secs: u64,
    /// Maximum duration of a request in seconds.
    #[config(default = 30, env = "WEIR_REQUEST_TIMEOUT_SECS")]
    pub request_timeout_secs: u64,
    /// Maximum number of open connections. Further ones wait; of this machine (loopback) 64 more are served.
    #[config(default = 16_384, env = "WEIR_CONNECTIONS_MAX")]
    pub connections_max: usize,
    /// Maximum number of open connections of one address (IPv6: of one /64 network), and at most a quarter of those that are
    /// free, but 8 in any case. Further ones are closed at once. The networks in trusted_proxies and this machine (loopback)
    /// have no such limit.
    #[config(default = 1024, env = "WEIR_CONNECTIONS_PER_ADDRESS_MAX")]
    pub connections_per_address_max: usize,
    /// Maximum number of concurrent requests. A request whose body is still arriving does not count.
    #[config(default = 1024, env = "WEIR_REQUESTS_MAX")]
    pub requests_max: usize,
    /// Maximum memory of all request bodies in flight, in bytes. Small bodies that arrive with their headers do not count.
    #[config(default = 268_435_456, env = "WEIR_BODY_BYTES_IN_FLIGHT_MAX")]
    pub body_bytes_in_flight_max: usize,
    /// Seconds between the stop signal and the end of accepting connections. Requests are served during that time and
    /// /readyz returns 503, so that load balancers send no more of them.
    #[config(default = 0, env = "WEIR_DRAIN_DELAY_SECS")]
    pub drain_delay_secs: u64,
    /// Seconds that requests in progress may take to finish when the server stops.
    #[config(default = 30, env = "WEIR_DRAIN_TIMEOUT_SECS")]
    pub drain_timeout_secs: u64,
    /// Networks of reverse proxies, like ["10.0.0.0/8"]. Behind one of them, the client's address is the last address in
    /// `Forwarded` or `X-Forwarded-For` that is not in these networks. Headers of other peers are ignored.
    #[config(default = [], env = "WEIR_TRUSTED_PROXIES")]
    pub trusted_proxies: Networks,
    /// Header in which those proxies report the client's address: "x-forwarded-for", "forwarded", or "any". With "any", a
    /// request whose two headers disagree counts for the proxy; name the header that your proxy sets, so that a client cannot
    /// hide its address behind the other.
    #[config(default = "any", env = "WEIR_FORWARDED_HEADER")]
    pub forwarded_header: ForwardedHeader,
    /// Whether to compress responses for clients that accept it.
    #[config(default = true, env = "WEIR_COMPRESSION")]
    pub compression: bool,
}

/// Background jobs.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub struct JobSettings {
    /// Seconds between two runs of the aggregators.
    #[config(default = 10, env = "WEIR_AGGREGATE_INTERVAL")]
    pub aggregate_interval_secs: u64,
    /// Whether this instance runs background jobs.
    #[config(default = true, env = "WEIR_JOBS_ENABLED")]
    pub enabled: bool,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        defaults()
    }
}

impl Default for JobSettings {
    fn default() -> JobSettings {
        defaults()
    }
}

/// The defaults that the fields of a section declare.
///
/// # Panics
/// A field has neither a default nor an `Option`. Tests load every section, so that is found there.
#[expect(clippy::expect_used, reason = "a mistake in a declaration, found by every test")]
#[must_use]
pub fn defaults<C: confique::Config>() -> C {
    C::builder().load().expect("every field has a default")
}

/// The problem of one value of a section: its key without the section, and a description.
pub type SettingProblem = (&'static str, String);

/// Checks that a number is in its range.
#[must_use]
pub fn in_range<T: PartialOrd + std::fmt::Display>(
    key: &'static str,
    value: T,
    range: std::ops::RangeInclusive<T>,
) -> Option<SettingProblem> {
    let (least, most) = (range.start(), range.end());
    let problem = || (key, format!("is {value}; it must be from {least} to {most}"));
    (!range.contains(&value)).then(problem)
}

/// Checks that a URL names a bucket or a folder.
#[must_use]
pub fn object_store_problem(url: &str) -> Option<String> {
    let rest = url.strip_prefix("s3://").or_else(|| url.strip_prefix("file:///"));
    let is_good = rest.is_some_and(|rest| !rest.trim_matches('/').is_empty());
    (!is_good).then(|| format!("{url:?} is not s3://BUCKET/PREFIX or file:///FOLDER"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_stores_are_buckets_or_folders() {
        for good in ["s3://bucket", "s3://bucket/a/b", "file:///var/audit"] {
            assert_eq!(object_store_problem(good), None, "{good}");
        }
        for bad in ["", "bucket", "s3://", "file://var", "file:///", "https://x"] {
            assert!(object_store_problem(bad).is_some(), "{bad}");
        }
    }
}
