//! A few threads that read the key-value store for the async threads.
//!
//! A thread for every waiting reader is far slower when the processor is busy: a read takes some
//! twenty microseconds, being scheduled some milliseconds. A few threads do many reads in their turn.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};

/// Threads for a core: some wait for the disk while others run.
const THREADS_PER_CORE: usize = 2;
const THREADS_MAX: usize = 32;

type Job = Box<dyn FnOnce() + Send>;

/// Reads that wait for a thread. Their number is bounded by the callers: each waits for its own.
#[derive(Default)]
pub(super) struct Readers {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    closing: bool,
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Readers")
    }
}

impl Readers {
    /// Starts the threads.
    pub(super) fn start(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..(cores * THREADS_PER_CORE).min(THREADS_MAX))
            .map(|_| {
                let readers = Arc::clone(self);
                std::thread::Builder::new()
                    .name("weir-read".to_owned())
                    .spawn(move || readers.work())
                    .map_err(|source| Error::io("starting a store thread", source))
            })
            .collect()
    }

    /// Runs what may block on one of the threads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, answer) = tokio::sync::oneshot::channel();
        self.enqueue(Box::new(move || {
            // A caller that has gone away needs no answer.
            let _ = done.send(work());
        }));
        answer.await.map_err(|_| Error::backend("reading the store", "the read did not end"))?
    }

    fn enqueue(&self, job: Job) {
        let mut queue = self.queue.lock();
        if queue.closing {
            drop(queue);
            tokio::task::spawn_blocking(job);
            return;
        }
        queue.jobs.push_back(job);
        let someone_sleeps = queue.idle > 0;
        drop(queue);
        if someone_sleeps {
            self.wake.notify_one();
        }
    }

    fn work(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                // A panic is the caller's: its answer never comes. The thread serves the others.
                let _ = std::panic::catch_unwind(AssertUnwindSafe(job));
                queue = self.queue.lock();
            } else if queue.closing {
                return;
            } else {
                queue.idle += 1;
                self.wake.wait(&mut queue);
                queue.idle -= 1;
            }
        }
    }

    /// Lets the threads end once nothing waits. Later reads run on the runtime's own threads.
    pub(super) fn close(&self) {
        self.queue.lock().closing = true;
        self.wake.notify_all();
    }
}
