//! What a scenario starts from: a store of its own, and tables with shorthands that unwrap.

use std::fmt::Debug;
use std::sync::Mutex;

use weir_table::expr::{Condition, Update};
use weir_table::{
    AnyBackend, Error, Get, IndexSpec, Item, Key, Kind, Number, Page, Query, Store, TableSpec,
    Transaction, Value, Write, Written,
};
pub(crate) use weir_testkit::eventually_eq as eventually;

/// No scenario reads more pages of one query.
const PAGES_MAX: usize = 2_000;

/// A store that one scenario has for itself.
pub(crate) struct Fixture {
    /// The store.
    pub(crate) store: Store<AnyBackend>,
    made: Mutex<Vec<&'static str>>,
    unique: String,
}

impl Fixture {
    /// A fixture on `store`, which has no tables that the scenario could meet.
    pub(crate) fn new(store: Store<AnyBackend>) -> Fixture {
        Fixture { store, made: Mutex::default(), unique: weir_testkit::unique_prefix("") }
    }

    /// Makes a table.
    pub(crate) async fn table(&self, name: &'static str, spec: TableSpec) -> Table<'_> {
        assert_eq!(spec.name, name);
        self.made.lock().unwrap().push(name);
        self.store.create_table(&spec).await.unwrap();
        Table { store: &self.store, name }
    }

    /// The table `items`: partition `pk`, sort `sk`, both text.
    pub(crate) async fn items(&self) -> Table<'_> {
        self.table("items", texts("items")).await
    }

    /// The table `others`, of the same shape as `items`.
    pub(crate) async fn others(&self) -> Table<'_> {
        self.table("others", texts("others")).await
    }

    /// The table `singles`: partition `pk`, text, and no sort key.
    pub(crate) async fn singles(&self) -> Table<'_> {
        self.table("singles", TableSpec::new("singles", "pk", Kind::S)).await
    }

    /// The table `sorted`: partition `pk`, text, and sort `sk` of `kind`.
    pub(crate) async fn sorted_by(&self, kind: Kind) -> Table<'_> {
        let spec = TableSpec::new("sorted", "pk", Kind::S).sort("sk", kind);
        self.table("sorted", spec).await
    }

    /// The table `orders`: like `items`, with index `by-owner` (owner text, at number, whole items)
    /// and `by-state` (state text, keys only).
    pub(crate) async fn orders(&self) -> Table<'_> {
        let spec = texts("orders")
            .attribute("owner", Kind::S)
            .attribute("at", Kind::N)
            .attribute("state", Kind::S)
            .index(IndexSpec::new("by-owner", "owner").sort("at"))
            .index(IndexSpec::new("by-state", "state").keys_only());
        self.table("orders", spec).await
    }

    /// The table `events`: like `items`, with a change feed.
    pub(crate) async fn events(&self) -> Table<'_> {
        self.table("events", texts("events").feed()).await
    }

    /// An idempotency token that no other scenario uses: an account remembers them for all tables.
    pub(crate) fn token(&self, name: &str) -> String {
        format!("{}{name}", self.unique)
    }

    /// Does a transaction that must be applied.
    pub(crate) async fn transact(&self, writes: impl IntoIterator<Item = Write>) {
        let done = self.store.transact(Transaction::new(writes)).await.unwrap();
        assert!(done.is_applied(), "{done:?}");
    }

    /// The field that a transaction is refused for as invalid.
    pub(crate) async fn transact_fault(&self, writes: impl IntoIterator<Item = Write>) -> String {
        fault(self.store.transact(Transaction::new(writes)).await)
    }

    /// Removes what the scenario made. Tables it removed itself are gone already.
    pub(crate) async fn clean_up(&self) {
        let made = std::mem::take(&mut *self.made.lock().unwrap());
        for name in made {
            self.store.delete_table(name).await.ok();
        }
    }
}

/// The shape of a table with a text partition `pk` and a text sort `sk`.
pub(crate) fn texts(name: &str) -> TableSpec {
    TableSpec::new(name, "pk", Kind::S).sort("sk", Kind::S)
}

/// One table of a fixture.
pub(crate) struct Table<'t> {
    store: &'t Store<AnyBackend>,
    /// Its name.
    pub(crate) name: &'static str,
}

impl Table<'_> {
    /// Puts an item; returns what it replaced.
    pub(crate) async fn put(&self, item: Item) -> Option<Item> {
        applied(self.write(Write::put(self.name, item)).await)
    }

    /// Puts many items, in batches.
    pub(crate) async fn fill(&self, items: impl IntoIterator<Item = Item>) {
        let mut writes: Vec<_> =
            items.into_iter().map(|item| Write::put(self.name, item)).collect();
        while !writes.is_empty() {
            let rest = writes.split_off(writes.len().min(25));
            self.store.batch_write(writes).await.unwrap();
            writes = rest;
        }
    }

    /// Updates an item; returns the item after it.
    pub(crate) async fn update(&self, key: Key, update: Update) -> Item {
        applied(self.write(Write::update(self.name, key, update)).await).unwrap()
    }

    /// Deletes an item; returns it.
    pub(crate) async fn delete(&self, key: Key) -> Option<Item> {
        applied(self.write(Write::delete(self.name, key)).await)
    }

    /// Puts an item on a condition.
    pub(crate) async fn put_when(&self, item: Item, condition: Condition) -> Written {
        self.write(Write::put(self.name, item).when(condition)).await
    }

    /// Updates an item on a condition.
    pub(crate) async fn update_when(
        &self,
        key: Key,
        update: Update,
        condition: Condition,
    ) -> Written {
        self.write(Write::update(self.name, key, update).when(condition)).await
    }

    /// Deletes an item on a condition.
    pub(crate) async fn delete_when(&self, key: Key, condition: Condition) -> Written {
        self.write(Write::delete(self.name, key).when(condition)).await
    }

    /// Reads an item.
    pub(crate) async fn get(&self, key: Key) -> Option<Item> {
        self.store.get(&Get::new(self.name, key)).await.unwrap()
    }

    /// The items of one partition, to be narrowed.
    pub(crate) fn partition(&self, partition: &str) -> Query {
        Query::partition(self.name, partition)
    }

    /// Every item, to be narrowed.
    pub(crate) fn scan(&self) -> Query {
        Query::scan(self.name)
    }

    /// Reads one page.
    pub(crate) async fn page(&self, query: &Query) -> Page {
        self.store.query(query).await.unwrap()
    }

    /// Reads every page.
    pub(crate) async fn pages(&self, query: &Query) -> Vec<Page> {
        let mut query = query.clone();
        let mut pages = Vec::new();
        loop {
            let page = self.page(&query).await;
            query.cursor.clone_from(&page.cursor);
            pages.push(page);
            if query.cursor.is_none() {
                return pages;
            }
            assert!(pages.len() < PAGES_MAX, "the pages of {query:?} do not end");
        }
    }

    /// The items of every page.
    pub(crate) async fn all(&self, query: &Query) -> Vec<Item> {
        self.pages(query).await.into_iter().flat_map(|page| page.items).collect()
    }

    /// The text of `sk` of the items of every page.
    pub(crate) async fn sorts(&self, query: &Query) -> Vec<String> {
        texts_of(&self.all(query).await, "sk")
    }

    /// Whether `condition` holds of the item at `key`: as the condition of a write that changes
    /// nothing and as a filter, which must agree.
    pub(crate) async fn holds(&self, key: Key, condition: Condition) -> bool {
        let found = self.get(key.clone()).await.unwrap();
        let written = self.put_when(found.clone(), condition.clone()).await;
        assert_eq!(written.item(), Some(&found), "the condition saw another item");
        let query = self.partition(&key.partition.to_string()).filter(condition.clone());
        let passes = self.page(&query).await.items.contains(&found);
        assert_eq!(written.is_applied(), passes, "as a condition and as a filter: {condition:?}");
        passes
    }

    /// The field that a write is refused for as invalid.
    pub(crate) async fn fault(&self, write: Write) -> String {
        fault(self.store.write(write).await)
    }

    /// The field that a put is refused for as invalid.
    pub(crate) async fn put_fault(&self, item: Item) -> String {
        self.fault(Write::put(self.name, item)).await
    }

    /// The field that an update is refused for as invalid.
    pub(crate) async fn update_fault(&self, key: Key, update: Update) -> String {
        self.fault(Write::update(self.name, key, update)).await
    }

    /// The field that a query is refused for as invalid.
    pub(crate) async fn query_fault(&self, query: &Query) -> String {
        fault(self.store.query(query).await)
    }

    async fn write(&self, write: Write) -> Written {
        self.store.write(write).await.unwrap()
    }
}

fn applied(written: Written) -> Option<Item> {
    match written {
        Written::Applied(item) => item,
        Written::Refused(item) => panic!("a write without a condition was refused: {item:?}"),
    }
}

/// The field that a request was refused for as invalid.
pub(crate) fn fault<T: Debug>(result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    assert!(error.is_invalid(), "{error:?}");
    error.field().unwrap().to_owned()
}

/// An item with keys `pk` and `sk`.
pub(crate) fn row(pk: &str, sk: &str) -> Item {
    Item::new().with("pk", pk).with("sk", sk)
}

/// The key of [`row`].
pub(crate) fn key(pk: &str, sk: &str) -> Key {
    Key::new(pk, sk)
}

/// A number from its text.
pub(crate) fn n(text: &str) -> Number {
    text.parse().unwrap()
}

/// A set of byte strings.
pub(crate) fn byte_set<const N: usize>(elements: [&[u8]; N]) -> Value {
    Value::Bs(elements.into_iter().map(<[u8]>::to_vec).collect())
}

/// The text of one attribute of each item.
pub(crate) fn texts_of(items: &[Item], name: &str) -> Vec<String> {
    items.iter().map(|item| item.s(name).unwrap().to_owned()).collect()
}
