//! Accepting connections up to a bound, and draining them on stop.
//!
//! At the bound nothing is accepted: further clients wait in the kernel's backlog, cost no
//! descriptor, and are served in order as others leave. That works the same for TLS, where a 503
//! would need a handshake first.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{Id, JoinError, JoinSet};

use super::connection::{ServerContext, serve};
use super::workers::{WorkerId, Workers};
use super::{Routes, Settings};

/// The pause after the system refused a connection, so that descriptors can become free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts until `stop`, then lets the requests in progress finish.
pub(super) async fn run<R: Routes>(
    listener: TcpListener,
    workers: Workers,
    context: ServerContext<R>,
    settings: &Settings,
    stop: impl Future<Output = ()>,
) {
    let context = Arc::new(context);
    let mut stop = pin!(stop);
    let mut connections = Connections::new(workers, settings.connections_max);
    let mut refused = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            Some(ended) = connections.tasks.join_next_with_id() => {
                connections.remove(ended);
                continue;
            }
            accepted = listener.accept(), if connections.has_room() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                refused = false;
                // Deregisters it from this runtime; the runtime that serves it registers it again.
                match stream.into_std() {
                    Ok(stream) => connections.add(&context, stream, peer),
                    Err(error) => {
                        tracing::debug!(%peer, %error, "a connection could not be handed over");
                    }
                }
            }
            Err(error) if is_client_error(&error) => {}
            Err(error) => {
                if !std::mem::replace(&mut refused, true) {
                    tracing::warn!(%error, "connections cannot be accepted; retrying");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // From now on new clients are refused instead of left waiting.
    drop(listener);
    connections.drain(settings.drain_timeout).await;
}

/// Whether the connection failed rather than the listener.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// The open connections, each with its thread and its stop channel. Each has a channel of its own,
/// because a shared one takes a lock whenever a connection is polled.
struct Connections {
    workers: Workers,
    tasks: JoinSet<()>,
    stops: HashMap<Id, (WorkerId, oneshot::Sender<()>)>,
    max: usize,
    warned: bool,
}

impl Connections {
    fn new(workers: Workers, max: usize) -> Connections {
        Connections { workers, tasks: JoinSet::new(), stops: HashMap::new(), max, warned: false }
    }

    fn has_room(&self) -> bool {
        self.tasks.len() < self.max
    }

    /// Hands a connection to the least loaded thread.
    fn add<R: Routes>(
        &mut self,
        context: &Arc<ServerContext<R>>,
        stream: std::net::TcpStream,
        peer: SocketAddr,
    ) {
        // There is always a thread.
        let Some((worker, runtime)) = self.workers.assign() else { return };
        let (stop, stopped) = oneshot::channel();
        let connection = serve(Arc::clone(context), stream, peer, stopped);
        let task = self.tasks.spawn_on(connection, runtime);
        self.stops.insert(task.id(), (worker, stop));
        if !self.has_room() && !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                connections_max = self.max,
                "connections_max is reached; new connections wait in the backlog"
            );
        }
    }

    fn remove(&mut self, ended: Result<(Id, ()), JoinError>) {
        let id = match ended {
            Ok((id, ())) => id,
            Err(error) => {
                tracing::error!(%error, "a request panicked; its connection was closed");
                error.id()
            }
        };
        if let Some((worker, _)) = self.stops.remove(&id) {
            self.workers.release(worker);
        }
        // Warns again only after the load has really dropped, not at every connection around the bound.
        if self.tasks.len() < self.max / 2 {
            self.warned = false;
        }
    }

    async fn drain(mut self, timeout: Duration) {
        for (_, (_, stop)) in self.stops.drain() {
            stop.send(()).ok();
        }
        let all_ended = async {
            while let Some(ended) = self.tasks.join_next_with_id().await {
                self.remove(ended);
            }
        };
        if tokio::time::timeout(timeout, all_ended).await.is_err() {
            let connections = self.tasks.len();
            tracing::warn!(connections, "drain_timeout has passed; open requests are cut off");
        }
    }
}
