//! `[server]`: where the server listens, and what it lets one client take.

use std::path::PathBuf;

use serde::Serialize;

/// Where the server listens, and what it lets one client take.
#[derive(Debug, Clone, Serialize, confique::Config)]
pub(crate) struct Server {
    /// Address to listen on, HOST:PORT; port 0 picks a free one.
    #[config(default = "127.0.0.1:8080", env = "WEIR_LISTEN")]
    pub(crate) listen: String,
    /// Certificate chain for HTTPS, a PEM file. Goes with tls_key.
    #[config(env = "WEIR_TLS_CERT")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key for HTTPS, a PEM file. Goes with tls_cert.
    #[config(env = "WEIR_TLS_KEY")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Bytes of the largest request body taken.
    #[config(default = 1_048_576, env = "WEIR_BODY_BYTES_MAX")]
    pub(crate) body_bytes_max: usize,
    /// Seconds a client has to send the head of a request.
    #[config(default = 10, env = "WEIR_HEADER_TIMEOUT_SECS")]
    pub(crate) header_timeout_secs: u64,
    /// Seconds a request may take in all.
    #[config(default = 30, env = "WEIR_REQUEST_TIMEOUT_SECS")]
    pub(crate) request_timeout_secs: u64,
    /// Connections open at once.
    #[config(default = 16_384, env = "WEIR_CONNECTIONS_MAX")]
    pub(crate) connections_max: usize,
    /// Requests under way at once.
    #[config(default = 1024, env = "WEIR_REQUESTS_MAX")]
    pub(crate) requests_max: usize,
    /// Seconds that requests under way may take to finish once the server was told to stop.
    #[config(default = 30, env = "WEIR_DRAIN_TIMEOUT_SECS")]
    pub(crate) drain_timeout_secs: u64,
    /// Whether answers are compressed for clients that take it.
    #[config(default = true, env = "WEIR_COMPRESSION")]
    pub(crate) compression: bool,
}
