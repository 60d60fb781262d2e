//! A back-end that fails or waits where a test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use tokio::sync::Semaphore;
use weir_table::feed::{FeedPage, FeedShard, Position};
use weir_table::request::RawPage;
use weir_table::{
    Add, Added, Backend, Error, Get, Item, Query, Result, TableSpec, Transacted, Transaction,
    Write, Written,
};

/// When a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strike {
    /// Before the call: the store never saw it.
    Before,
    /// After the call: the store did it, but the response is lost.
    After,
}

/// What is to go wrong. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Faults(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Calls until the fault; negative when none is planned.
    left: AtomicI64,
    is_after: AtomicBool,
    /// Whether transactions wait for a permit.
    is_gated: AtomicBool,
    gate: Semaphore,
    /// Whether calls let others go first at random.
    is_shuffled: AtomicBool,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults(Arc::new(Inner {
            left: AtomicI64::new(-1),
            is_after: AtomicBool::new(false),
            is_gated: AtomicBool::new(false),
            gate: Semaphore::new(0),
            is_shuffled: AtomicBool::new(false),
        }))
    }
}

impl Faults {
    /// Fails the call after `skip` more.
    pub(crate) fn fail_once(&self, skip: i64, strike: Strike) {
        self.0.is_after.store(strike == Strike::After, Ordering::SeqCst);
        self.0.left.store(skip, Ordering::SeqCst);
    }

    /// Whether the planned fault has not struck yet. Plans none from now on.
    pub(crate) fn take_planned(&self) -> bool {
        self.0.left.swap(-1, Ordering::SeqCst) >= 0
    }

    /// Holds back the next transaction until [`Faults::open_gate`].
    pub(crate) fn close_gate(&self) {
        self.0.is_gated.store(true, Ordering::SeqCst);
    }

    /// Lets the transaction that was held back go on.
    pub(crate) fn open_gate(&self) {
        self.0.gate.add_permits(1);
    }

    /// Lets calls of several tasks overtake each other.
    pub(crate) fn shuffle(&self) {
        self.0.is_shuffled.store(true, Ordering::SeqCst);
    }

    async fn through<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        if self.0.is_shuffled.load(Ordering::SeqCst) {
            for _ in 0..fastrand::u8(..8) {
                tokio::task::yield_now().await;
            }
        }
        let is_struck = self.0.left.fetch_sub(1, Ordering::SeqCst) == 0;
        if !is_struck {
            return call.await;
        }
        if self.0.is_after.load(Ordering::SeqCst) {
            call.await?;
        }
        Err(Error::Unavailable("injected by a test".to_owned()))
    }
}

/// A back-end with faults.
#[derive(Debug)]
pub(crate) struct Unreliable<B> {
    /// The back-end that does the calls.
    pub(crate) inner: B,
    /// What is to go wrong.
    pub(crate) faults: Faults,
}

impl<B: Backend> Backend for Unreliable<B> {
    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        self.inner.create_table(spec).await
    }

    async fn delete_table(&self, table: &str) -> Result<()> {
        self.inner.delete_table(table).await
    }

    async fn describe(&self, table: &str) -> Result<Option<TableSpec>> {
        self.inner.describe(table).await
    }

    async fn table_names(&self) -> Result<Vec<String>> {
        self.inner.table_names().await
    }

    async fn get(&self, get: &Get) -> Result<Option<Item>> {
        self.faults.through(self.inner.get(get)).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.faults.through(self.inner.batch_get(gets)).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        self.faults.through(self.inner.write(write)).await
    }

    async fn add<T: Send>(
        &self,
        add: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> Result<Added<T>> {
        self.faults.through(self.inner.add(add, read)).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        self.faults.through(self.inner.batch_write(writes)).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        if self.faults.0.is_gated.swap(false, Ordering::SeqCst) {
            self.faults.0.gate.acquire().await.unwrap().forget();
        }
        self.faults.through(self.inner.transact(transaction)).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.faults.through(self.inner.transact_get(gets)).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        let is_scan = matches!(query.extent, weir_table::request::Extent::Everything { .. });
        assert!(!is_scan, "rollups never scan");
        self.faults.through(self.inner.page(query, after)).await
    }

    async fn feed_shards(&self, table: &str) -> Result<Vec<FeedShard>> {
        self.inner.feed_shards(table).await
    }

    async fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        self.inner.feed_read(table, shard, from, limit).await
    }
}
