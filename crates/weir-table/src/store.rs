//! The store: validates every request, forwards it to the back-end, and seals cursors.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::addition::{Add, Added, Addition, Prepared};
use crate::backend::Backend;
use crate::check;
use crate::cursor::CursorKey;
use crate::error::{Error, Result};
use crate::feed::{FeedPage, FeedShard, Merge, Position};
use crate::item::Item;
use crate::limits;
use crate::request::{Get, Page, Query, Transacted, Transaction, Write, Written};
use crate::spec::TableSpec;

/// Tables on one back-end. Cheap to clone.
#[derive(Debug)]
pub struct Store<B> {
    inner: Arc<Inner<B>>,
}

impl<B> Clone for Store<B> {
    fn clone(&self) -> Self {
        Store { inner: Arc::clone(&self.inner) }
    }
}

#[derive(Debug)]
struct Inner<B> {
    backend: B,
    specs: RwLock<HashMap<String, Arc<TableSpec>>>,
    cursors: CursorKey,
}

impl<B: Backend> Store<B> {
    /// Tables of `backend`, with cursors sealed by `cursors`.
    pub fn new(backend: B, cursors: CursorKey) -> Store<B> {
        let specs = RwLock::new(HashMap::new());
        Store { inner: Arc::new(Inner { backend, specs, cursors }) }
    }

    /// The back-end, for its own operations.
    #[must_use]
    pub fn backend(&self) -> &B {
        &self.inner.backend
    }

    /// Derives a key for another purpose from the key that seals cursors; instances that share one share the other.
    ///
    /// # Errors
    /// As [`CursorKey::derive`].
    pub fn derived_key(&self, label: &str) -> Result<[u8; 32]> {
        self.inner.cursors.derive(label)
    }

    /// Creates the table, or checks that the existing one has the same schema.
    ///
    /// # Errors
    /// The spec is invalid, or the existing table has another schema.
    pub async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        spec.check()?;
        self.inner.backend.create_table(spec).await?;
        self.verify_table(spec).await
    }

    /// Checks that the table exists with this schema.
    ///
    /// # Errors
    /// The table does not exist, or has another schema.
    pub async fn verify_table(&self, spec: &TableSpec) -> Result<()> {
        let found = self
            .inner
            .backend
            .describe(&spec.name)
            .await?
            .ok_or_else(|| Error::NoSuchTable(spec.name.clone()))?;
        let differences = spec.differences(&found);
        if !differences.is_empty() {
            return Err(Error::SpecMismatch { table: spec.name.clone(), differences });
        }
        self.inner.specs.write().insert(spec.name.clone(), Arc::new(found));
        Ok(())
    }

    /// Creates a table unless it exists, and waits until it is ready. Several instances may do so at once: one that comes
    /// second waits for the first, and a table whose expiry attribute was never set gets it.
    ///
    /// # Errors
    /// The table has another shape, or the back-end fails.
    pub async fn ensure_table(&self, spec: &TableSpec) -> Result<()> {
        match self.verify_table(spec).await {
            Err(Error::NoSuchTable(_)) => {}
            Err(Error::SpecMismatch { .. }) if self.lacks_only_ttl(spec).await? => {}
            verified => return verified,
        }
        self.create_table(spec).await?;
        self.verify_table(spec).await
    }

    async fn lacks_only_ttl(&self, spec: &TableSpec) -> Result<bool> {
        let found = self.inner.backend.describe(&spec.name).await?;
        Ok(found.is_none_or(|found| {
            // It may be set by now.
            let is_open = found.ttl.is_none() || found.ttl == spec.ttl;
            let with_ttl = TableSpec { ttl: spec.ttl.clone(), ..found };
            is_open && spec.differences(&with_ttl).is_empty()
        }))
    }

    /// Deletes a table with all its items.
    ///
    /// # Errors
    /// The table does not exist, or the back-end fails.
    pub async fn delete_table(&self, table: &str) -> Result<()> {
        self.inner.specs.write().remove(table);
        self.inner.backend.delete_table(table).await
    }

    /// The names of all tables, sorted.
    ///
    /// # Errors
    /// The back-end fails.
    pub async fn table_names(&self) -> Result<Vec<String>> {
        self.inner.backend.table_names().await
    }

    /// The schema of a table, cached.
    ///
    /// # Errors
    /// The table does not exist, or the back-end fails.
    pub async fn spec(&self, table: &str) -> Result<Arc<TableSpec>> {
        if let Some(spec) = self.inner.specs.read().get(table) {
            return Ok(Arc::clone(spec));
        }
        let found = self.inner.backend.describe(table).await?;
        let spec = Arc::new(found.ok_or_else(|| Error::NoSuchTable(table.to_owned()))?);
        self.inner.specs.write().insert(table.to_owned(), Arc::clone(&spec));
        Ok(spec)
    }

    /// Reads an item.
    ///
    /// # Errors
    /// The request is invalid or the back-end fails.
    pub async fn get(&self, get: &Get) -> Result<Option<Item>> {
        check::get(&*self.spec(&get.table).await?, get)?;
        self.inner.backend.get(get).await
    }

    /// Reads up to 100 items, each independent of the others; the results are in the order of the requests.
    ///
    /// # Errors
    /// The request is invalid or the back-end fails.
    pub async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        check::gets(gets, limits::BATCH_GET_MAX)?;
        for get in gets {
            check::get(&*self.spec(&get.table).await?, get)?;
        }
        self.inner.backend.batch_get(gets).await
    }

    /// Puts, updates or deletes an item. A refused condition is a result, not an error.
    ///
    /// # Errors
    /// The request is invalid or the back-end fails.
    pub async fn write(&self, write: Write) -> Result<Written> {
        if matches!(write.action, crate::request::Action::Check(_)) {
            return Err(Error::invalid("action", "a check is allowed only in a transaction"));
        }
        check::write(&*self.spec(&write.table).await?, &write)?;
        self.inner.backend.write(write).await
    }

    /// Checks an addition once, for repeated use with [`Store::add`].
    ///
    /// # Errors
    /// The addition is invalid, or the table does not exist.
    pub async fn prepare(&self, addition: Addition) -> Result<Arc<Prepared>> {
        let spec = self.spec(&addition.table).await?;
        Ok(Arc::new(Prepared::new(addition, spec)?))
    }

    /// Adds numbers to attributes of an item, and reads the new item. A refused guard is a result, not an error.
    ///
    /// # Errors
    /// The request is invalid or the back-end fails.
    pub async fn add<T: Send>(
        &self,
        add: Add<'_>,
        read: impl Fn(&Item) -> T + Send,
    ) -> Result<Added<T>> {
        add.check()?;
        self.inner.backend.add(add, read).await
    }

    /// Puts and deletes up to 25 items, each independent of the others.
    ///
    /// # Errors
    /// The request is invalid or the back-end fails; some of the writes may have been applied.
    pub async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        let specs = self.check_writes(&writes).await?;
        check::batch_write(&specs, &writes)?;
        self.inner.backend.batch_write(writes).await
    }

    /// Applies all writes or none. Refused conditions are a result, not an error.
    ///
    /// # Errors
    /// The request is invalid, another transaction writes an item, or the back-end fails.
    pub async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        if let Some(token) = &transaction.token
            && !(1..=limits::TOKEN_MAX).contains(&token.len())
        {
            let max = limits::TOKEN_MAX;
            return Err(Error::invalid("token", format!("must have 1 to {max} characters")));
        }
        let specs = self.check_writes(&transaction.writes).await?;
        check::transaction(&specs, &transaction.writes)?;
        self.inner.backend.transact(transaction).await
    }

    async fn check_writes(&self, writes: &[Write]) -> Result<Vec<Arc<TableSpec>>> {
        let mut specs = Vec::with_capacity(writes.len().min(limits::TRANSACT_MAX));
        for write in writes.iter().take(limits::TRANSACT_MAX) {
            let spec = self.spec(&write.table).await?;
            check::write(&spec, write)?;
            specs.push(spec);
        }
        Ok(specs)
    }

    /// Reads up to 100 items at one moment.
    ///
    /// # Errors
    /// The request is invalid, a transaction writes an item, or the back-end fails.
    pub async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        check::gets(gets, limits::TRANSACT_MAX)?;
        for get in gets {
            check::get(&*self.spec(&get.table).await?, get)?;
        }
        self.inner.backend.transact_get(gets).await
    }

    /// Reads a page of a query or scan.
    ///
    /// # Errors
    /// The request is invalid, the cursor is not of this query, or the back-end fails.
    pub async fn query(&self, query: &Query) -> Result<Page> {
        check::query(&*self.spec(&query.table).await?, query)?;
        let after = match &query.cursor {
            Some(cursor) => Some(self.inner.cursors.open(query, cursor)?),
            None => None,
        };
        let page = self.inner.backend.page(query, after.as_ref()).await?;
        let cursor = match &page.last {
            Some(last) => Some(self.inner.cursors.seal(query, last)?),
            None => None,
        };
        Ok(Page { items: page.items, count: page.count, scanned: page.scanned, cursor })
    }

    /// A cursor that continues `query` behind one of its items, for a reader that did not use a whole page.
    ///
    /// # Errors
    /// The table or the index does not exist.
    pub async fn cursor_after(&self, query: &Query, item: &Item) -> Result<String> {
        let spec = self.spec(&query.table).await?;
        let index = query.index.as_deref().map(|name| spec.find_index(name)).transpose()?;
        self.inner.cursors.seal(query, &spec.cursor_key(index, item))
    }

    /// The shards of a table's change feed.
    ///
    /// # Errors
    /// The table has no feed, or the back-end fails.
    pub async fn feed_shards(&self, table: &str) -> Result<Vec<FeedShard>> {
        self.check_fed(table).await?;
        self.inner.backend.feed_shards(table).await
    }

    /// Reads changes of one shard.
    ///
    /// # Errors
    /// The table has no feed, the position was trimmed, or the back-end fails.
    pub async fn feed_read(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        self.check_fed(table).await?;
        if !(1..=limits::FEED_READ_MAX).contains(&limit) {
            let max = limits::FEED_READ_MAX;
            return Err(Error::invalid("limit", format!("is {limit}; 1 to {max} are allowed")));
        }
        self.inner.backend.feed_read(table, shard, from, limit).await
    }

    /// Reads changes of one shard; the back-end may merge several into one.
    ///
    /// # Errors
    /// The table has no feed, the position was trimmed, or the back-end fails.
    pub async fn feed_read_merged(
        &self,
        table: &str,
        shard: &str,
        from: &Position,
        merge: Merge,
    ) -> Result<FeedPage> {
        self.check_fed(table).await?;
        self.inner.backend.feed_read_merged(table, shard, from, merge).await
    }

    async fn check_fed(&self, table: &str) -> Result<()> {
        if self.spec(table).await?.feed {
            return Ok(());
        }
        Err(Error::invalid("table", format!("{table:?} has no change feed")))
    }
}
