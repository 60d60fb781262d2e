//! The parts of a store put together, and its background threads.

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
use super::feed::BufferPool;
use super::log::Log;
use super::readers::Readers;
use super::{Options, Stats};
use crate::error::{Error, Result};
use crate::request::Durability;

/// Locks that items are hashed onto.
const STRIPES: usize = 1024;
/// From this pressure on a checkpoint is wanted.
const CHECKPOINT_FROM: u64 = 50;
/// From this pressure on writers are slowed, so that they need not be stopped.
const PACE_FROM: u64 = 60;
/// How long a writer then pauses, and by how much more pressure that doubles: up to 16 ms.
const PACE: Duration = Duration::from_millis(1);
const PACE_DOUBLES_EVERY: u64 = 8;
const PACE_DOUBLES_MAX: u64 = 4;
/// How long a background thread waits before it looks again whether the store is closing.
const IDLE: Duration = Duration::from_millis(100);

/// A store in a folder.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) options: Options,
    pub(super) catalog: RwLock<Arc<Catalog>>,
    /// One table change at a time.
    pub(super) altering: tokio::sync::Mutex<()>,
    stripes: Vec<Mutex<()>>,
    /// A commit holds this for reading from its append to its last entry, so that a checkpoint,
    /// which takes it for writing, finds whole commits only.
    pub(super) generations: RwLock<Generations>,
    pub(super) log: Log,
    pub(super) base: Base,
    pub(super) cache: ItemCache,
    pub(super) delayed: DelayedIndex,
    pub(super) readers: Arc<Readers>,
    /// Reads the log for the feed. A job reads thousands of changes at once, which no request should wait for.
    pub(super) feeders: Arc<Readers>,
    pub(super) feed_buffers: Arc<BufferPool>,
    /// One checkpoint at a time.
    pub(super) checkpointing: Mutex<()>,
    pub(super) checkpoints: AtomicU64,
    pub(super) applied: AtomicU64,
    pub(super) persisted: AtomicU64,
    /// Bytes appended to the log since opening, and at the last finished fold.
    pub(super) appended: AtomicU64,
    pub(super) folded: AtomicU64,
    pub(super) room: Notify,
    wanted: Mutex<bool>,
    wake: Condvar,
    pub(super) opened: Stats,
    /// Held open so that no other process opens the folder.
    pub(super) _lock: std::fs::File,
}

/// What [`super::open`] has found in a folder.
pub(super) struct Parts {
    pub(super) catalog: Catalog,
    pub(super) replayed: Generation,
    pub(super) log: Log,
    pub(super) base: Base,
    pub(super) applied: u64,
    pub(super) opened: Stats,
    pub(super) lock: std::fs::File,
}

/// What an answer rests on: it may be given once these sequences are safe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rests {
    pub(super) flushed: u64,
    pub(super) synced: u64,
}

impl Rests {
    /// The same grounds, as safe as a write of this durability wants them.
    pub(super) fn at_least(self, durability: Durability) -> Rests {
        match durability {
            Durability::Flushed => self,
            Durability::Synced => Rests { synced: self.flushed, ..self },
        }
    }

    /// An answer that rests on what both rest on.
    pub(super) fn and(self, other: Rests) -> Rests {
        Rests { flushed: self.flushed.max(other.flushed), synced: self.synced.max(other.synced) }
    }
}

impl From<&Entry> for Rests {
    fn from(entry: &Entry) -> Rests {
        Rests { flushed: entry.seq, synced: entry.synced }
    }
}

/// Runs what may block away from the async threads.
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
            log: parts.log,
            base: parts.base,
            cache: ItemCache::new(options.cache_bytes),
            readers: Arc::new(Readers::default()),
            feeders: Arc::new(Readers::default()),
            feed_buffers: Arc::default(),
            delayed: DelayedIndex::new(options.index_delay),
            checkpointing: Mutex::new(()),
            checkpoints: AtomicU64::new(0),
            applied: AtomicU64::new(parts.applied),
            persisted: AtomicU64::new(parts.applied),
            appended: AtomicU64::new(0),
            folded: AtomicU64::new(0),
            room: Notify::new(),
            wanted: Mutex::new(false),
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

    /// The table called `name`, if there is one.
    pub(super) fn find_table(&self, name: &str) -> Option<Arc<Table>> {
        self.catalog.read().find(name).cloned()
    }

    /// The lock that the item at `key` shares with some others.
    pub(super) fn stripe_of(key: &[u8]) -> usize {
        crc32fast::hash(key) as usize % STRIPES
    }

    /// Takes a stripe's lock.
    pub(super) fn lock_stripe(&self, stripe: usize) -> Option<parking_lot::MutexGuard<'_, ()>> {
        self.stripes.get(stripe).map(Mutex::lock)
    }

    /// How full the dirty set and the log to replay are, in percent of their bounds.
    fn pressure(&self) -> u64 {
        let dirty = self.generations.read().active.bytes() as u64;
        // A fold may end between the two.
        let folded = self.folded.load(Ordering::Relaxed);
        let log = self.appended.load(Ordering::Relaxed).saturating_sub(folded);
        let percent = |part: u64, whole: u64| part.saturating_mul(100) / whole.max(1);
        // Two generations can be in memory at once.
        percent(dirty, self.options.dirty_bytes_max / 2)
            .max(percent(log, self.options.replay_bytes_max))
    }

    /// Lets a writer in: slower the fuller the dirty set is and the further the store is behind.
    pub(super) async fn admit(&self) -> Result<()> {
        tokio::task::coop::consume_budget().await;
        let pressure = self.pressure();
        if pressure >= CHECKPOINT_FROM {
            self.want_checkpoint();
        }
        // Folding more often would not help a store that is behind: it asks for no checkpoint.
        match pace(pressure.max(self.base.backlog())) {
            None => Ok(()),
            // In a box, because every write's future would have to hold its timers.
            Some(pause) => Box::pin(self.wait_for_room(pause)).await,
        }
    }

    /// Whether writers need not be slowed, and no checkpoint is due.
    pub(super) fn is_calm(&self) -> bool {
        self.pressure() < CHECKPOINT_FROM && pace(self.base.backlog()).is_none()
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
            // The bound keeps a lost wake-up from being for ever.
            let _ = tokio::time::timeout(IDLE, room).await;
            pressure = self.pressure();
        }
        Ok(())
    }

    /// Asks the checkpointer to run.
    pub(super) fn want_checkpoint(&self) {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            *wanted = true;
            self.wake.notify_one();
        }
    }

    /// Waits until an answer's grounds are safe.
    pub(super) async fn settle(&self, rests: Rests) -> Result<()> {
        if rests.synced > 0 {
            Box::pin(self.log.synced(rests.synced)).await?;
        }
        if self.log.flushed_seq() >= rests.flushed {
            return Ok(());
        }
        // Lets others that are ready append first: whoever comes back first then writes for all.
        tokio::task::yield_now().await;
        self.log.flush(rests.flushed)
    }

    /// Figures about the store.
    pub(super) fn stats(&self) -> Stats {
        let generations = self.generations.read().clone();
        let frozen = generations.frozen.map_or(0, |frozen| frozen.bytes());
        Stats {
            last_seq: self.log.last_seq(),
            synced_seq: self.log.synced_seq(),
            applied_seq: self.applied.load(Ordering::Relaxed),
            dirty_bytes: (generations.active.bytes() + frozen) as u64,
            log_bytes: self.log.segments().iter().map(|segment| segment.len()).sum(),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
            ..self.opened
        }
    }

    /// Folds and persists everything.
    pub(super) fn close(&self) -> Result<()> {
        self.log.sync()?;
        self.checkpoint(true)
    }
}

/// How long a writer pauses at this pressure.
fn pace(pressure: u64) -> Option<Duration> {
    let over = pressure.checked_sub(PACE_FROM)?;
    Some(PACE * (1 << (over / PACE_DOUBLES_EVERY).min(PACE_DOUBLES_MAX)))
}

/// The threads that sync, fold and sweep in the background.
#[derive(Debug)]
pub(super) struct Threads {
    closing: Arc<AtomicBool>,
    engine: Arc<Engine>,
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Starts them.
    pub(super) fn start(engine: &Arc<Engine>) -> Result<Threads> {
        let closing = Arc::new(AtomicBool::new(false));
        let spawn = |name: &str, work: fn(&Engine, &AtomicBool)| {
            let (engine, closing) = (Arc::clone(engine), Arc::clone(&closing));
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || work(&engine, &closing))
                .map_err(|source| Error::io("starting a store thread", source))
        };
        let mut running = vec![spawn("weir-sync", sync_loop)?, spawn("weir-fold", fold_loop)?];
        if engine.options.sweep_interval.is_some() {
            running.push(spawn("weir-sweep", sweep_loop)?);
        }
        if engine.options.index_delay.is_some() {
            running.push(spawn("weir-index", index_loop)?);
        }
        running.extend(engine.readers.start()?);
        running.push(engine.feeders.start_background()?);
        Ok(Threads { closing, engine: Arc::clone(engine), running: Mutex::new(running) })
    }

    /// Stops them and waits. Nobody would sync or fold a later commit, so none is taken.
    pub(super) fn stop(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.engine.log.close();
        self.engine.log.wake_syncer();
        self.engine.want_checkpoint();
        self.engine.readers.close();
        self.engine.feeders.close();
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
            // A failure is kept in the log and told to every writer; here there is nobody to tell.
            if engine.log.sync().is_err() {
                engine.forget_unwritten();
                return;
            }
        }
    }
    let _ = engine.log.sync();
}

fn fold_loop(engine: &Engine, closing: &AtomicBool) {
    background::give_way();
    while !closing.load(Ordering::SeqCst) {
        {
            let mut wanted = engine.wanted.lock();
            if !*wanted {
                engine.wake.wait_for(&mut wanted, engine.options.checkpoint_interval);
            }
            *wanted = false;
        }
        if closing.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = engine.checkpoint(false) {
            engine.log.fail(error);
            engine.room.notify_waiters();
            return;
        }
    }
}

fn sweep_loop(engine: &Engine, closing: &AtomicBool) {
    let interval = engine.options.sweep_interval.unwrap_or(IDLE);
    while !closing.load(Ordering::SeqCst) {
        std::thread::park_timeout(interval);
        if closing.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = engine.sweep() {
            tracing::warn!(%error, "expired items were not removed; trying again later");
        }
    }
}

fn index_loop(engine: &Engine, closing: &AtomicBool) {
    while !closing.load(Ordering::SeqCst) {
        std::thread::park_timeout(Duration::from_millis(5));
        engine.delayed.apply_due(&engine.generations.read().active);
    }
}
