//! The threads that serve connections, each with a single-threaded runtime.
//!
//! A connection stays on one thread for its life, so nothing of it moves between cores. A new
//! connection goes to the thread with the fewest open ones. Why: `docs/adr/0008-listener.md`.

use std::io;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use weir_table::{Error, Result};

/// The threads. Dropping this ends them, together with the requests still in progress.
#[derive(Debug)]
pub(super) struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    open_connections: usize,
    /// Ends the thread when dropped; none if the worker is the runtime of the caller.
    _running: Option<oneshot::Sender<()>>,
}

/// A thread of [`Workers`], by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerId(usize);

impl Workers {
    /// Starts `count` threads; with 0, connections are served on the runtime of the caller.
    pub(super) fn start(count: usize) -> Result<Workers> {
        if count == 0 {
            let runtime = Handle::current();
            return Ok(Workers(vec![Worker { runtime, open_connections: 0, _running: None }]));
        }
        let workers = (0..count).map(|_| Worker::start()).collect::<io::Result<_>>();
        workers.map(Workers).map_err(|source| Error::io("starting the serving threads", source))
    }

    /// Assigns a new connection to the least loaded thread, until [`Workers::release`].
    pub(super) fn assign(&mut self) -> Option<(WorkerId, &Handle)> {
        let workers = self.0.iter_mut().enumerate();
        let (index, worker) = workers.min_by_key(|(_, worker)| worker.open_connections)?;
        worker.open_connections += 1;
        Some((WorkerId(index), &worker.runtime))
    }

    /// Records that a connection of this thread has ended.
    pub(super) fn release(&mut self, WorkerId(index): WorkerId) {
        if let Some(worker) = self.0.get_mut(index) {
            worker.open_connections = worker.open_connections.saturating_sub(1);
        }
    }
}

impl Worker {
    fn start() -> io::Result<Worker> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (running, ended) = oneshot::channel::<()>();
        std::thread::Builder::new().name("weir-serve".to_owned()).spawn(move || {
            // Nothing is ever sent; the receiver wakes when the sender is dropped.
            runtime.block_on(ended).ok();
            runtime.shutdown_background();
        })?;
        Ok(Worker { runtime: handle, open_connections: 0, _running: Some(running) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_goes_to_the_thread_with_the_fewest() {
        let mut workers = Workers::start(2).unwrap();
        let mut assign = || workers.assign().unwrap().0;
        let [first, second, third] = [assign(), assign(), assign()];
        assert_eq!([first, second, third], [0, 1, 0].map(WorkerId));
        workers.release(second);
        assert_eq!(workers.assign().unwrap().0, second);
    }

    #[test]
    fn threads_run_until_workers_are_dropped() {
        let mut workers = Workers::start(2).unwrap();
        let (_, runtime) = workers.assign().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let task = runtime.spawn(async move {
            sender.send(std::thread::current().name().map(str::to_owned)).unwrap();
            std::future::pending::<()>().await;
        });
        assert_eq!(receiver.recv().unwrap().as_deref(), Some("weir-serve"));
        drop(workers);
        // The runtime dropped the task, and with it the sender.
        assert!(receiver.recv().is_err());
        drop(task);
    }
}
