//! The threads that serve connections, each with a runtime of its own.
//!
//! A connection stays with one thread, so that nothing of it is handed from processor to processor.
//! It goes to the thread that belongs to the processor its packets arrive on: there its sender is
//! woken without a call to another processor, and all connections of a client's thread come together
//! (`home`). Where that would make one thread much busier than another it goes to the idlest. Why:
//! `docs/adr/0008-listener.md`.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use weir_table::{Error, Result};

use super::burst;
use super::home::{Home, Processors, arrives_on};

/// How many connections more than the idlest thread any may have, beside an eighth.
const MORE_MAX: usize = 8;

/// The threads. They end when this is dropped, with what is still under way on them.
#[derive(Debug)]
pub(super) struct Workers {
    workers: Vec<Worker>,
    processors: Arc<Processors>,
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
            return Ok(Workers {
                workers: vec![own],
                processors: Arc::new(Processors::new(Vec::new(), 1)),
            });
        }
        let workers = (0..count).map(|_| Worker::start()).collect::<io::Result<_>>();
        let workers =
            workers.map_err(|source| Error::io("starting the threads that serve", source))?;
        let processors = Arc::new(Processors::new(processors(), count));
        Ok(Workers { workers, processors })
    }

    /// Takes a place for a connection, and tells its runtime. Each is to be left with [`Workers::leave`].
    /// One that was with another thread has said which one it belongs to.
    pub(super) fn take(
        &mut self,
        connection: &TcpStream,
        before: Option<&Home>,
    ) -> Option<(Place, Home, &Handle)> {
        let near = match before {
            Some(home) => Some(home.belongs_to()),
            None => arrives_on(connection).and_then(|number| self.processors.thread_of(number)),
        };
        let open: Vec<usize> = self.workers.iter().map(|worker| worker.open).collect();
        let place = choose(near, &open)?;
        let worker = self.workers.get_mut(place.0)?;
        worker.open += 1;
        Some((place, Home::new(place.0, &self.processors), &worker.runtime))
    }

    /// Asks connections where their packets arrive, or ends that round of questions.
    pub(super) fn processors(&self) -> &Processors {
        &self.processors
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
        let mut builder = Builder::new_current_thread();
        builder.enable_all().on_thread_park(burst::waits).on_thread_unpark(burst::goes_on);
        let runtime = builder.build()?;
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

/// The processors this process may run on.
#[cfg(target_os = "linux")]
fn processors() -> Vec<usize> {
    let Ok(allowed) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|n| allowed.is_set(*n)).collect()
}

#[cfg(not(target_os = "linux"))]
fn processors() -> Vec<usize> {
    Vec::new()
}

/// The thread for a connection that belongs to `near`, when the threads have `open`.
fn choose(near: Option<usize>, open: &[usize]) -> Option<Place> {
    let (idlest, least) = open.iter().enumerate().min_by_key(|(_, open)| **open)?;
    let near = near.unwrap_or(idlest);
    let busy = open.get(near).is_none_or(|open| *open >= least + least / 8 + MORE_MAX);
    Some(Place(if busy { idlest } else { near }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_where_its_packets_arrive_unless_that_is_much_busier() {
        for (near, open, expected) in [
            (Some(1), [0, 0], 1),
            (Some(0), [7, 0], 0),
            (Some(0), [8, 0], 1),
            (Some(0), [799, 704], 0),
            (Some(0), [800, 704], 1),
            (None, [3, 2], 1),
        ] {
            assert_eq!(choose(near, &open), Some(Place(expected)), "{near:?} {open:?}");
        }
        assert_eq!(choose(None, &[]), None);
    }

    #[test]
    fn threads_work_until_they_are_dropped() {
        let mut workers = Workers::start(2).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (place, _, runtime) = workers.take(&client, None).unwrap();
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
