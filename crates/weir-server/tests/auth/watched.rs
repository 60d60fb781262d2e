//! An embedded store that counts reads, fails when told to, and can hold an answer back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;
use weir_table::embedded::Embedded;
use weir_table::feed::{FeedPage, FeedShard, Position};
use weir_table::request::RawPage;
use weir_table::{
    Backend, Error, Get, Item, Query, Result, TableSpec, Transacted, Transaction, Write, Written,
};

/// What the test sees and does.
#[derive(Debug, Default)]
pub(crate) struct Control {
    reads: AtomicU64,
    pub(crate) failing: AtomicBool,
    /// When set, a batch get tells `has_read` once it has read and then waits for `go_on`.
    pub(crate) holding: AtomicBool,
    pub(crate) has_read: Notify,
    pub(crate) go_on: Notify,
}

impl Control {
    pub(crate) fn fail(&self, failing: bool) {
        self.failing.store(failing, Ordering::SeqCst);
    }

    /// Reads since the last time this was asked.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.swap(0, Ordering::SeqCst)
    }

    fn check(&self) -> Result<()> {
        if self.failing.load(Ordering::SeqCst) {
            return Err(Error::Unavailable("the test says so".into()));
        }
        Ok(())
    }

    fn read(&self) -> Result<()> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.check()
    }
}

/// The back-end.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) tables: Embedded,
    pub(crate) control: Arc<Control>,
}

impl Backend for Watched {
    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.tables.create_table(spec).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        self.tables.delete_table(table).await
    }

    async fn describe(&self, table: &str) -> Result<Option<TableSpec>> {
        self.tables.describe(table).await
    }

    async fn table_names(&self) -> Result<Vec<String>> {
        self.tables.table_names().await
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        self.control.read()?;
        self.tables.get(get).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.control.read()?;
        let items = self.tables.batch_get(gets).await;
        if self.control.holding.swap(false, Ordering::SeqCst) {
            self.control.has_read.notify_one();
            self.control.go_on.notified().await;
        }
        items
    }

    async fn write(&self, write: Write) -> Result<Written> {
        self.control.check()?;
        self.tables.write(write).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        self.control.check()?;
        self.tables.batch_write(writes).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        self.control.check()?;
        self.tables.transact(transaction).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.control.read()?;
        self.tables.transact_get(gets).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        self.control.read()?;
        self.tables.page(query, after).await
    }

    async fn feed_shards(&self, table: &str) -> Result<Vec<FeedShard>> {
        self.tables.feed_shards(table).await
    }

    async fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        self.tables.feed_read(table, shard, from, limit).await
    }
}
