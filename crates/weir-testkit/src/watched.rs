//! A back-end that counts its calls, fails where a test says so, and can hold an answer back.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;
use weir_table::feed::{FeedPage, FeedShard, Merge, Position};
use weir_table::request::RawPage;
use weir_table::{
    Add, Added, Backend, Error, Get, Item, Query, Result, TableSpec, Transacted, Transaction,
    Write, Written,
};

use crate::scales::{Scales, Weight};

/// When an injected fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// Before the call: the store never saw it.
    Before,
    /// After the call: the store did it, but the answer is lost.
    After,
    /// Before the call, as a conflict with another writer.
    Conflict,
}

/// Calls since the last [`Watch::reset`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    /// `get` and `transact_get`.
    pub gets: u64,
    /// `batch_get`.
    pub batch_gets: u64,
    /// Single puts, updates and deletes.
    pub writes: u64,
    /// Transactions.
    pub transactions: u64,
    /// Queries and scans.
    pub queries: u64,
}

impl Calls {
    fn count(&mut self, which: Kind) {
        *match which {
            Kind::Get => &mut self.gets,
            Kind::BatchGet => &mut self.batch_gets,
            Kind::Write => &mut self.writes,
            Kind::Transaction => &mut self.transactions,
            Kind::Query => &mut self.queries,
        } += 1;
    }
}

/// The kinds of calls that are counted.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Get,
    BatchGet,
    Write,
    Transaction,
    Query,
}

/// The counters of calls, and the planned faults. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Watch(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    calls: Mutex<Calls>,
    /// Writes of transactions.
    together: AtomicU64,
    plan: Mutex<Option<Plan>>,
    /// Fail every call.
    down: Mutex<Option<Strike>>,
    /// The gate at which the next batch get waits with the items that it has read.
    hold: Mutex<Option<Arc<Hold>>>,
    hold_query: Mutex<Option<Arc<Hold>>>,
    /// The scales for transactions, and the sums so far.
    scales: OnceLock<Scales>,
    weight: Mutex<Weight>,
}

/// A call that is held back: what it has read, or what it will read, changes meanwhile.
#[derive(Debug, Default)]
pub struct Hold {
    is_held: Notify,
    go_on: Notify,
}

impl Hold {
    /// Waits until the call is held back.
    pub async fn is_held(&self) {
        self.is_held.notified().await;
    }

    /// Lets it answer.
    pub fn go_on(&self) {
        self.go_on.notify_one();
    }
}

/// Which calls are to fail, and how.
#[derive(Debug, Clone, Copy)]
struct Plan {
    /// Calls that succeed before.
    skip: u64,
    /// Calls that fail.
    times: u64,
    strike: Strike,
}

impl Watch {
    /// The calls so far.
    #[must_use]
    pub fn calls(&self) -> Calls {
        *self.0.calls.lock()
    }

    /// Writes in all transactions there ever were.
    #[must_use]
    pub fn written_together(&self) -> u64 {
        self.0.together.load(Ordering::SeqCst)
    }

    /// Weighs every transaction on tables of these shapes from now on, reading through `beside`.
    pub fn weigh<B: Backend>(&self, specs: Vec<TableSpec>, beside: B) {
        self.0.scales.set(Scales::new(specs, beside)).ok();
    }

    /// The costs of transactions so far.
    #[must_use]
    pub fn weight(&self) -> Weight {
        *self.0.weight.lock()
    }

    /// Reads of any kind since the last time this was asked.
    #[must_use]
    pub fn take_reads(&self) -> u64 {
        let calls = std::mem::take(&mut *self.0.calls.lock());
        calls.gets + calls.batch_gets + calls.queries
    }

    /// Begins to count anew.
    pub fn reset(&self) {
        *self.0.calls.lock() = Calls::default();
    }

    /// Fails one data call: the one after `skip` more.
    pub fn fail_once(&self, skip: u64, strike: Strike) {
        self.fail(skip, 1, strike);
    }

    /// Fails so many data calls, one after the other: those after `skip` more.
    pub fn fail(&self, skip: u64, times: u64, strike: Strike) {
        *self.0.plan.lock() = Some(Plan { skip, times, strike });
    }

    /// Plans no fault.
    pub fn cancel(&self) {
        *self.0.plan.lock() = None;
    }

    /// Whether the planned fault has not struck yet.
    #[must_use]
    pub fn is_planned(&self) -> bool {
        self.0.plan.lock().is_some()
    }

    /// Fails every data call from now on, or none.
    pub fn down(&self, down: Option<Strike>) {
        *self.0.down.lock() = down;
    }

    /// Holds the next query back before it reads.
    #[must_use]
    pub fn hold_query(&self) -> Arc<Hold> {
        let hold = Arc::<Hold>::default();
        *self.0.hold_query.lock() = Some(Arc::clone(&hold));
        hold
    }

    /// Holds the next batch get back once it has read.
    #[must_use]
    pub fn hold(&self) -> Arc<Hold> {
        let hold = Arc::<Hold>::default();
        *self.0.hold.lock() = Some(Arc::clone(&hold));
        hold
    }

    fn called(&self, which: Kind) -> Option<Strike> {
        self.0.calls.lock().count(which);
        if let Some(strike) = *self.0.down.lock() {
            return Some(strike);
        }
        let mut plan = self.0.plan.lock();
        let Plan { skip, times, strike } = (*plan)?;
        if skip > 0 {
            *plan = Some(Plan { skip: skip - 1, times, strike });
            return None;
        }
        *plan = (times > 1).then_some(Plan { skip, times: times.saturating_sub(1), strike });
        Some(strike)
    }
}

/// A back-end under watch.
#[derive(Debug)]
pub struct Watched<B> {
    /// The store that gets the calls.
    pub inner: B,
    /// The counters, and the planned faults.
    pub watch: Watch,
}

impl<B> Watched<B> {
    async fn through<T>(&self, which: Kind, call: impl Future<Output = Result<T>>) -> Result<T> {
        let lost = || Error::Unavailable("injected by a test".to_owned());
        match self.watch.called(which) {
            None => call.await,
            Some(Strike::Before) => Err(lost()),
            Some(Strike::Conflict) => Err(Error::Conflict),
            Some(Strike::After) => {
                call.await?;
                Err(lost())
            }
        }
    }
}

impl<B: Backend> Backend for Watched<B> {
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
        self.through(Kind::Get, self.inner.get(get)).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        let items = self.through(Kind::BatchGet, self.inner.batch_get(gets)).await;
        let hold = self.watch.0.hold.lock().take();
        if let Some(hold) = hold {
            hold.is_held.notify_one();
            hold.go_on.notified().await;
        }
        items
    }

    async fn write(&self, write: Write) -> Result<Written> {
        self.through(Kind::Write, self.inner.write(write)).await
    }

    async fn add<T: Send>(
        &self,
        add: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> Result<Added<T>> {
        self.through(Kind::Write, self.inner.add(add, read)).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        self.through(Kind::Write, self.inner.batch_write(writes)).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        let writes = transaction.writes.len() as u64;
        self.watch.0.together.fetch_add(writes, Ordering::SeqCst);
        let Some(scales) = self.watch.0.scales.get() else {
            return self.through(Kind::Transaction, self.inner.transact(transaction)).await;
        };
        let targets = scales.targets(&transaction)?;
        let old = scales.read(&targets).await?;
        let done = self.through(Kind::Transaction, self.inner.transact(transaction)).await?;
        let new = scales.read(&targets).await?;
        let weight = scales.weigh(&targets, &old, &new, done.is_applied());
        *self.watch.0.weight.lock() += weight;
        Ok(done)
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.through(Kind::Get, self.inner.transact_get(gets)).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        let hold = self.watch.0.hold_query.lock().take();
        if let Some(hold) = hold {
            hold.is_held.notify_one();
            hold.go_on.notified().await;
        }
        self.through(Kind::Query, self.inner.page(query, after)).await
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

    async fn feed_read_merged(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        merge: Merge,
    ) -> Result<FeedPage> {
        self.inner.feed_read_merged(table, shard, from, merge).await
    }
}
