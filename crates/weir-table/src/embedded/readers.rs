//! A few threads that read the key-value store for the async threads.
//!
//! A thread for every waiting reader is far slower when the processor is busy: a read takes some
//! twenty microseconds, being scheduled some milliseconds. A few threads do many reads in their turn.
//!
//! What is most likely answered from memory is read by the async thread itself, as long as that goes well: the store stops
//! its readers when it installs a table, and then they wait here and not there.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::background;
use crate::error::{Error, Result};

/// Threads for a core: some wait for the disk while others run.
const THREADS_PER_CORE: usize = 2;
const THREADS_MAX: usize = 32;

/// A read on an async thread that took so long waited for something.
const SLOW: Duration = Duration::from_millis(2);
/// For so long nothing is read on async threads after that.
const AVOIDED_MS: u64 = 250;

type Job = Box<dyn FnOnce() + Send>;

/// Reads that wait for a thread. Their number is bounded by the callers: each waits for its own.
pub(super) struct Readers {
    queue: Mutex<Queue>,
    wake: Condvar,
    started: Instant,
    /// Until when nothing is read on async threads, in milliseconds since the start.
    avoided_until_ms: AtomicU64,
}

impl Default for Readers {
    fn default() -> Readers {
        Readers {
            queue: Mutex::default(),
            wake: Condvar::default(),
            started: Instant::now(),
            avoided_until_ms: AtomicU64::new(0),
        }
    }
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
    /// Starts threads for reads that somebody waits for.
    pub(super) fn start(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (cores * THREADS_PER_CORE).min(THREADS_MAX);
        (0..threads).map(|_| self.spawn("weir-read", || {})).collect()
    }

    /// Starts a thread for reads that can wait, because jobs do them.
    pub(super) fn start_background(self: &Arc<Self>) -> Result<JoinHandle<()>> {
        self.spawn("weir-feed", background::give_way)
    }

    fn spawn(self: &Arc<Self>, name: &str, begin: fn()) -> Result<JoinHandle<()>> {
        let readers = Arc::clone(self);
        let work = move || {
            begin();
            readers.work();
        };
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(work).map_err(|source| Error::io("starting a store thread", source))
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

    /// Runs on this thread what is most likely answered from memory; nothing, if the last such work waited.
    pub(super) fn here<T>(&self, work: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
        let begun = Instant::now();
        if self.since_start_ms(begun) < self.avoided_until_ms.load(Ordering::Relaxed) {
            return None;
        }
        let done = work();
        let ended = Instant::now();
        if ended.duration_since(begun) >= SLOW {
            let until_ms = self.since_start_ms(ended) + AVOIDED_MS;
            self.avoided_until_ms.store(until_ms, Ordering::Relaxed);
        }
        Some(done)
    }

    fn since_start_ms(&self, at: Instant) -> u64 {
        u64::try_from(at.duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_had_to_wait_reads_no_more_for_a_while() {
        let readers = Readers::default();
        assert!(matches!(readers.here(|| Ok(1)), Some(Ok(1))));
        // A machine that stood still meanwhile is no slow read.
        readers.avoided_until_ms.store(0, Ordering::Relaxed);
        let slow = readers.here(|| {
            std::thread::sleep(SLOW);
            Ok(2)
        });
        assert!(matches!(slow, Some(Ok(2))));
        assert!(readers.here(|| Ok(3)).is_none());
        readers.avoided_until_ms.store(0, Ordering::Relaxed);
        assert!(readers.here(|| Ok(4)).is_some());
    }
}
