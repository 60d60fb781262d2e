//! The TCP listener: HTTP/1.1, plain or over TLS, that no client can wedge.
//!
//! The invariant: whatever a client sends, withholds or refuses to read, it holds one connection of
//! a bounded number, for a bounded time, with bounded memory. From accept to close:
//!
//! 1. `accept` takes a connection while fewer than `connections_max` are open, and gives it to one of
//!    the threads of `workers`, where it stays unless `home` finds that it belongs to another.
//! 2. `connection` does the TLS handshake within `handshake_timeout`, then hands over to hyper.
//! 3. `patience` cuts it off when a head does not arrive, nothing is asked, or an answer is not
//!    read; `upload` ends a body that comes too slowly.
//! 4. On stop, idle connections close at once and requests under way finish within `drain_timeout`.
//!
//! Why it is built this way: `docs/adr/0008-listener.md`.

mod accept;
mod burst;
mod connection;
mod home;
mod open_files;
mod patience;
mod rounds;
mod settings;
mod tls;
mod turn;
mod upload;
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

pub use settings::{Settings, TlsFiles};
use tls::Tls;
use workers::Workers;

/// Connections that wait to be accepted, if the kernel allows as many: a burst larger than this
/// waits a second for its next try.
const BACKLOG: u32 = 4_096;

/// Where a server can be reached, as clients write it: `https://127.0.0.1:8443`.
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

/// What a listener serves: a router, or something around one.
pub trait Routes: Clone + Send + Sync + 'static {
    /// An answer on its way.
    type Answer: Answers;

    /// Begins to answer a request of `peer`. Handlers find it in `ConnectInfo<SocketAddr>`.
    fn answer(&mut self, request: Request, peer: SocketAddr) -> Self::Answer;
}

impl Routes for Router {
    type Answer = RouteFuture<Infallible>;

    fn answer(&mut self, mut request: Request, peer: SocketAddr) -> RouteFuture<Infallible> {
        request.extensions_mut().insert(ConnectInfo(peer));
        self.call(request)
    }
}

/// An answer of [`Routes`] on its way.
pub trait Answers: Future<Output = Result<Response, Infallible>> + Send + Unpin + 'static {}

impl<F> Answers for F where F: Future<Output = Result<Response, Infallible>> + Send + Unpin + 'static
{}

/// A listener that is bound and has read its certificate.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    settings: Settings,
    workers: Workers,
    tls: Option<Tls>,
    origin: Origin,
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
        Ok(Listener { tcp, settings, workers, tls, origin })
    }

    /// Where clients reach it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Serves `routes` until `stop`, then drains; each connection gets a clone of them. Dropping the
    /// future cuts every connection off.
    pub async fn serve<R: Routes>(mut self, routes: R, stop: impl Future<Output = ()>) {
        self.settings.connections_max = open_files::make_room(self.settings.connections_max);
        let (certificate, renewal) = match self.tls {
            Some(tls) => (Some(tls.current()), Some(tls)),
            None => (None, None),
        };
        let host = connection::Host::new(routes, &self.settings, certificate);
        let renewing = async {
            match renewal {
                Some(tls) => tls.keep_fresh(self.settings.tls_check_interval).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = accept::run(self.tcp, self.workers, host, &self.settings, stop) => {}
            () = renewing => {}
        }
    }
}

/// Binds the first of the addresses that `address` stands for and that can be used.
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
    // A restart need not wait until the old connections are forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_in_use_is_named() {
        let first = Listener::bind("127.0.0.1:0", Settings::default()).await.unwrap();
        let taken = first.origin().address.to_string();
        let error = Listener::bind(&taken, Settings::default()).await.unwrap_err();
        assert_eq!(error.to_string(), format!("listening on {taken}"));
        assert_eq!(first.origin().to_string(), format!("http://{taken}"));
    }
}
