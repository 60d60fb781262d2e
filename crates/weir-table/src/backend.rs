//! What a back-end does: a dozen verbs, shaped like DynamoDB's.
//!
//! Requests reach a back-end through [`crate::Store`], which has checked them, so that both
//! back-ends refuse the same requests with the same words. A back-end checks only what needs the
//! stored item to be known.

use std::future::Future;

use crate::addition::{Add, Added};
use crate::error::Result;
use crate::feed::{FeedPage, FeedShard, Merge, Position};
use crate::item::Item;
use crate::limits;
use crate::request::{Get, Query, RawPage, Transacted, Transaction, Write, Written};
use crate::spec::TableSpec;

/// A place where tables live.
pub trait Backend: Send + Sync + 'static {
    /// Makes a table and waits until it can be used. One that exists already is left as it is.
    fn create_table(&self, spec: &TableSpec) -> impl Future<Output = Result<()>> + Send;

    /// Removes a table with all its items.
    fn delete_table(&self, table: &str) -> impl Future<Output = Result<()>> + Send;

    /// The table's shape as it is, or none when there is no such table.
    fn describe(&self, table: &str) -> impl Future<Output = Result<Option<TableSpec>>> + Send;

    /// The names of all tables, sorted.
    fn table_names(&self) -> impl Future<Output = Result<Vec<String>>> + Send;

    /// Reads an item.
    fn get(&self, get: &Get) -> impl Future<Output = Result<Option<Item>>> + Send;

    /// Reads up to 100 items; the answers are in the order of the requests.
    fn batch_get(&self, gets: &[Get]) -> impl Future<Output = Result<Vec<Option<Item>>>> + Send;

    /// Puts, updates or deletes an item.
    fn write(&self, write: Write) -> impl Future<Output = Result<Written>> + Send;

    /// Adds numbers to attributes of an item, and reads the item after it.
    fn add<T: Send>(
        &self,
        add: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> impl Future<Output = Result<Added<T>>> + Send {
        let written = self.write(add.write());
        async move { Ok(Added::from_written(written.await?, read)) }
    }

    /// Puts and deletes up to 25 items, each on its own.
    fn batch_write(&self, writes: Vec<Write>) -> impl Future<Output = Result<()>> + Send;

    /// Does all writes or none.
    fn transact(&self, transaction: Transaction)
    -> impl Future<Output = Result<Transacted>> + Send;

    /// Reads items as they were at one moment.
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

    /// Reads changes of one shard, of which it may tell several as one.
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
