//! The embedded store with counters of the items read and written.

use std::future::Future;
use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_table::capacity::{read_milliunits, transact_read_milliunits};
use weir_table::embedded::Embedded;
use weir_table::feed::{FeedPage, FeedShard, Position};
use weir_table::request::RawPage;
use weir_table::{
    Add, Added, Backend, Consistency, Get, Item, KeyValue, Query, Result, TableSpec, Transacted,
    Transaction, Write, Written,
};

/// The prefix of the sort keys of config levels.
const CONFIG_SORT: &str = "#CONFIG";

/// An embedded store that counts reads and writes.
pub(super) struct MeteredStore {
    inner: Embedded,
    calls: AtomicU64,
    config_items: AtomicU64,
    config_milliunits: AtomicU64,
    other_items: AtomicU64,
    writes: AtomicU64,
}

/// Counters of a store, or the difference of two readings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// Calls that read.
    pub(super) calls: u64,
    /// Config levels read, including missing ones.
    pub(super) config_items: u64,
    /// Read units that DynamoDB would charge for the config levels, in thousandths.
    pub(super) config_milliunits: u64,
    /// Items read that are not config levels.
    pub(super) other_items: u64,
    /// Items written, including failed conditions.
    pub(super) writes: u64,
}

impl Sub for Counts {
    type Output = Counts;

    fn sub(self, before: Counts) -> Counts {
        Counts {
            calls: self.calls - before.calls,
            config_items: self.config_items - before.config_items,
            config_milliunits: self.config_milliunits - before.config_milliunits,
            other_items: self.other_items - before.other_items,
            writes: self.writes - before.writes,
        }
    }
}

impl MeteredStore {
    pub(super) fn new(inner: Embedded) -> MeteredStore {
        let zero = || AtomicU64::new(0);
        MeteredStore {
            inner,
            calls: zero(),
            config_items: zero(),
            config_milliunits: zero(),
            other_items: zero(),
            writes: zero(),
        }
    }

    /// The current counters.
    pub(super) fn counts(&self) -> Counts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            calls: load(&self.calls),
            config_items: load(&self.config_items),
            config_milliunits: load(&self.config_milliunits),
            other_items: load(&self.other_items),
            writes: load(&self.writes),
        }
    }

    /// Closes the store, so that its folder can be removed.
    pub(super) async fn close(&self) {
        self.inner.close().await.expect("the store closes");
    }

    fn count_read(
        &self,
        get: &Get,
        item: Option<&Item>,
        milliunits: fn(usize, Consistency) -> u64,
    ) {
        let sort = get.key.sort.as_ref();
        let config = matches!(sort, Some(KeyValue::S(sort)) if sort.starts_with(CONFIG_SORT));
        if config {
            let units = milliunits(item.map_or(0, Item::size), get.consistency);
            add(&self.config_items, 1);
            add(&self.config_milliunits, units);
        } else {
            add(&self.other_items, 1);
        }
    }

    fn count_reads(&self, gets: &[Get], items: &[Option<Item>]) {
        add(&self.calls, 1);
        for (get, item) in gets.iter().zip(items) {
            self.count_read(get, item.as_ref(), read_milliunits);
        }
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl Backend for MeteredStore {
    fn create_table(&self, spec: &TableSpec) -> impl Future<Output = Result<()>> + Send {
        self.inner.create_table(spec)
    }

    fn delete_table(&self, table: &str) -> impl Future<Output = Result<()>> + Send {
        self.inner.delete_table(table)
    }

    fn describe(&self, table: &str) -> impl Future<Output = Result<Option<TableSpec>>> + Send {
        self.inner.describe(table)
    }

    fn table_names(&self) -> impl Future<Output = Result<Vec<String>>> + Send {
        self.inner.table_names()
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        let item = self.inner.get(get).await?;
        add(&self.calls, 1);
        self.count_read(get, item.as_ref(), read_milliunits);
        Ok(item)
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        let items = self.inner.batch_get(gets).await?;
        self.count_reads(gets, &items);
        Ok(items)
    }

    fn write(&self, write: Write) -> impl Future<Output = Result<Written>> + Send {
        add(&self.writes, 1);
        self.inner.write(write)
    }

    fn add<T: Send>(
        &self,
        sum: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> impl Future<Output = Result<Added<T>>> + Send {
        add(&self.writes, 1);
        self.inner.add(sum, read)
    }

    fn batch_write(&self, writes: Vec<Write>) -> impl Future<Output = Result<()>> + Send {
        add(&self.writes, writes.len() as u64);
        self.inner.batch_write(writes)
    }

    fn transact(
        &self,
        transaction: Transaction,
    ) -> impl Future<Output = Result<Transacted>> + Send {
        add(&self.writes, transaction.writes.len() as u64);
        self.inner.transact(transaction)
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        let items = self.inner.transact_get(gets).await?;
        add(&self.calls, 1);
        for (get, item) in gets.iter().zip(&items) {
            self.count_read(get, item.as_ref(), |bytes, _| transact_read_milliunits(bytes));
        }
        Ok(items)
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        let page = self.inner.page(query, after).await?;
        add(&self.calls, 1);
        add(&self.other_items, page.items.len() as u64);
        Ok(page)
    }

    fn feed_shards(&self, table: &str) -> impl Future<Output = Result<Vec<FeedShard>>> + Send {
        self.inner.feed_shards(table)
    }

    fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> impl Future<Output = Result<FeedPage>> + Send {
        self.inner.feed_read(table, shard, from, limit)
    }
}
