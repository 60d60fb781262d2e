//! The life of a server: listen, serve, and on SIGTERM or SIGINT finish what is under way, then
//! close the store.

use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use weir_table::{AnyBackend, Error, Result, Store};

use crate::listen::{self, Listener, Origin};
use crate::{router, socket};

/// What a server serves, and where.
#[derive(Debug)]
pub struct Server {
    /// The tables.
    pub store: Store<AnyBackend>,
    /// `HOST:PORT`; port 0 picks a free one.
    pub listen: String,
    /// How the listener treats its clients, and its certificate.
    pub listen_settings: listen::Settings,
    /// The folder of an embedded store, where the socket for commands goes.
    pub data: Option<PathBuf>,
}

/// Serves until SIGTERM or SIGINT. `ready` hears where the server is reached once requests are
/// taken.
///
/// # Errors
/// The address, the certificate or the socket cannot be used, or closing the store fails.
pub async fn run(server: Server, ready: impl FnOnce(Origin)) -> Result<()> {
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

async fn serve(server: &Server, ready: impl FnOnce(Origin)) -> Result<()> {
    // Signals are caught before anything can be reached, so that none ends the process roughly.
    let mut stop = Stop::new()?;
    let (tell, told) = watch::channel(false);
    let mut serving = JoinSet::new();
    let settings = server.listen_settings.clone();
    if let Some(data) = &server.data {
        let doing = || format!("making the socket in {}", data.display());
        let listener = socket::bind(data).map_err(|source| Error::io(doing(), source))?;
        let routes = router::local(server.store.clone());
        let drain_max = settings.drain_timeout;
        serving.spawn(serve_socket(listener, routes, drain_max, told.clone()));
    }
    let listener = Listener::bind(&server.listen, settings).await?;
    let origin = listener.origin();
    let routes = router::public(server.store.clone());
    serving.spawn(listener.serve(routes, stopped(told)));
    ready(origin);

    stop.wait().await;
    tracing::info!("stopping; requests under way are finished first");
    tell.send(true).ok();
    let drained = async { while serving.join_next().await.is_some() {} };
    tokio::select! {
        () = drained => {}
        () = stop.wait() => tracing::warn!("told twice to stop; requests are cut off"),
    }
    Ok(())
}

async fn stopped(mut told: watch::Receiver<bool>) {
    told.wait_for(|stop| *stop).await.ok();
}

/// Serves commands. Who reaches the socket may read the data folder, so there is nothing to guard
/// against.
async fn serve_socket(
    listener: UnixListener,
    routes: Router,
    drain_max: Duration,
    told: watch::Receiver<bool>,
) {
    let served = axum::serve(listener, routes).with_graceful_shutdown(stopped(told.clone()));
    let deadline = async {
        stopped(told).await;
        tokio::time::sleep(drain_max).await;
    };
    tokio::select! {
        served = served => if let Err(error) = served {
            tracing::error!(%error, "the socket failed");
        },
        () = deadline => tracing::warn!("gave up waiting for commands"),
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
