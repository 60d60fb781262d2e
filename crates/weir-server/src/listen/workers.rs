//! The threads that serve connections, each with a runtime of its own.
//!
//! A connection stays with one thread, so that nothing of it is handed from processor to processor.
//! It goes to the thread that belongs to the processor its packets arrive on: there its sender is
//! woken without a call to another processor. Where that would make one thread much busier than
//! another it goes to the idlest. Why: `docs/adr/0008-listener.md`.

use std::io;
use std::net::TcpStream;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use weir_table::{Error, Result};

/// How many connections more than the idlest thread any may have, beside an eighth.
const MORE_MAX: usize = 8;

/// The threads. They end when this is dropped, with what is still under way on them.
#[derive(Debug)]
pub(super) struct Workers {
    workers: Vec<Worker>,
    /// The processors this process may run on, by number; none where the system does not tell.
    processors: Vec<usize>,
}

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// Connections it has.
    open: usize,
    /// Ends its thread when it is dropped; none where the runtime is the caller's.
    _running: Option<oneshot::Sender<()>>,
}

/// A thread of [`Workers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(usize);

impl Workers {
    /// Starts `count` threads; with none, the runtime of the caller serves.
    pub(super) fn start(count: usize) -> Result<Workers> {
        if count == 0 {
            let own = Worker { runtime: Handle::current(), open: 0, _running: None };
            return Ok(Workers { workers: vec![own], processors: Vec::new() });
        }
        let workers = (0..count).map(|_| Worker::start()).collect::<io::Result<_>>();
        let workers =
            workers.map_err(|source| Error::io("starting the threads that serve", source))?;
        Ok(Workers { workers, processors: processors() })
    }

    /// Takes a place for a connection, and tells its runtime. Each is to be left with [`Workers::leave`].
    pub(super) fn take(&mut self, connection: &TcpStream) -> Option<(Place, &Handle)> {
        let processor = arrives_on(connection);
        let processor = processor.and_then(|n| self.processors.iter().position(|own| *own == n));
        let open: Vec<usize> = self.workers.iter().map(|worker| worker.open).collect();
        let place = choose(processor, &open)?;
        let worker = self.workers.get_mut(place.0)?;
        worker.open += 1;
        Some((place, &worker.runtime))
    }

    /// A connection has ended.
    pub(super) fn leave(&mut self, place: Place) {
        if let Some(worker) = self.workers.get_mut(place.0) {
            worker.open = worker.open.saturating_sub(1);
        }
    }
}

impl Worker {
    fn start() -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (running, ended) = oneshot::channel::<()>();
        std::thread::Builder::new().name("weir-serve".to_owned()).spawn(move || {
            // Nobody sends; it is over when the other end is dropped.
            runtime.block_on(ended).ok();
            runtime.shutdown_background();
        })?;
        Ok(Worker { runtime: handle, open: 0, _running: Some(running) })
    }
}

/// The processor on which a connection's packets arrive, where the system tells it.
#[cfg(target_os = "linux")]
fn arrives_on(connection: &TcpStream) -> Option<usize> {
    let number = rustix::net::sockopt::socket_incoming_cpu(connection).ok()?;
    usize::try_from(number).ok()
}

/// The processors this process may run on.
#[cfg(target_os = "linux")]
fn processors() -> Vec<usize> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|n| allowed.is_set(*n)).collect()
}

#[cfg(not(target_os = "linux"))]
fn arrives_on(_: &TcpStream) -> Option<usize> {
    None
}

#[cfg(not(target_os = "linux"))]
fn processors() -> Vec<usize> {
    Vec::new()
}

/// The thread for a connection whose packets arrive on the processor that is `processor`th of ours, when the threads
/// have `open`.
fn choose(processor: Option<usize>, open: &[usize]) -> Option<Place> {
    let (idlest, least) = open.iter().enumerate().min_by_key(|(_, open)| **open)?;
    let near = processor.map_or(idlest, |processor| processor % open.len());
    let busy = open.get(near).is_none_or(|open| *open >= least + least / 8 + MORE_MAX);
    Some(Place(if busy { idlest } else { near }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_where_its_packets_arrive_unless_that_is_much_busier() {
        for (processor, open, expected) in [
            (Some(1), [0, 0], 1),
            (Some(0), [7, 0], 0),
            (Some(0), [8, 0], 1),
            (Some(0), [799, 704], 0),
            (Some(0), [800, 704], 1),
            (Some(3), [0, 5], 1),
            (None, [3, 2], 1),
        ] {
            assert_eq!(choose(processor, &open), Some(Place(expected)), "{processor:?} {open:?}");
        }
        assert_eq!(choose(None, &[]), None);
    }

    #[test]
    fn threads_work_until_they_are_dropped() {
        let mut workers = Workers::start(2).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (place, runtime) = workers.take(&client).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let waits = runtime.spawn(async move {
            tell.send(std::thread::current().name().map(str::to_owned)).unwrap();
            std::future::pending::<()>().await;
        });
        assert_eq!(told.recv().unwrap().as_deref(), Some("weir-serve"));
        workers.leave(place);
        drop(workers);
        // The task went with its runtime, and with it the sender.
        assert!(told.recv().is_err());
        drop(waits);
    }
}
