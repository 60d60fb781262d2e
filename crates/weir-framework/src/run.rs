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

use crate::app::{App, Service, Settings};
use crate::listen::{self, Listener, Origin};
use crate::{router, socket};

/// What a server serves, and where.
pub struct Server {
    /// The tables.
    pub store: Store<AnyBackend>,
    /// What it serves beside its own routes.
    pub services: Vec<Box<dyn Service>>,
    /// Keys, bounds, jobs.
    pub settings: Settings,
    /// `HOST:PORT`; port 0 picks a free one.
    pub listen: String,
    /// How the listener treats its clients, and its certificate.
    pub listen_settings: listen::Settings,
    /// The folder of an embedded store, where the socket for commands goes.
    pub data: Option<PathBuf>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// A server that takes requests.
#[derive(Debug, Clone)]
pub struct Started {
    /// Where it is reached.
    pub origin: Origin,
    /// Where the admin key was saved, when this start made one.
    pub admin_key_file: Option<PathBuf>,
}

/// Serves until SIGTERM or SIGINT. `ready` hears where the server is reached once requests are
/// taken.
///
/// # Errors
/// A setting, the address, the certificate or the socket cannot be used, or closing the store fails.
pub async fn run(server: Server, ready: impl FnOnce(Started)) -> Result<()> {
    // Signals are caught before anything can be reached, so that none ends the process roughly.
    let mut stop = Stop::new()?;
    run_until(server, ready, async || stop.wait().await).await
}

/// Serves until `stop` ends; when it ends once more, requests under way are cut off.
///
/// # Errors
/// As [`run`].
pub async fn run_until(
    server: Server,
    ready: impl FnOnce(Started),
    stop: impl AsyncFnMut(),
) -> Result<()> {
    let store = server.store.clone();
    let data = server.data.clone();
    let served = serve(server, ready, stop).await;
    if let Some(data) = &data
        && let Err(error) = socket::remove(data)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the socket could not be removed");
    }
    let closed = store.backend().close().await;
    served.and(closed)
}

async fn serve(
    server: Server,
    ready: impl FnOnce(Started),
    mut stop: impl AsyncFnMut(),
) -> Result<()> {
    let Server { store, services, settings, listen, mut listen_settings, data } = server;
    if data.is_none() {
        // A store elsewhere is reached by connections that all requests and jobs share, in one runtime.
        listen_settings.threads = 0;
    }
    let drain_max = listen_settings.drain_timeout;
    let listener = Listener::bind(&listen, listen_settings).await?;
    let app = App::open(store, settings, data.clone(), &services).await?;
    let admin_key_file = app.ensure_admin_key().await?;
    let (stop_sender, stop_signal) = watch::channel(false);
    let mut serving = JoinSet::new();
    if let Some(data) = &data {
        let doing = || format!("making the socket in {}", data.display());
        let listener = socket::bind(data).map_err(|source| Error::io(doing(), source))?;
        let routes = router::local(&app, &services);
        serving.spawn(serve_socket(listener, routes, drain_max, stop_signal.clone()));
    }
    let origin = listener.origin();
    let routes = router::public(&app, &services);
    serving.spawn(listener.serve(routes, stopped(stop_signal)));
    ready(Started { origin, admin_key_file });

    stop().await;
    tracing::info!("stopping; requests under way are finished first");
    stop_sender.send(true).ok();
    let drained = async {
        while serving.join_next().await.is_some() {}
        if let Some(jobs) = app.jobs() {
            jobs.drain(drain_max).await;
        }
    };
    tokio::select! {
        () = drained => {}
        () = stop() => tracing::warn!("a second stop signal cuts requests off"),
    }
    Ok(())
}

async fn stopped(mut stop_signal: watch::Receiver<bool>) {
    stop_signal.wait_for(|stop| *stop).await.ok();
}

/// Serves commands. Who reaches the socket may read the data folder, so there is nothing to guard
/// against.
async fn serve_socket(
    listener: UnixListener,
    routes: Router,
    drain_max: Duration,
    stop_signal: watch::Receiver<bool>,
) {
    let served = axum::serve(listener, routes).with_graceful_shutdown(stopped(stop_signal.clone()));
    let deadline = async {
        stopped(stop_signal).await;
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
