//! The TCP listener: HTTP/1.1, plain or over TLS.
//!
//! The invariant: whatever a client sends, withholds or refuses to read, it holds one connection of
//! a bounded number, for a bounded time, with bounded memory. From accept to close:
//!
//! 1. `accept` closes a connection if its address has too many (`addresses`), lets it wait while
//!    `connections_max` are open, and hands it to the least loaded thread of `workers`, where it
//!    stays.
//! 2. `connection` does the TLS handshake within `handshake_timeout`, then runs hyper.
//! 3. `timed_stream` times out when a head does not arrive, no request follows, or a response is
//!    not read; `timed_body` when a body arrives too slowly.
//! 4. On stop, the next response of each connection says `Connection: close`, idle connections close
//!    after a moment, and requests in progress finish within `drain_timeout`.
//!
//! Why it is built this way: `docs/adr/0008-listener.md`.

mod accept;
mod addresses;
mod certificate_expiry;
mod connection;
mod connection_state;
mod open_files;
mod settings;
mod timed_body;
mod timed_stream;
mod tls;
mod workers;

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use axum::routing::future::RouteFuture;
use tokio::net::{TcpListener, TcpSocket, lookup_host};
use tower_service::Service;
use weir_table::{Error, Result};

use crate::metrics::ListenerMetrics;

pub use self::certificate_expiry::CertificateExpiry;
pub use settings::{Settings, TlsFiles};
use tls::Tls;
use workers::Workers;

/// Connections that wait to be accepted, if the kernel allows as many. Clients beyond it retry
/// after a second.
const BACKLOG: u32 = 4_096;

/// The origin of a server: `https://127.0.0.1:8443`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Whether it speaks TLS.
    pub tls: bool,
    /// Address and port.
    pub address: SocketAddr,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.address)
    }
}

/// The service behind a listener: a router, or a service around one.
pub trait Routes: Clone + Send + Sync + 'static {
    /// The response to one request.
    type Future: Future<Output = Result<Response, Infallible>> + Send + Unpin + 'static;

    /// Handles a request of `peer`, which handlers extract as `ConnectInfo<SocketAddr>`.
    fn call(&mut self, request: Request, peer: SocketAddr) -> Self::Future;
}

impl Routes for Router {
    type Future = RouteFuture<Infallible>;

    fn call(&mut self, mut request: Request, peer: SocketAddr) -> RouteFuture<Infallible> {
        request.extensions_mut().insert(ConnectInfo(peer));
        Service::call(self, request)
    }
}

/// A bound listener that has read its certificate.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    settings: Settings,
    workers: Workers,
    tls: Option<Tls>,
    origin: Origin,
    metrics: ListenerMetrics,
}

impl Listener {
    /// Listens on `address` (`HOST:PORT`; port 0 picks a free one).
    ///
    /// # Errors
    /// The address cannot be used, a setting is out of range, no thread can be started, or the
    /// certificate files are missing, not PEM, or do not belong together.
    pub async fn bind(address: &str, settings: Settings) -> Result<Listener> {
        settings.check()?;
        let tls = settings.tls.clone().map(Tls::read).transpose()?;
        let failed = |source| Error::io(format!("listening on {address}"), source);
        let tcp = bind(address).await.map_err(failed)?;
        let origin = Origin { tls: tls.is_some(), address: tcp.local_addr().map_err(failed)? };
        let workers = Workers::start(settings.threads)?;
        Ok(Listener { tcp, settings, workers, tls, origin, metrics: ListenerMetrics::default() })
    }

    /// The address that clients connect to.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Counts connections in these metrics.
    #[must_use]
    pub fn metrics(self, metrics: ListenerMetrics) -> Listener {
        Listener { metrics, ..self }
    }

    /// The expiry of the certificate; none without TLS.
    pub fn certificate_expiry(&self) -> Option<CertificateExpiry> {
        self.tls.as_ref().map(Tls::expiry)
    }

    /// Serves `routes` until `stop`, then drains; each connection has a clone of them. Dropping the
    /// future closes every connection.
    pub async fn serve<R: Routes>(mut self, routes: R, stop: impl Future<Output = ()>) {
        let (connections, waiting) = open_files::reserve(self.settings.connections_max);
        self.settings.connections_max = connections;
        self.settings.connections_waiting_max = self.settings.connections_waiting_max.min(waiting);
        let certificate = self.tls.as_ref().map(Tls::certificate);
        let metrics = self.metrics;
        let context =
            connection::ServerContext::new(routes, &self.settings, certificate, metrics.clone());
        let reload = async {
            match self.tls {
                Some(tls) => tls.reload_every(self.settings.tls_check_interval).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = accept::run(self.tcp, self.workers, context, &self.settings, metrics, stop) => {}
            () = reload => {}
        }
    }
}

/// Binds the first usable address that `address` resolves to.
async fn bind(address: &str) -> io::Result<TcpListener> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in lookup_host(address).await? {
        match bind_one(address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn bind_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A restart must not wait for old connections in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_error_names_an_address_in_use() {
        let first = Listener::bind("127.0.0.1:0", Settings::default()).await.unwrap();
        let taken = first.origin().address.to_string();
        let error = Listener::bind(&taken, Settings::default()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("listening on {taken}"));
        assert_eq!(first.origin().to_string(), format!("http://{taken}"));
    }
}
