//! A few threads that read the key-value store for the async threads.
//!
//! One thread per waiting reader is far slower on a busy machine: a read takes some twenty microseconds, scheduling a thread
//! some milliseconds. So a few threads do many reads one after the other.
//!
//! A read that most likely hits memory runs on the async thread itself, unless such reads were slow a moment ago: the
//! key-value store blocks its readers while it installs a table. Flushes of the log run the same way.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::background;
use crate::error::{Error, Result};

/// Threads per core: some wait for the disk while others run.
const THREADS_PER_CORE: usize = 2;
const THREADS_MAX: usize = 32;

/// An inline read that took this long was blocked, or its thread was preempted.
const SLOW: Duration = Duration::from_millis(2);
/// So many slow reads in a row were blocked: a thread is rarely preempted in the same place twice.
const SLOW_IN_A_ROW: u32 = 2;
/// How long inline reads stay off after that.
const INLINE_OFF_MS: u64 = 250;

type Job = Box<dyn FnOnce() + Send>;

/// Reads that wait for a thread. The number of callers bounds them: each waits for its own.
pub(super) struct ReaderPool {
    queue: Mutex<Queue>,
    wake: Condvar,
    started: Instant,
    inline: InlineReads,
}

impl Default for ReaderPool {
    fn default() -> ReaderPool {
        ReaderPool {
            queue: Mutex::default(),
            wake: Condvar::default(),
            started: Instant::now(),
            inline: InlineReads::default(),
        }
    }
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    closing: bool,
}

impl std::fmt::Debug for ReaderPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReaderPool")
    }
}

impl ReaderPool {
    /// Starts the threads for reads of requests.
    pub(super) fn start(self: &Arc<Self>) -> Result<Vec<JoinHandle<()>>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (cores * THREADS_PER_CORE).min(THREADS_MAX);
        (0..threads).map(|_| self.spawn("weir-read", || {})).collect()
    }

    /// Starts a low-priority thread for reads of background jobs.
    pub(super) fn start_background(self: &Arc<Self>) -> Result<JoinHandle<()>> {
        self.spawn("weir-feed", background::lower_priority)
    }

    /// Starts the thread for slow flushes of the log. One is enough: a flush serves all who wait.
    pub(super) fn start_flusher(self: &Arc<Self>) -> Result<JoinHandle<()>> {
        self.spawn("weir-flush", || {})
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

    /// Runs work that may block on one of the threads.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, answer) = tokio::sync::oneshot::channel();
        self.enqueue(Box::new(move || {
            // The caller may have been dropped.
            let _ = done.send(work());
        }));
        answer.await.map_err(|_| Error::backend("reading the store", "the read did not end"))?
    }

    /// Runs work that most likely hits memory on this thread; returns `None` if such work was blocked a moment ago.
    pub(super) fn run_inline<T>(&self, work: impl FnOnce() -> Result<T>) -> Option<Result<T>> {
        let begun = Instant::now();
        if self.inline.are_off(self.since_start_ms(begun)) {
            return None;
        }
        let done = work();
        let ended = Instant::now();
        self.inline.record(ended.duration_since(begun), self.since_start_ms(ended));
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
                // The caller of work that panics gets an error; the thread continues.
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

    /// Ends the threads once the queue is empty. Later reads run on the runtime's blocking threads.
    pub(super) fn close(&self) {
        self.queue.lock().closing = true;
        self.wake.notify_all();
    }
}

/// Whether reads run inline, by how long the last ones took.
#[derive(Debug, Default)]
struct InlineReads {
    /// Until when they are off, in milliseconds since the start.
    off_until_ms: AtomicU64,
    /// Slow reads since the last fast one.
    slow_in_a_row: AtomicU32,
}

impl InlineReads {
    fn are_off(&self, now_ms: u64) -> bool {
        now_ms < self.off_until_ms.load(Relaxed)
    }

    fn record(&self, took: Duration, now_ms: u64) {
        if took < SLOW {
            // A store takes the cache line from all other threads.
            if self.slow_in_a_row.load(Relaxed) > 0 {
                self.slow_in_a_row.store(0, Relaxed);
            }
        } else if self.slow_in_a_row.fetch_add(1, Relaxed) + 1 >= SLOW_IN_A_ROW {
            self.off_until_ms.store(now_ms + INLINE_OFF_MS, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: Duration = Duration::from_micros(20);

    #[test]
    fn inline_reads_are_off_for_a_while_after_slow_ones() {
        let reads = InlineReads::default();
        reads.record(SLOW, 10);
        reads.record(SLOW, 12);
        assert!(reads.are_off(12) && reads.are_off(11 + INLINE_OFF_MS));
        assert!(!reads.are_off(12 + INLINE_OFF_MS));
        // The next one finds that they are still blocked.
        reads.record(SLOW, 300);
        assert!(reads.are_off(300));
    }

    #[test]
    fn a_single_slow_read_is_a_preempted_thread() {
        let reads = InlineReads::default();
        for at in 0..1_000 {
            reads.record(SLOW, at);
            reads.record(FAST, at);
        }
        assert!(!reads.are_off(1_000));
    }

    #[test]
    fn work_is_not_run_inline_while_that_is_off() {
        let readers = ReaderPool::default();
        assert!(matches!(readers.run_inline(|| Ok(1)), Some(Ok(1))));
        readers.inline.off_until_ms.store(u64::MAX, Relaxed);
        assert!(readers.run_inline(|| Ok(2)).is_none());
    }
}
