//! Taking connections, never more than fit, and letting them go.
//!
//! At the bound nothing is accepted: further clients wait in the kernel's backlog, cost no
//! descriptor, and are served in order as others leave. That works the same for TLS, where a 503
//! would need a handshake first.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{Id, JoinError, JoinSet};

use super::connection::{Arrival, Host, serve};
use super::rounds::Rounds;
use super::workers::{Place, Workers};
use super::{Routes, Settings};

/// How long to wait after the system refused a connection, so that descriptors can become free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts until `stop`, then lets requests under way finish.
pub(super) async fn run<R: Routes>(
    listener: TcpListener,
    workers: Workers,
    host: Host<R>,
    settings: &Settings,
    stop: impl Future<Output = ()>,
) {
    let host = Arc::new(host);
    let mut stop = pin!(stop);
    let mut open = Connections::new(workers, settings.connections_max);
    let mut rounds = Rounds::new();
    let mut refused = false;
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            Some(ended) = open.tasks.join_next_with_id() => {
                if let Some(moved) = open.forget(ended) {
                    open.add(&host, moved);
                }
                continue;
            }
            () = rounds.next() => {
                rounds.turn(open.workers.processors());
                continue;
            }
            accepted = listener.accept(), if open.has_room() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                refused = false;
                rounds.begin();
                // From here on the thread that serves it hears of it, not this one.
                match stream.into_std() {
                    Ok(stream) => open.add(&host, Arrival { stream, peer, before: None }),
                    Err(error) => {
                        tracing::debug!(%peer, %error, "a connection could not be handed over");
                    }
                }
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                if !std::mem::replace(&mut refused, true) {
                    tracing::warn!(%error, "no connection can be accepted; trying on");
                }
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // Whoever connects from now on is refused instead of left waiting.
    drop(listener);
    open.drain(&host, settings.drain_timeout).await;
}

/// Whether the connection failed rather than the listener.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// The open connections, each with the thread that serves it and the means to tell it to stop. One
/// channel each rather than one for all, because a shared one takes a lock each time a connection is
/// polled.
struct Connections {
    workers: Workers,
    tasks: JoinSet<Option<Arrival>>,
    stops: HashMap<Id, (Place, oneshot::Sender<()>)>,
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

    /// Hands a connection to the thread that it belongs to.
    fn add<R: Routes>(&mut self, host: &Arc<Host<R>>, arrival: Arrival) {
        // There is always a thread.
        let before = arrival.before.as_ref().map(|before| &before.home);
        let Some((place, home, runtime)) = self.workers.take(&arrival.stream, before) else {
            return;
        };
        let (tell, told) = oneshot::channel();
        let task = self.tasks.spawn_on(serve(Arc::clone(host), arrival, home, told), runtime);
        self.stops.insert(task.id(), (place, tell));
        if !self.has_room() && !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                connections_max = self.max,
                "all connections are taken; further ones wait"
            );
        }
    }

    /// A task has ended, and with it its connection; or it is to go on with another thread.
    fn forget(&mut self, ended: Result<(Id, Option<Arrival>), JoinError>) -> Option<Arrival> {
        let (id, moved) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, "a request panicked; its connection was closed");
                (error.id(), None)
            }
        };
        if let Some((place, _)) = self.stops.remove(&id) {
            self.workers.leave(place);
        }
        // Said again only after a real pause, not at every connection around the bound.
        if self.tasks.len() < self.max / 2 {
            self.warned = false;
        }
        moved
    }

    async fn drain<R: Routes>(mut self, host: &Arc<Host<R>>, timeout: Duration) {
        self.tell_all();
        let all_ended = async {
            while let Some(ended) = self.tasks.join_next_with_id().await {
                // One on its way between threads may have been asked meanwhile.
                if let Some(moved) = self.forget(ended) {
                    self.add(host, moved);
                    self.tell_all();
                }
            }
        };
        if tokio::time::timeout(timeout, all_ended).await.is_err() {
            let connections = self.tasks.len();
            tracing::warn!(connections, "gave up waiting for requests; they are cut off");
        }
    }

    /// Tells all that have not been told to take no more requests.
    fn tell_all(&mut self) {
        for (_, (_, tell)) in self.stops.drain() {
            tell.send(()).ok();
        }
    }
}
