//! The engine: the parts of an embedded store, admission of writers, and background threads.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::Notify;

use super::background;
use super::base::Base;
use super::cache::ItemCache;
use super::catalog::{Catalog, Table};
use super::delay::DelayedIndex;
use super::dirty::{Entry, Generation, Generations};
use super::disk_space::{self, DiskSpace, Level};
use super::feed::{BufferPool, ConsumerLag};
use super::log::Log;
use super::reader_pool::ReaderPool;
use super::reopen::Reopening;
use super::sweep::{self, SweepProgress};
use super::{Options, Stats, WriteState};
use crate::error::{Error, Result};
use crate::request::Durability;

/// Number of locks that items are hashed onto.
const STRIPES: usize = 1024;
/// Generations in memory at once: the active one, the one being folded, and the last folded one.
const GENERATIONS: u64 = 3;
/// Pressure in percent from which a checkpoint is requested.
const CHECKPOINT_FROM: u64 = 50;
/// Pressure in percent from which writers are slowed, so that they need not be stopped.
const PACE_FROM: u64 = 60;
/// The first pause of a writer. It doubles with every step of pressure, up to 16 ms.
const PACE: Duration = Duration::from_millis(1);
const PACE_DOUBLES_EVERY: u64 = 8;
const PACE_DOUBLES_MAX: u64 = 4;
/// How long a background thread waits before it checks again whether the store is closing.
const IDLE: Duration = Duration::from_millis(100);

/// A store in a folder.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) options: Options,
    pub(super) catalog: RwLock<Arc<Catalog>>,
    /// Serialises table changes.
    pub(super) altering: tokio::sync::Mutex<()>,
    stripes: Vec<Mutex<()>>,
    /// The gate. A commit holds it for reading from its append to its last entry, so that a checkpoint, which takes it for
    /// writing, sees whole commits only.
    pub(super) generations: RwLock<Generations>,
    pub(super) log: Arc<Log>,
    pub(super) base: Base,
    pub(super) cache: ItemCache,
    pub(super) delayed: DelayedIndex,
    pub(super) readers: Arc<ReaderPool>,
    /// Flushes the log when that takes long.
    flushes: Arc<ReaderPool>,
    /// Reads the log for the feed. A job reads thousands of changes at once, and no request should wait for that.
    pub(super) feed_readers: Arc<ReaderPool>,
    pub(super) feed_buffers: Arc<BufferPool>,
    /// Serialises checkpoints.
    pub(super) checkpointing: Mutex<()>,
    pub(super) checkpoints: AtomicU64,
    pub(super) applied: AtomicU64,
    pub(super) persisted: AtomicU64,
    /// Bytes appended to the log since opening.
    pub(super) appended: AtomicU64,
    /// The value of `appended` at the last finished fold.
    pub(super) folded: AtomicU64,
    pub(super) additions_in_place: AtomicU64,
    pub(super) additions_fallback: AtomicU64,
    pub(super) disk_space: DiskSpace,
    pub(super) reopening: Mutex<Reopening>,
    pub(super) base_reopened: AtomicU64,
    pub(super) sweeping: SweepProgress,
    /// As of the last checkpoint.
    pub(super) consumer_lags: Mutex<Vec<ConsumerLag>>,
    /// The time at opening.
    pub(super) opened_ms: u64,
    pub(super) room: Notify,
    checkpoint_requested: Mutex<bool>,
    wake: Condvar,
    pub(super) opened: Stats,
    /// Held open to keep the folder locked.
    pub(super) _lock: std::fs::File,
}

/// What [`super::open`] found in a folder.
pub(super) struct Parts {
    pub(super) catalog: Catalog,
    pub(super) replayed: Generation,
    pub(super) log: Log,
    pub(super) base: Base,
    pub(super) applied: u64,
    pub(super) persisted: u64,
    pub(super) opened: Stats,
    pub(super) lock: std::fs::File,
}

/// What a response depends on: it may be sent once these sequence numbers are flushed and synced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Barrier {
    pub(super) flushed: u64,
    pub(super) synced: u64,
}

impl Barrier {
    /// The barrier of a write with this durability.
    pub(super) fn at_least(self, durability: Durability) -> Barrier {
        match durability {
            Durability::Flushed => self,
            Durability::Synced => Barrier { synced: self.flushed, ..self },
        }
    }

    /// The barrier of a response that depends on both.
    pub(super) fn and(self, other: Barrier) -> Barrier {
        Barrier { flushed: self.flushed.max(other.flushed), synced: self.synced.max(other.synced) }
    }
}

impl From<&Entry> for Barrier {
    fn from(entry: &Entry) -> Barrier {
        Barrier { flushed: entry.seq, synced: entry.synced }
    }
}

/// Runs work that may block off the async threads.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|source| Error::backend("running a store task", source))?
}

impl Engine {
    pub(super) fn new(options: Options, parts: Parts) -> Engine {
        let active = Arc::new(parts.replayed);
        Engine {
            catalog: RwLock::new(Arc::new(parts.catalog)),
            altering: tokio::sync::Mutex::new(()),
            stripes: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            generations: RwLock::new(Generations { number: 1, active, frozen: None, folded: None }),
            log: Arc::new(parts.log),
            base: parts.base,
            cache: ItemCache::new(options.cache_bytes),
            readers: Arc::new(ReaderPool::default()),
            flushes: Arc::new(ReaderPool::default()),
            feed_readers: Arc::new(ReaderPool::default()),
            feed_buffers: Arc::default(),
            delayed: DelayedIndex::new(options.index_delay),
            checkpointing: Mutex::new(()),
            checkpoints: AtomicU64::new(0),
            applied: AtomicU64::new(parts.applied),
            persisted: AtomicU64::new(parts.persisted),
            appended: AtomicU64::new(0),
            folded: AtomicU64::new(0),
            additions_in_place: AtomicU64::new(0),
            additions_fallback: AtomicU64::new(0),
            disk_space: DiskSpace::new(options.free_bytes_min),
            reopening: Mutex::default(),
            base_reopened: AtomicU64::new(0),
            sweeping: SweepProgress::default(),
            consumer_lags: Mutex::default(),
            opened_ms: options.clock.now_ms(),
            room: Notify::new(),
            checkpoint_requested: Mutex::new(false),
            wake: Condvar::new(),
            opened: parts.opened,
            _lock: parts.lock,
            options,
        }
    }

    /// The table called `name`.
    pub(super) fn table(&self, name: &str) -> Result<Arc<Table>> {
        self.find_table(name).ok_or_else(|| Error::NoSuchTable(name.to_owned()))
    }

    /// The table called `name`, if it exists.
    pub(super) fn find_table(&self, name: &str) -> Option<Arc<Table>> {
        self.catalog.read().find(name).cloned()
    }

    /// The stripe of the item at `key`.
    pub(super) fn stripe_of(key: &[u8]) -> usize {
        crc32fast::hash(key) as usize % STRIPES
    }

    /// Locks a stripe.
    pub(super) fn lock_stripe(&self, stripe: usize) -> Option<parking_lot::MutexGuard<'_, ()>> {
        self.stripes.get(stripe).map(Mutex::lock)
    }

    /// Locks several stripes, in order, each once.
    pub(super) fn lock_stripes(
        &self,
        stripes: impl Iterator<Item = usize>,
    ) -> Vec<parking_lot::MutexGuard<'_, ()>> {
        let mut stripes: Vec<usize> = stripes.collect();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().filter_map(|stripe| self.lock_stripe(stripe)).collect()
    }

    /// Fill of the dirty set and of the log to replay, in percent of their bounds; the larger one.
    fn pressure(&self) -> u64 {
        let dirty = self.generations.read().active.bytes() as u64;
        // A fold may end between the two loads.
        let folded = self.folded.load(Ordering::Relaxed);
        let log = self.appended.load(Ordering::Relaxed).saturating_sub(folded);
        let percent = |part: u64, whole: u64| part.saturating_mul(100) / whole.max(1);
        percent(dirty, self.options.dirty_bytes_max / GENERATIONS)
            .max(percent(log, self.options.replay_bytes_max))
    }

    /// Admits a writer, with a pause that grows with the dirty set and with the backlog of the base store.
    pub(super) async fn admit(&self) -> Result<()> {
        tokio::task::coop::consume_budget().await;
        let pressure = self.pressure();
        if pressure >= CHECKPOINT_FROM {
            self.request_checkpoint();
        }
        // More folds would not help a base store that is behind, so its backlog requests no checkpoint.
        match pace(pressure.max(self.base.backlog())) {
            None => Ok(()),
            // Boxed, because its timers would enlarge the future of every write.
            Some(pause) => Box::pin(self.wait_for_room(pause)).await,
        }
    }

    /// Waits like a writer, on a background thread. Returns false if `is_stopped` ended it.
    pub(super) fn give_way(&self, is_stopped: &dyn Fn() -> bool) -> Result<bool> {
        while !is_stopped() {
            self.log.check_taking()?;
            self.disk_space.check(|| true)?;
            let pressure = self.pressure();
            if pressure >= CHECKPOINT_FROM {
                self.request_checkpoint();
            }
            if let Some(pause) = pace(pressure.max(self.base.backlog())) {
                std::thread::sleep(pause);
            }
            if pressure < 100 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether writers are not slowed and no checkpoint is due.
    pub(super) fn is_unhurried(&self) -> bool {
        self.pressure() < CHECKPOINT_FROM && pace(self.base.backlog()).is_none()
    }

    /// Whether, besides, every write is accepted.
    pub(super) fn is_calm(&self) -> bool {
        self.is_unhurried() && self.disk_space.level() == Level::Roomy
    }

    async fn wait_for_room(&self, pause: Duration) -> Result<()> {
        tokio::time::sleep(pause).await;
        let mut pressure = self.pressure();
        while pressure >= 100 {
            let room = self.room.notified();
            if self.pressure() < 100 {
                break;
            }
            self.log.check_taking()?;
            // Nothing is folded then, so there will be no room soon.
            if self.disk_space.level() == Level::Reserved || self.disk_space.refuses_folds() {
                return Err(Error::DiskFull);
            }
            // The timeout bounds the effect of a lost wake-up.
            let _ = tokio::time::timeout(IDLE, room).await;
            pressure = self.pressure();
        }
        Ok(())
    }

    /// Requests a checkpoint.
    pub(super) fn request_checkpoint(&self) {
        let mut checkpoint_requested = self.checkpoint_requested.lock();
        if !*checkpoint_requested {
            *checkpoint_requested = true;
            self.wake.notify_one();
        }
    }

    /// Waits until a response may be sent.
    pub(super) async fn wait_durable(&self, barrier: Barrier) -> Result<()> {
        if barrier.synced > 0 {
            Box::pin(self.log.synced(barrier.synced)).await?;
        }
        let seq = barrier.flushed;
        if self.log.flushed_seq() < seq {
            // Lets other ready tasks append first; the first one that resumes flushes for all.
            tokio::task::yield_now().await;
        }
        if self.log.flushed_seq() >= seq {
            return self.log.check_kept(seq);
        }
        // On this thread while the disk is fast: passing it to another would take longer than the write itself.
        match self.flushes.run_inline(|| self.log.flush_soon(seq)) {
            Some(Ok(true)) => Ok(()),
            Some(Err(error)) => Err(error),
            Some(Ok(false)) | None => {
                let log = Arc::clone(&self.log);
                Box::pin(self.flushes.run(move || log.flush(seq))).await
            }
        }
    }

    /// Which writes are accepted.
    pub(super) fn write_state(&self) -> WriteState {
        match (self.log.check_open(), self.disk_space.level()) {
            (Ok(()), Level::Roomy) => WriteState::Accepting,
            (Ok(()), Level::Low) => WriteState::DiskNearlyFull,
            (Ok(()), Level::Reserved) | (Err(Error::DiskFull), _) => WriteState::DiskFull,
            (Err(_), _) => WriteState::Failed,
        }
    }

    /// Statistics of the store.
    pub(super) fn stats(&self) -> Stats {
        let generations = self.generations.read().clone();
        let bytes = |generation: Option<Arc<Generation>>| generation.map_or(0, |one| one.bytes());
        let frozen = generations.frozen.map(|frozen| frozen.generation);
        let older = bytes(frozen) + bytes(generations.folded);
        Stats {
            last_seq: self.log.last_seq(),
            synced_seq: self.log.synced_seq(),
            applied_seq: self.applied.load(Ordering::Relaxed),
            dirty_bytes: (generations.active.bytes() + older) as u64,
            log_bytes: self.log.segments().iter().map(|segment| segment.len()).sum(),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
            additions_in_place_total: self.additions_in_place.load(Ordering::Relaxed),
            additions_fallback_total: self.additions_fallback.load(Ordering::Relaxed),
            disk_free_bytes: self.disk_space.free(),
            space_refusals_total: self.disk_space.refused_total() + self.log.dropped_total(),
            base_reopened_total: self.base_reopened.load(Ordering::Relaxed),
            syncs: self.log.sync_durations(),
            expired_total: self.sweeping.removed_total(),
            sweep_backlog_ms: self.sweeping.backlog_ms(),
            ..self.opened
        }
    }

    /// Runs a background thread. Without it writers would wait for ever, so the log is closed if it panics.
    fn run_thread(&self, closing: &AtomicBool, work: fn(&Engine, &AtomicBool)) {
        if std::panic::catch_unwind(AssertUnwindSafe(|| work(self, closing))).is_err() {
            let thread = std::thread::current();
            let doing = format!("the thread {}", thread.name().unwrap_or_default());
            self.log.fail(Error::backend(doing, "it panicked"));
            self.room.notify_waiters();
            // As the syncer does, which may be this thread.
            self.forget_unwritten();
        }
    }

    /// Syncs, folds and persists everything.
    pub(super) fn close(&self) -> Result<()> {
        self.log.sync()?;
        self.checkpoint(true)
    }
}

/// The pause of a writer at this pressure.
fn pace(pressure: u64) -> Option<Duration> {
    let over = pressure.checked_sub(PACE_FROM)?;
    Some(PACE * (1 << (over / PACE_DOUBLES_EVERY).min(PACE_DOUBLES_MAX)))
}

/// The threads that sync, fold, sweep and measure the disk in the background.
#[derive(Debug)]
pub(super) struct Threads {
    closing: Arc<AtomicBool>,
    engine: Arc<Engine>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Starts the threads.
    pub(super) fn start(engine: &Arc<Engine>) -> Result<Threads> {
        let closing = Arc::new(AtomicBool::new(false));
        let spawn = |name: &str, work: fn(&Engine, &AtomicBool)| {
            let (engine, closing) = (Arc::clone(engine), Arc::clone(&closing));
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || engine.run_thread(&closing, work))
                .map_err(|source| Error::io("starting a store thread", source))
        };
        engine.measure_disk();
        let mut running = vec![
            spawn("weir-sync", sync_loop)?,
            spawn("weir-fold", fold_loop)?,
            spawn("weir-space", disk_space::measure_loop)?,
        ];
        if engine.options.sweep_interval.is_some() {
            running.push(spawn("weir-sweep", sweep::sweep_loop)?);
        }
        if engine.options.index_delay.is_some() {
            running.push(spawn("weir-index", index_loop)?);
        }
        running.extend(engine.readers.start()?);
        running.push(engine.flushes.start_flusher()?);
        running.push(engine.feed_readers.start_background()?);
        Ok(Threads { closing, engine: Arc::clone(engine), running: Mutex::new(running) })
    }

    /// Stops the threads and waits. The log is closed first, because nobody would sync or fold a later commit.
    pub(super) fn stop(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.engine.log.close();
        self.engine.log.wake_syncer();
        self.engine.request_checkpoint();
        self.engine.readers.close();
        self.engine.flushes.close();
        self.engine.feed_readers.close();
        for thread in self.running.lock().drain(..) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn sync_loop(engine: &Engine, closing: &AtomicBool) {
    while !closing.load(Ordering::SeqCst) {
        if engine.log.wait_for_sync_request(engine.options.sync_interval) {
            match engine.log.sync() {
                Ok(()) => {}
                // Another thread resumes the log.
                Err(Error::DiskFull) => std::thread::park_timeout(IDLE),
                // The log returns the failure to every writer.
                Err(_) => {
                    engine.forget_unwritten();
                    return;
                }
            }
        }
    }
    let _ = engine.log.sync();
}

fn fold_loop(engine: &Engine, closing: &AtomicBool) {
    background::lower_priority();
    while !closing.load(Ordering::SeqCst) {
        {
            let mut checkpoint_requested = engine.checkpoint_requested.lock();
            if !*checkpoint_requested {
                engine.wake.wait_for(&mut checkpoint_requested, engine.options.checkpoint_interval);
            }
            *checkpoint_requested = false;
        }
        if closing.load(Ordering::SeqCst) {
            return;
        }
        // A disk that is nearly full needs the log trimmed, at every checkpoint.
        let is_thorough = engine.disk_space.level() != Level::Roomy;
        match engine.checkpoint(is_thorough) {
            Ok(()) => {}
            Err(Error::DiskFull) => {
                engine.room.notify_waiters();
                // Every refused writer requests a checkpoint.
                std::thread::park_timeout(IDLE);
            }
            Err(error) => {
                engine.log.fail(error);
                engine.room.notify_waiters();
                return;
            }
        }
    }
}

fn index_loop(engine: &Engine, closing: &AtomicBool) {
    while !closing.load(Ordering::SeqCst) {
        std::thread::park_timeout(Duration::from_millis(5));
        engine.delayed.apply_due(&engine.generations.read().active);
    }
}
