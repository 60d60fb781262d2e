//! The trait of back-ends: a dozen verbs, shaped like DynamoDB's.
//!
//! Requests reach a back-end through [`crate::Store`], which has checked them, so that both back-ends refuse the same requests
//! with the same errors. A back-end checks only what depends on the stored item.

use std::future::Future;

use crate::addition::{Add, Added};
use crate::error::Result;
use crate::feed::{FeedPage, FeedShard, Merge, Position};
use crate::item::Item;
use crate::limits;
use crate::request::{Get, Query, RawPage, Transacted, Transaction, Write, Written};
use crate::spec::TableSpec;

/// Stores tables.
pub trait Backend: Send + Sync + 'static {
    /// Creates a table and waits until it is active. An existing one is left unchanged.
    fn create_table(&self, spec: &TableSpec) -> impl Future<Output = Result<()>> + Send;

    /// Deletes a table with all its items.
    fn delete_table(&self, table: &str) -> impl Future<Output = Result<()>> + Send;

    /// The current schema of a table; `None` if it does not exist.
    fn describe(&self, table: &str) -> impl Future<Output = Result<Option<TableSpec>>> + Send;

    /// The names of all tables, sorted.
    fn table_names(&self) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Reads an item.
    fn get(&self, get: &Get) -> impl Future<Output = Result<Option<Item>>> + Send;

    /// Reads up to 100 items; the results are in the order of the requests.
    fn batch_get(&self, gets: &[Get]) -> impl Future<Output = Result<Vec<Option<Item>>>> + Send;

    /// Puts, updates or deletes an item.
    fn write(&self, write: Write) -> impl Future<Output = Result<Written>> + Send;

    /// Adds numbers to attributes of an item, and reads the new item.
    fn add<T: Send>(
        &self,
        add: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> impl Future<Output = Result<Added<T>>> + Send {
        let written = self.write(add.write());
        async move { Ok(Added::from_written(written.await?, read)) }
    }

    /// Puts and deletes up to 25 items, each independent of the others.
    fn batch_write(&self, writes: Vec<Write>) -> impl Future<Output = Result<()>> + Send;

    /// Applies all writes or none.
    fn transact(&self, transaction: Transaction)
    -> impl Future<Output = Result<Transacted>> + Send;

    /// Reads items at one moment.
    fn transact_get(&self, gets: &[Get]) -> impl Future<Output = Result<Vec<Option<Item>>>> + Send;

    /// Reads the page of `query` that follows `after`.
    fn page(
        &self,
        query: &Query,
        after: Option<&Item>,
    ) -> impl Future<Output = Result<RawPage>> + Send;

    /// The shards of a table's change feed.
    fn feed_shards(&self, table: &str) -> impl Future<Output = Result<Vec<FeedShard>>> + Send;

    /// Reads changes of one shard, from `from` on.
    fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> impl Future<Output = Result<FeedPage>> + Send;

    /// Reads changes of one shard, and may merge several into one.
    fn feed_read_merged(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        _merge: Merge,
    ) -> impl Future<Output = Result<FeedPage>> + Send {
        self.feed_read(table, shard, from, limits::FEED_READ_MAX)
    }
}

/// Which writes a store accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteState {
    /// All.
    Accepting,
    /// Deletions and essential ones, because the disk is nearly full.
    DiskNearlyFull,
    /// None until the disk has room.
    DiskFull,
    /// None until a restart, because the disk failed.
    Failed,
}
