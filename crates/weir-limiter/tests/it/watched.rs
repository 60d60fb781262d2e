//! A back-end that counts its calls and fails where a test says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use weir_table::feed::{FeedPage, FeedShard, Position};
use weir_table::request::RawPage;
use weir_table::{
    AnyBackend, Backend, Error, Get, Item, Query, Result, TableSpec, Transacted, Transaction,
    Write, Written,
};

/// When an injected fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strike {
    /// Before the call: the store never saw it.
    Before,
    /// After the call: the store did it, but the answer is lost.
    After,
}

/// Calls since the last [`Watch::reset`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Calls {
    /// `get` and `transact_get`.
    pub(crate) gets: u64,
    /// `batch_get`.
    pub(crate) batch_gets: u64,
    /// Single puts, updates and deletes.
    pub(crate) writes: u64,
    /// Transactions.
    pub(crate) transactions: u64,
    /// Queries and scans.
    pub(crate) queries: u64,
}

/// What is counted, and what is to fail. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    calls: [AtomicU64; 5],
    /// Writes of transactions.
    together: AtomicU64,
    /// Fail the call after this many more, and how.
    plan: Mutex<Option<(u64, Strike)>>,
    /// Fail every call.
    down: Mutex<Option<Strike>>,
}

impl Watch {
    /// What was called.
    pub(crate) fn calls(&self) -> Calls {
        let [gets, batch_gets, writes, transactions, queries] =
            self.0.calls.each_ref().map(|count| count.load(Ordering::SeqCst));
        Calls { gets, batch_gets, writes, transactions, queries }
    }

    /// Writes in all transactions there ever were.
    pub(crate) fn written_together(&self) -> u64 {
        self.0.together.load(Ordering::SeqCst)
    }

    /// Begins to count anew.
    pub(crate) fn reset(&self) {
        for count in &self.0.calls {
            count.store(0, Ordering::SeqCst);
        }
    }

    /// Fails one data call: the one after `skip` more.
    pub(crate) fn fail_once(&self, skip: u64, strike: Strike) {
        *self.0.plan.lock() = Some((skip, strike));
    }

    /// Plans no fault.
    pub(crate) fn cancel(&self) {
        *self.0.plan.lock() = None;
    }

    /// Whether the planned fault has not struck yet.
    pub(crate) fn is_planned(&self) -> bool {
        self.0.plan.lock().is_some()
    }

    /// Fails every data call from now on, or none.
    pub(crate) fn down(&self, down: Option<Strike>) {
        *self.0.down.lock() = down;
    }

    fn called(&self, which: usize) -> Option<Strike> {
        self.0.calls[which].fetch_add(1, Ordering::SeqCst);
        if let Some(strike) = *self.0.down.lock() {
            return Some(strike);
        }
        let mut plan = self.0.plan.lock();
        match *plan {
            Some((0, strike)) => {
                *plan = None;
                Some(strike)
            }
            Some((skip, strike)) => {
                *plan = Some((skip - 1, strike));
                None
            }
            None => None,
        }
    }
}

/// A back-end under watch.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) inner: AnyBackend,
    pub(crate) watch: Watch,
}

impl Watched {
    async fn through<T>(&self, which: usize, call: impl Future<Output = Result<T>>) -> Result<T> {
        let lost = || Error::Unavailable("injected by a test".to_owned());
        match self.watch.called(which) {
            None => call.await,
            Some(Strike::Before) => Err(lost()),
            Some(Strike::After) => {
                call.await?;
                Err(lost())
            }
        }
    }
}

impl Backend for Watched {
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
        self.through(0, self.inner.get(get)).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.through(1, self.inner.batch_get(gets)).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        self.through(2, self.inner.write(write)).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        self.through(2, self.inner.batch_write(writes)).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        let writes = u64::try_from(transaction.writes.len()).unwrap();
        self.watch.0.together.fetch_add(writes, Ordering::SeqCst);
        self.through(3, self.inner.transact(transaction)).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.through(0, self.inner.transact_get(gets)).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        self.through(4, self.inner.page(query, after)).await
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
