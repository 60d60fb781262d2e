//! A back-end with the tables of the embedded one and a feed whose shards a test scripts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weir_table::embedded::Embedded;
use weir_table::feed::{Change, FeedPage, FeedShard, Position};
use weir_table::request::RawPage;
use weir_table::{
    Backend, Error, Get, Item, Key, Query, Result, TableSpec, Transacted, Transaction, Write,
    Written,
};

use crate::setup::TABLE;

/// A shard: its parent, its numbers, whether it has ended, and how many were trimmed.
#[derive(Debug, Default)]
struct Shard {
    parent: Option<String>,
    numbers: Vec<i64>,
    ended: bool,
    trimmed: usize,
}

/// What the feed holds; shared with the test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feed(Arc<Mutex<BTreeMap<String, Shard>>>);

impl Feed {
    pub(crate) fn add(&self, id: &str, parent: Option<&str>) {
        let shard = Shard { parent: parent.map(str::to_owned), ..Shard::default() };
        self.0.lock().unwrap().insert(id.to_owned(), shard);
    }

    pub(crate) fn change(&self, id: &str, numbers: impl IntoIterator<Item = i64>) {
        let mut shards = self.0.lock().unwrap();
        shards.get_mut(id).unwrap().numbers.extend(numbers);
    }

    pub(crate) fn end(&self, id: &str) {
        self.0.lock().unwrap().get_mut(id).unwrap().ended = true;
    }

    pub(crate) fn trim(&self, id: &str, count: usize) {
        self.0.lock().unwrap().get_mut(id).unwrap().trimmed = count;
    }

    pub(crate) fn remove(&self, id: &str) {
        self.0.lock().unwrap().remove(id);
    }
}

/// The back-end.
#[derive(Debug)]
pub(crate) struct Scripted {
    pub(crate) tables: Embedded,
    pub(crate) feed: Feed,
}

fn change(number: i64, place: usize) -> Change {
    let id = format!("order-{number}");
    Change {
        table: TABLE.into(),
        key: Key::partition(id.as_str()),
        old: None,
        new: Some(Item::new().with("id", id).with("number", number).into()),
        at_ms: 0,
        expired: false,
        position: (place + 1).to_string().into(),
        merged: None,
    }
}

impl Backend for Scripted {
    async fn feed_shards(&self, _table: &str) -> Result<Vec<FeedShard>> {
        let shards = self.feed.0.lock().unwrap();
        let listed = shards
            .iter()
            .map(|(id, shard)| FeedShard { id: id.clone(), parent: shard.parent.clone() });
        Ok(listed.collect())
    }

    async fn feed_read(
        &self,
        _table: &str,
        shard: &str,
        from: &Position,
        limit: usize,
    ) -> Result<FeedPage> {
        let shards = self.feed.0.lock().unwrap();
        let shard = shards.get(shard).ok_or(Error::Trimmed)?;
        let first = match from {
            Position::Oldest => shard.trimmed,
            Position::Latest => shard.numbers.len(),
            Position::After(position) => position.parse().unwrap(),
        };
        if first < shard.trimmed {
            return Err(Error::Trimmed);
        }
        let last = shard.numbers.len().min(first + limit);
        let changes = (first..last).map(|place| change(shard.numbers[place], place));
        let ended = shard.ended && last == shard.numbers.len();
        Ok(FeedPage::new(changes.collect(), Position::After(last.to_string()), ended))
    }

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
        self.tables.get(get).await
    }

    async fn batch_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.tables.batch_get(gets).await
    }

    async fn write(&self, write: Write) -> Result<Written> {
        self.tables.write(write).await
    }

    async fn batch_write(&self, writes: Vec<Write>) -> Result<()> {
        self.tables.batch_write(writes).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Transacted> {
        self.tables.transact(transaction).await
    }

    async fn transact_get(&self, gets: &[Get]) -> Result<Vec<Option<Item>>> {
        self.tables.transact_get(gets).await
    }

    async fn page(&self, query: &Query, after: Option<&Item>) -> Result<RawPage> {
        self.tables.page(query, after).await
    }
}
