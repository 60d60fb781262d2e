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
    /// Calls until one is held back; negative when none is.
    until_held: AtomicI64,
    is_held: Semaphore,
    gate: Semaphore,
    /// Whether calls let others go first at random.
    is_shuffled: AtomicBool,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults(Arc::new(Inner {
            left: AtomicI64::new(-1),
            is_after: AtomicBool::new(false),
            until_held: AtomicI64::new(-1),
            is_held: Semaphore::new(0),
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

    /// Holds back the call after `skip` more, until [`Faults::release`].
    pub(crate) fn hold(&self, skip: i64) {
        self.0.until_held.store(skip, Ordering::SeqCst);
    }

    /// Waits until a call is held back.
    pub(crate) async fn is_held(&self) {
        self.0.is_held.acquire().await.unwrap().forget();
    }

    /// Lets the call that is held back go on.
    pub(crate) fn release(&self) {
        self.0.gate.add_permits(1);
    }

    /// Lets calls of several tasks overtake each other.
    pub(crate) fn shuffle(&self) {
        self.0.is_shuffled.store(true, Ordering::SeqCst);
    }

    async fn through<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        if self.0.is_shuffled.load(Ordering::SeqCst) {
            // Mostly a few steps, sometimes as many as a whole run of another task takes.
            let steps = if fastrand::u8(..6) == 0 { 200 } else { 8 };
            for _ in 0..fastrand::u8(..steps) {
                tokio::task::yield_now().await;
            }
        }
        if self.0.until_held.fetch_sub(1, Ordering::SeqCst) == 0 {
            self.0.is_held.add_permits(1);
            self.0.gate.acquire().await.unwrap().forget();
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
