//! The embedded back-end: tables in a folder of one machine, owned by one process.
//!
//! The log is the change feed; a key-value store holds what the log has been folded into.
//!
//! A write: `engine` admits it → `commit` locks the items' stripes, finds the old items,
//! evaluates conditions and updates → `log` takes the record → `dirty` shows it to readers →
//! the answer waits for a flush or an fsync. An addition to what is in memory takes the short way of `add`. Behind it `checkpoint` folds the dirty set into
//! `base`, and opening replays what the fold had not reached (`open`).
//!
//! A read looks into the dirty set, the cache and the store, in that order; a
//! `page` merges dirty set and store in key order.

mod add;
mod background;
mod backup;
mod base;
mod cache;
mod catalog;
mod change;
mod checkpoint;
mod codec;
mod commit;
mod delay;
mod dirty;
pub mod disk;
mod engine;
mod feed;
mod keys;
mod log;
mod open;
mod page;
mod partial;
mod raw;
mod read;
mod readers;
mod spots;
mod sweep;
mod tables;
mod token;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use backup::{BackupReport, restore};
pub use verify::Verification;

use crate::addition::{Add, Added};
use crate::backend::Backend;
use crate::clock::Clock;
use crate::cursor::CursorKey;
use crate::error::Result;
use crate::feed::{FeedPage, FeedShard, Merge, Position};
use crate::item::Item;
use crate::request::{Get, Query, RawPage, Transacted, Transaction, Write, Written};
use crate::spec::TableSpec;
use engine::Engine;

/// How an embedded store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder; made when it is not there.
    pub dir: PathBuf,
    /// Memory for items that were read (64 MiB). The key-value store's block cache gets half as much again.
    pub cache_bytes: u64,
    /// Memory for commits that are not folded yet (96 MiB); writers wait when it is full.
    pub dirty_bytes_max: u64,
    /// Log that may have to be replayed on opening (128 MiB); writers wait when there is more.
    pub replay_bytes_max: u64,
    /// Size at which a log file is closed and another begun (32 MiB).
    pub segment_bytes_max: u64,
    /// How long a flushed write may wait for its fsync to start (100 ms).
    pub sync_interval: Duration,
    /// How long the store may be idle before commits are folded all the same (5 s).
    pub checkpoint_interval: Duration,
    /// How often expired items are looked for (10 s); none turns the sweeper off.
    pub sweep_interval: Option<Duration>,
    /// Bytes of log kept for consumers that are behind (4 GiB).
    pub feed_bytes_max: u64,
    /// How long the log is kept for consumers that are behind (24 h).
    pub feed_age_max: Duration,
    /// The table that consumers keep their positions in.
    pub positions_table: String,
    /// For tests: index entries become visible only after this long.
    pub index_delay: Option<Duration>,
    /// Where time comes from.
    pub clock: Clock,
    /// The disk under the log.
    pub disk: Arc<dyn disk::Disk>,
}

impl Options {
    /// The usual settings for a store in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            dir: dir.into(),
            cache_bytes: 64 * 1024 * 1024,
            dirty_bytes_max: 96 * 1024 * 1024,
            replay_bytes_max: 128 * 1024 * 1024,
            segment_bytes_max: 32 * 1024 * 1024,
            sync_interval: Duration::from_millis(100),
            checkpoint_interval: Duration::from_secs(5),
            sweep_interval: Some(Duration::from_secs(10)),
            feed_bytes_max: 4 * 1024 * 1024 * 1024,
            feed_age_max: Duration::from_secs(24 * 60 * 60),
            positions_table: crate::feed::POSITIONS_TABLE.to_owned(),
            index_delay: None,
            clock: Clock::System,
            disk: Arc::new(disk::RealDisk),
        }
    }
}

/// Tables in a folder.
#[derive(Debug)]
pub struct Embedded {
    engine: Arc<Engine>,
    cursor_key: CursorKey,
    threads: engine::Threads,
}

impl Embedded {
    /// Opens or makes the store, replaying what a crash left. Blocks.
    ///
    /// # Errors
    /// The folder is in use, was written by a newer version, or is damaged.
    pub fn open(options: Options) -> Result<Embedded> {
        let (engine, cursor_key) = open::open(options)?;
        let engine = Arc::new(engine);
        let threads = engine::Threads::start(&engine)?;
        Ok(Embedded { engine, cursor_key, threads })
    }

    /// The key that seals cursors, kept in the folder.
    #[must_use]
    pub fn cursor_key(&self) -> CursorKey {
        self.cursor_key.clone()
    }

    /// Figures about the store, for benchmarks and health pages.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Folds everything into the store and makes it durable, so that the next opening is quick.
    /// Writes that come later are told [`crate::Error::Closed`]; reading still works.
    ///
    /// # Errors
    /// The disk fails.
    pub async fn close(&self) -> Result<()> {
        self.threads.stop();
        let engine = Arc::clone(&self.engine);
        engine::off_thread(move || engine.close()).await
    }

    /// Copies the whole store as it is at one moment into an empty folder, while it is in use.
    /// `progress` is told entries done and the (estimated) total.
    ///
    /// # Errors
    /// The folder is not empty, or the disk fails.
    pub async fn backup(
        &self,
        to: &Path,
        progress: impl Fn(u64, u64) + Send + Sync + 'static,
    ) -> Result<BackupReport> {
        let (engine, to) = (Arc::clone(&self.engine), to.to_owned());
        engine::off_thread(move || backup::backup(&engine, &to, &progress)).await
    }

    /// Checks that indexes and expiry entries agree with the items, while the store is in use.
    ///
    /// # Errors
    /// The disk fails. What does not agree is told in the answer.
    pub async fn verify(&self) -> Result<Verification> {
        let engine = Arc::clone(&self.engine);
        engine::off_thread(move || engine.verify()).await
    }

    /// Removes expired items now. Returns how many were removed.
    ///
    /// # Errors
    /// The disk fails.
    pub async fn sweep(&self) -> Result<u64> {
        let engine = Arc::clone(&self.engine);
        engine::off_thread(move || engine.sweep()).await
    }

    /// Folds commits into the store now, and trims the log.
    ///
    /// # Errors
    /// The disk fails.
    pub async fn checkpoint(&self) -> Result<()> {
        let engine = Arc::clone(&self.engine);
        engine::off_thread(move || engine.checkpoint(true)).await
    }
}

/// Figures about an embedded store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// The last commit's sequence.
    pub last_seq: u64,
    /// The last sequence on disk.
    pub synced_seq: u64,
    /// The last sequence folded into the store.
    pub applied_seq: u64,
    /// Bytes of commits not yet folded.
    pub dirty_bytes: u64,
    /// Bytes of log files.
    pub log_bytes: u64,
    /// Checkpoints since opening.
    pub checkpoints: u64,
    /// Bytes of a torn log end that opening cut off.
    pub cut_bytes: u64,
    /// Log records that opening replayed.
    pub replayed: u64,
}

impl Backend for Embedded {
    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.engine.create_table(spec).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        self.engine.delete_table(table).await
    }

    async fn describe(&self, table: &str) -> Result<Option<TableSpec>> {
        Ok(self.engine.find_table(table).map(|table| table.spec.clone()))
    }

    async fn table_names(&self) -> Result<Vec<String>> {
        Ok(self.engine.table_names())
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        self.engine.get(get).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.engine.batch_get(gets).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        self.engine.write(write).await
    }

    async fn add<T: Send>(
        &self,
        add: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> Result<Added<T>> {
        self.engine.add(add, read).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        self.engine.batch_write(writes).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        self.engine.transact(transaction).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.engine.transact_get(gets).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        self.engine.page(query, after).await
    }

    async fn feed_shards(&self, _table: &str) -> Result<Vec<FeedShard>> {
        Ok(vec![FeedShard { id: feed::SHARD.to_owned(), parent: None }])
    }

    async fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        self.engine.feed_read(table, shard, from, limit, None).await
    }

    async fn feed_read_merged(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        merge: Merge,
    ) -> Result<FeedPage> {
        self.engine.feed_read(table, shard, from, crate::limits::FEED_READ_MAX, Some(merge)).await
    }
}
