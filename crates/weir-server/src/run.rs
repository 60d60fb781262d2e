//! The life of a server: listen, serve, and on SIGTERM or SIGINT finish what is under way, then
//! close the store.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use weir_table::{AnyBackend, Error, Result, Store};

use crate::{router, socket};

/// How long requests under way may take to finish once the server was told to stop.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// What a server serves, and where.
#[derive(Debug)]
pub struct Server {
    /// The tables.
    pub store: Store<AnyBackend>,
    /// `HOST:PORT`; port 0 picks a free one.
    pub listen: String,
    /// The folder of an embedded store, where the socket for commands goes.
    pub data: Option<PathBuf>,
}

/// Serves until SIGTERM or SIGINT. `ready` hears of the address once requests are taken.
///
/// # Errors
/// The address or the socket cannot be used, or closing the store fails.
pub async fn run(server: Server, ready: impl FnOnce(SocketAddr)) -> Result<()> {
    let served = serve(&server, ready).await;
    if let Some(data) = &server.data
        && let Err(error) = socket::remove(data)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the socket could not be removed");
    }
    let closed = server.store.backend().close().await;
    served.and(closed)
}

async fn serve(server: &Server, ready: impl FnOnce(SocketAddr)) -> Result<()> {
    // Signals are caught before anything can be reached, so that none ends the process roughly.
    let mut stop = Stop::new()?;
    let (tell, told) = watch::channel(false);
    let mut serving = JoinSet::new();
    if let Some(data) = &server.data {
        let doing = || format!("making the socket in {}", data.display());
        let listener = socket::bind(data).map_err(|source| Error::io(doing(), source))?;
        let routes = router::local(server.store.clone());
        serving.spawn(serve_on(listener, routes, told.clone()));
    }
    let doing = || format!("listening on {}", server.listen);
    let listener = TcpListener::bind(&server.listen)
        .await
        .map_err(|source| Error::io(doing(), source))?;
    let address = listener
        .local_addr()
        .map_err(|source| Error::io(doing(), source))?;
    let routes = router::public(server.store.clone());
    serving.spawn(serve_on(listener, routes, told));
    ready(address);

    stop.wait().await;
    tracing::info!("stopping; requests under way are finished first");
    tell.send(true).ok();
    let drained = async { while serving.join_next().await.is_some() {} };
    tokio::select! {
        () = drained => {}
        () = tokio::time::sleep(DRAIN_MAX) => tracing::warn!("gave up waiting for requests"),
        () = stop.wait() => tracing::warn!("told twice to stop; requests are cut off"),
    }
    Ok(())
}

async fn serve_on<L>(listener: L, routes: Router, mut told: watch::Receiver<bool>)
where
    L: axum::serve::Listener,
    L::Addr: std::fmt::Debug,
{
    let stopped = async move {
        told.wait_for(|stop| *stop).await.ok();
    };
    let served = axum::serve(listener, routes)
        .with_graceful_shutdown(stopped)
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "a listener failed");
    }
}

/// The signals that end a server.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    fn new() -> Result<Stop> {
        let catch = |kind| signal(kind).map_err(|source| Error::io("catching signals", source));
        Ok(Stop {
            terminate: catch(SignalKind::terminate())?,
            interrupt: catch(SignalKind::interrupt())?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
