//! Accepting connections up to a bound, and draining them on stop.
//!
//! At the bound further clients wait, and are served in order as others leave. That works the same for TLS, where a 503 would
//! need a handshake first. They are accepted all the same: of a connection in the kernel's backlog nobody knows where it
//! comes from, and a few of this machine are served at once, so that probes and the operator get in.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::{Id, JoinError, JoinSet};

use super::addresses::{Addresses, Counted};
use super::connection::{ServerContext, serve};
use super::workers::{WorkerId, Workers};
use super::{Routes, Settings};
use crate::metrics::{ListenerMetrics, Refusal, gauge};

/// The pause after the system refused a connection, so that descriptors can become free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections of this machine beyond the bound.
const THIS_MACHINE_MAX: usize = 64;

/// Accepts until `stop`, then lets the requests in progress finish.
pub(super) async fn run<R: Routes>(
    listener: TcpListener,
    workers: Workers,
    context: ServerContext<R>,
    settings: &Settings,
    metrics: ListenerMetrics,
    stop: impl Future<Output = ()>,
) {
    let context = Arc::new(context);
    let mut stop = pin!(stop);
    let mut connections = Connections::new(workers, settings, metrics);
    let mut refused = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            Some(ended) = connections.tasks.join_next_with_id() => {
                connections.remove(ended);
                connections.serve_waiting(&context);
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                refused = false;
                connections.accept(&context, stream, peer);
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
    connections.accept_last(&context, listener);
    connections.drain(settings.drain_timeout).await;
}

/// Whether the connection failed rather than the listener.
fn is_client_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// The open connections. Each has a stop channel of its own, because a shared one takes a lock whenever a connection is
/// polled.
struct Connections {
    workers: Workers,
    tasks: JoinSet<()>,
    open: HashMap<Id, Connection>,
    waiting: VecDeque<Waiting>,
    addresses: Addresses,
    max: usize,
    waiting_max: usize,
    warned: bool,
    warned_of_address: bool,
    metrics: ListenerMetrics,
}

struct Connection {
    worker: WorkerId,
    address: Counted,
    stop: oneshot::Sender<()>,
}

/// An accepted connection that is not served yet.
struct Waiting {
    stream: TcpStream,
    peer: SocketAddr,
    address: Counted,
}

impl Connections {
    fn new(workers: Workers, settings: &Settings, metrics: ListenerMetrics) -> Connections {
        Connections {
            workers,
            tasks: JoinSet::new(),
            open: HashMap::new(),
            waiting: VecDeque::new(),
            addresses: Addresses::new(settings),
            max: settings.connections_max,
            waiting_max: settings.connections_waiting_max,
            warned: false,
            warned_of_address: false,
            metrics,
        }
    }

    fn has_room(&self) -> bool {
        self.tasks.len() < self.max
    }

    /// Serves a connection, lets it wait, or closes it if its address has too many or too many wait.
    fn accept<R: Routes>(
        &mut self,
        context: &Arc<ServerContext<R>>,
        stream: TcpStream,
        peer: SocketAddr,
    ) {
        let free = self.max.saturating_sub(self.tasks.len());
        let Some(address) = self.addresses.add(peer.ip(), free) else {
            return self.refuse(peer);
        };
        let is_this_machine = self.addresses.is_this_machine(peer.ip());
        let extra = if is_this_machine { THIS_MACHINE_MAX } else { 0 };
        let connection = Waiting { stream, peer, address };
        if self.tasks.len() < self.max.saturating_add(extra) {
            self.serve(context, connection);
        } else if self.waiting.len() < self.waiting_max {
            self.waiting.push_back(connection);
        } else {
            self.addresses.remove(address);
            self.metrics.refuse(Refusal::Full);
        }
    }

    /// Serves those who have waited longest, as far as there is room.
    fn serve_waiting<R: Routes>(&mut self, context: &Arc<ServerContext<R>>) {
        while self.has_room()
            && let Some(connection) = self.waiting.pop_front()
        {
            self.serve(context, connection);
        }
    }

    fn serve<R: Routes>(&mut self, context: &Arc<ServerContext<R>>, connection: Waiting) {
        let Waiting { stream, peer, address } = connection;
        // Deregisters it from this runtime; the runtime that serves it registers it again.
        match stream.into_std() {
            Ok(stream) => self.add(context, stream, peer, address),
            Err(error) => {
                self.addresses.remove(address);
                tracing::debug!(%peer, %error, "a connection could not be handed over");
            }
        }
    }

    /// Warns once of an address with too many connections: it may be a proxy.
    fn refuse(&mut self, peer: SocketAddr) {
        self.metrics.refuse(Refusal::PerAddress);
        if !std::mem::replace(&mut self.warned_of_address, true) {
            tracing::warn!(
                %peer,
                "an address has as many connections as it may have; its new ones are closed. \
                 If it is a proxy, add it to trusted_proxies"
            );
        }
    }

    /// Hands a connection to the least loaded thread.
    fn add<R: Routes>(
        &mut self,
        context: &Arc<ServerContext<R>>,
        stream: std::net::TcpStream,
        peer: SocketAddr,
        address: Counted,
    ) {
        // There is always a thread.
        let Some((worker, runtime)) = self.workers.assign() else { return };
        let (stop, stopped) = oneshot::channel();
        let connection = serve(Arc::clone(context), stream, peer, stopped);
        let task = self.tasks.spawn_on(connection, runtime);
        self.open.insert(task.id(), Connection { worker, address, stop });
        self.metrics.open.set(gauge(self.tasks.len() as u64));
        if !self.has_room() && !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                connections_max = self.max,
                "connections_max is reached; new connections wait"
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
        if let Some(connection) = self.open.remove(&id) {
            self.workers.release(connection.worker);
            self.addresses.remove(connection.address);
        }
        self.metrics.open.set(gauge(self.tasks.len() as u64));
        // Warns again only after the load has really dropped, not at every connection around the bound.
        if self.tasks.len() < self.max / 2 {
            self.warned = false;
        }
    }

    /// Serves the clients that have connected before the stop and closes the listener, so that new ones are refused
    /// instead of left waiting.
    fn accept_last<R: Routes>(&mut self, context: &Arc<ServerContext<R>>, listener: TcpListener) {
        let Ok(listener) = listener.into_std() else { return };
        while self.has_room()
            && let Ok((stream, peer)) = listener.accept()
        {
            match stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)) {
                Ok(stream) => self.accept(context, stream, peer),
                Err(error) => tracing::debug!(%peer, %error, "a connection could not be accepted"),
            }
        }
    }

    async fn drain(mut self, timeout: Duration) {
        // They have sent nothing that was read, so they may try elsewhere at once.
        self.waiting.clear();
        for (_, connection) in self.open.drain() {
            connection.stop.send(()).ok();
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
