//! Runs a server: listens, serves, and on SIGTERM or SIGINT finishes the requests in progress and closes the store.
//!
//! 1. The stop signal turns readiness off; for `drain_delay` everything is served as before.
//! 2. Then the listener closes, and each open connection closes after its next response.
//! 3. After `drain_timeout`, or a second signal, requests in progress are cut off.

use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use weir_table::{AnyBackend, Error, Result, Store};

use crate::app::{AdminKeyAtStart, App, Service, Settings};
use crate::listen::{self, Listener, Origin};
use crate::{router, security, socket};

/// A server to run.
pub struct Server {
    /// The store.
    pub store: Store<AnyBackend>,
    /// The services.
    pub services: Vec<Box<dyn Service>>,
    /// Settings of authentication, edge and jobs.
    pub settings: Settings,
    /// Address to listen on, `HOST:PORT`. Port 0 selects a free port.
    pub listen: String,
    /// Settings of the listener, with its certificate.
    pub listen_settings: listen::Settings,
    /// Folder of an embedded store, which contains the socket for commands.
    pub data: Option<PathBuf>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listen", &self.listen).finish_non_exhaustive()
    }
}

/// A server that accepts requests.
#[derive(Debug, Clone)]
pub struct Started {
    /// Origin of the server.
    pub origin: Origin,
    /// Whether there is an admin key, and where this start saved it if it generated one.
    pub admin_key: AdminKeyAtStart,
}

/// Serves until SIGTERM or SIGINT. Calls `ready` with the server's origin when it accepts requests.
///
/// # Errors
/// A setting, the address, the certificate or the socket cannot be used, or closing the store fails.
pub async fn run(server: Server, ready: impl FnOnce(Started)) -> Result<()> {
    // Signal handlers are installed before the server can be reached, so that no signal kills it.
    let mut stop = Stop::new()?;
    let has_certificate = server.listen_settings.tls.is_some();
    tokio::select! {
        served = run_until(server, ready, async || stop.wait().await) => served,
        () = log_hangups(has_certificate) => Ok(()),
    }
}

/// Lets the process survive SIGHUP from now on.
///
/// # Errors
/// The signal cannot be caught.
pub fn survive_hangup() -> Result<()> {
    catch(SignalKind::hangup()).map(drop)
}

/// Logs each SIGHUP; the listener reads its certificate again by itself. Never ends.
async fn log_hangups(has_certificate: bool) {
    if let Ok(mut hangups) = catch(SignalKind::hangup()) {
        while hangups.recv().await.is_some() {
            match has_certificate {
                true => tracing::info!("SIGHUP: reading the certificate again"),
                false => tracing::info!("SIGHUP: there is nothing to reload without a certificate"),
            }
        }
    }
    std::future::pending().await
}

fn catch(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|source| Error::io("catching signals", source))
}

/// Serves until `stop` resolves. When it resolves a second time, requests in progress are dropped.
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
        // All requests and jobs share the connections to a remote store, in one runtime.
        listen_settings.threads = 0;
    }
    let (drain_delay, drain_max) = (listen_settings.drain_delay, listen_settings.drain_timeout);
    let listener = Listener::bind(&listen, listen_settings).await?;
    let origin = listener.origin();
    let app = App::open(store, settings, data.clone(), &services).await?;
    app.listens_on(origin);
    if let Some(expiry) = listener.certificate_expiry() {
        app.metrics().follow_certificate(expiry);
    }
    let admin_key = app.ensure_admin_key().await?;
    let mut serving = JoinSet::new();
    if let Some(data) = &data {
        let doing = || format!("making the socket in {}", data.display());
        let listener = socket::bind(data).map_err(|source| Error::io(doing(), source))?;
        let routes = router::local(&app, &services);
        serving.spawn(serve_socket(listener, routes, drain_max, app.clone()));
    }
    let listener = listener.metrics(app.metrics().listener.clone());
    let routes = router::public(&app, &services);
    serving.spawn(listener.serve(routes, stopped(app.clone())));
    serving.spawn(security::report_left_out(app.clone()));
    ready(Started { origin, admin_key });

    stop().await;
    app.drain();
    let drained = async {
        if !drain_delay.is_zero() {
            tracing::info!(?drain_delay, "stopping; readiness is off, requests are still served");
            tokio::time::sleep(drain_delay).await;
        }
        tracing::info!("stopping; requests under way are finished first");
        app.stop();
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

async fn stopped(app: App) {
    app.stopped().await;
}

/// Serves commands. Whoever can connect to the socket can also read the data folder, so the socket needs no
/// protection of its own.
async fn serve_socket(listener: UnixListener, routes: Router, drain_max: Duration, app: App) {
    let served = axum::serve(listener, routes).with_graceful_shutdown(stopped(app.clone()));
    let deadline = async {
        app.stopped().await;
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
        survive_hangup()?;
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
