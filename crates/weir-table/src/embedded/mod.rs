//! The embedded back-end: tables in a folder of one machine, owned by one process.
//!
//! The log is the change feed. Checkpoints fold it into a key-value store, the base store.
//!
//! A write: `engine` admits it → `commit` locks the items' stripes, finds the old items, evaluates conditions and updates →
//! `log` appends the record → `dirty` publishes it to readers → the response waits for a flush or an fsync. An addition to
//! an item in memory takes the fast path in `add`. Behind that, `checkpoint` folds the dirty set into `base`. Opening
//! replays the part of the log that no fold reached (`open`).
//!
//! A read looks in the dirty set, the cache and the base store, in that order. A `page` merges the dirty set and the base
//! store in key order.

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
mod creation;
mod delay;
mod dirty;
pub mod disk;
mod disk_space;
mod engine;
mod feed;
mod keys;
mod log;
mod number_slots;
mod offline;
mod open;
mod page;
mod partial_item;
mod raw;
mod read;
mod reader_pool;
mod reopen;
mod sweep;
mod tables;
mod token;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use backup::{BackupReport, FilesReport, KeysReport, Passphrase, read_report, restore};
pub use feed::ConsumerLag;
pub use log::SyncDurations;
pub use offline::{Damage, Effect, FolderReport, RepairReport, repair_folder, verify_folder};
pub use verify::Verification;

use crate::addition::{Add, Added};
use crate::backend::Backend;
pub use crate::backend::WriteState;
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
    /// The folder; created if it is missing.
    pub dir: PathBuf,
    /// Memory for cached items (64 MiB). The block cache of the base store gets half as much again.
    pub cache_bytes: u64,
    /// Memory for recent commits (144 MiB): those in progress, those being folded, and the last ones folded, a third each.
    /// Writers wait when it is full.
    pub dirty_bytes_max: u64,
    /// Bytes of log to replay on opening (128 MiB). Writers wait when there are more.
    pub replay_bytes_max: u64,
    /// Size at which a new log segment is started (32 MiB).
    pub segment_bytes_max: u64,
    /// How long a flushed write waits until its fsync starts (100 ms).
    pub sync_interval: Duration,
    /// How often commits are folded when the store is idle (5 s).
    pub checkpoint_interval: Duration,
    /// How often expired items are removed (10 s); `None` turns the sweeper off.
    pub sweep_interval: Option<Duration>,
    /// Bytes of log retained for consumers that are behind (4 GiB).
    pub feed_bytes_max: u64,
    /// How long the log is retained for consumers that are behind (24 h).
    pub feed_age_max: Duration,
    /// How long a consumer that reads nothing is waited for (2 h, longer than any job pauses). Then the log is trimmed past it.
    pub feed_idle_max: Duration,
    /// Free bytes of the disk below which only deletions and essential writes are accepted (256 MiB); 0 for no bound.
    pub free_bytes_min: u64,
    /// The table of consumer positions.
    pub positions_table: String,
    /// Folders below `dir` with files of the application, which backups include (none).
    pub backup_folders: Vec<String>,
    /// Files in `dir` with keys of the application, which backups encrypt (none). The key of the store's cursors is
    /// always among them.
    pub key_files: Vec<String>,
    /// For tests: delay until index entries become visible.
    pub index_delay: Option<Duration>,
    /// For tests: size of the memtables of a new base store.
    pub memtable_bytes: Option<u64>,
    /// The source of time.
    pub clock: Clock,
    /// The disk that the log writes to.
    pub disk: Arc<dyn disk::Disk>,
}

impl Options {
    /// Default options for a store in `dir`.
    pub fn new(dir: impl Into<PathBuf>) -> Options {
        Options {
            dir: dir.into(),
            cache_bytes: 64 * 1024 * 1024,
            dirty_bytes_max: 144 * 1024 * 1024,
            replay_bytes_max: 128 * 1024 * 1024,
            segment_bytes_max: 32 * 1024 * 1024,
            sync_interval: Duration::from_millis(100),
            checkpoint_interval: Duration::from_secs(5),
            sweep_interval: Some(Duration::from_secs(10)),
            feed_bytes_max: 4 * 1024 * 1024 * 1024,
            feed_age_max: Duration::from_secs(24 * 60 * 60),
            feed_idle_max: Duration::from_secs(2 * 60 * 60),
            free_bytes_min: 256 * 1024 * 1024,
            positions_table: crate::feed::POSITIONS_TABLE.to_owned(),
            backup_folders: Vec::new(),
            key_files: Vec::new(),
            index_delay: None,
            memtable_bytes: None,
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
    /// Opens or creates the store and replays what a crash left. Blocks.
    ///
    /// # Errors
    /// The folder is in use, was written by a newer version, or is damaged.
    pub fn open(options: Options) -> Result<Embedded> {
        let (engine, cursor_key) = open::open(options)?;
        let engine = Arc::new(engine);
        let threads = engine::Threads::start(&engine)?;
        Ok(Embedded { engine, cursor_key, threads })
    }

    /// The key that seals cursors, stored in the folder.
    #[must_use]
    pub fn cursor_key(&self) -> CursorKey {
        self.cursor_key.clone()
    }

    /// Statistics of the store.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Which writes the store accepts at the moment.
    #[must_use]
    pub fn write_state(&self) -> WriteState {
        self.engine.write_state()
    }

    /// How far each consumer of the feed is behind, as of the last checkpoint.
    #[must_use]
    pub fn consumer_lags(&self) -> Vec<ConsumerLag> {
        self.engine.consumer_lags.lock().clone()
    }

    /// Folds and persists everything, so that the next opening is quick. Later writes fail with [`crate::Error::Closed`];
    /// reads still work.
    ///
    /// # Errors
    /// The disk fails.
    pub async fn close(&self) -> Result<()> {
        self.threads.stop();
        let engine = Arc::clone(&self.engine);
        engine::off_thread(move || engine.close()).await
    }

    /// Copies a snapshot of the store and the files of [`Options::backup_folders`] into an empty folder, while they are in
    /// use. The keys of the store and of [`Options::key_files`] are encrypted with `passphrase`; without one they are left
    /// out. Calls `progress` with the entries copied and their estimated total.
    ///
    /// # Errors
    /// The folder is not empty, or the disk fails.
    pub async fn backup(
        &self,
        to: &Path,
        passphrase: Option<Passphrase>,
        progress: impl Fn(u64, u64) + Send + Sync + 'static,
    ) -> Result<BackupReport> {
        let (engine, to) = (Arc::clone(&self.engine), to.to_owned());
        let act = move || backup::backup(&engine, &to, passphrase.as_ref(), &progress);
        engine::off_thread(act).await
    }

    /// Checks that indexes and expiry entries agree with the items, while the store is in use.
    ///
    /// # Errors
    /// The disk fails. Inconsistencies are part of the result.
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
        engine::off_thread(move || engine.sweep(&|| false)).await
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

/// Statistics of an embedded store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sequence number of the last commit.
    pub last_seq: u64,
    /// The last synced sequence number.
    pub synced_seq: u64,
    /// The last sequence number that was folded into the base store.
    pub applied_seq: u64,
    /// Bytes of commits that are not yet folded.
    pub dirty_bytes: u64,
    /// Bytes of log segments.
    pub log_bytes: u64,
    /// Checkpoints since opening.
    pub checkpoints: u64,
    /// Bytes of a torn tail of the log that opening removed.
    pub cut_bytes: u64,
    /// Log records that opening replayed.
    pub replayed: u64,
    /// Additions made in place since opening.
    pub additions_in_place_total: u64,
    /// Additions that fell back to an update since opening.
    pub additions_fallback_total: u64,
    /// Free bytes of the disk; `None` if they are unknown.
    pub disk_free_bytes: Option<u64>,
    /// Commits that were refused because the disk was nearly full, since opening.
    pub space_refusals_total: u64,
    /// How often the base store was opened again after it found no room, since opening.
    pub base_reopened_total: u64,
    /// Durations of the fsyncs since opening.
    pub syncs: SyncDurations,
    /// Items removed because they had expired, since opening.
    pub expired_total: u64,
    /// Age of the oldest expired item that the sweeper has yet to remove, in milliseconds.
    pub sweep_backlog_ms: u64,
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
