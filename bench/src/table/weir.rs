//! The cases on Weir's embedded store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{add, attr};
use weir_table::{Durability, Get, IndexSpec, Item, Key, Kind, Query, Store, TableSpec, Write};

use super::KEYS;
use crate::measure::{Figures, scatter, tasks};

/// Items per partition, for queries.
pub(super) const PER_PARTITION: u64 = 20;

pub(super) struct Bench {
    store: Store<Embedded>,
}

pub(super) fn spec() -> TableSpec {
    TableSpec::new("bench", "PK", Kind::S)
        .sort("SK", Kind::S)
        .attribute("GSI1PK", Kind::S)
        .attribute("GSI1SK", Kind::S)
        .index(IndexSpec::new("GSI1", "GSI1PK").sort("GSI1SK"))
        .ttl("ttl")
        .feed()
}

pub(super) fn key(number: u64) -> Key {
    Key::new(format!("ns1/BUCKET#user-{:06}", number / PER_PARTITION), format!("gpt-4#{number:08}"))
}

/// An item of about 300 bytes by DynamoDB's count.
pub(super) fn item(number: u64) -> Item {
    key(number)
        .to_item(&spec())
        .with("GSI1PK", format!("ns1/RESOURCE#{}", number % 97))
        .with("GSI1SK", format!("BUCKET#user-{number:08}"))
        .with("tk", 1_000_000)
        .with("cp", 10_000_000)
        .with("ra", 10_000_000)
        .with("rp", 60_000)
        .with("rf", 1_763_193_600_000_i64)
        .with("ttl", 4_000_000_000_i64)
        .with("name", "a bucket of tokens for one user and one model")
        .with("note", "x".repeat(133))
}

pub(super) fn open(dir: &Path) -> Store<Embedded> {
    let embedded = Embedded::open(Options::new(dir)).expect("the store opens");
    let cursors = embedded.cursor_key();
    Store::new(embedded, cursors)
}

impl Bench {
    pub(super) async fn open(dir: &Path) -> Bench {
        let store = open(dir);
        store.create_table(&spec()).await.expect("a table");
        assert!((280..340).contains(&item(7).size()), "an item has {} bytes", item(7).size());
        for number in 0..KEYS {
            store.write(Write::put("bench", item(number)).flushed()).await.expect("a put");
        }
        Bench { store }
    }

    pub(super) async fn close(self) {
        self.store.backend().close().await.expect("the store closes");
    }

    pub(super) async fn updates(
        &self,
        callers: usize,
        length: Duration,
        keys: u64,
        durability: Durability,
    ) -> Figures {
        let store = self.store.clone();
        let targets: Arc<Vec<Key>> = Arc::new((0..keys).map(key).collect());
        tasks(callers, length, move |caller, n| {
            let number = scatter(caller, n) % keys;
            let key = targets.get(number as usize).cloned().expect("a key");
            let mut write = Write::update("bench", key, add("tk", 1)).when(attr("tk").ge(0));
            write.durability = durability;
            let store = store.clone();
            async move {
                assert!(store.write(write).await.expect("an update").is_applied());
            }
        })
        .await
    }

    pub(super) async fn gets(&self, callers: usize, length: Duration) -> Figures {
        let store = self.store.clone();
        tasks(callers, length, move |caller, n| {
            let get = Get::new("bench", key(scatter(caller, n) % KEYS));
            let store = store.clone();
            async move {
                assert!(store.get(&get).await.expect("a get").is_some());
            }
        })
        .await
    }

    pub(super) async fn queries(&self, callers: usize, length: Duration) -> Figures {
        let store = self.store.clone();
        tasks(callers, length, move |caller, n| {
            let partition = key(scatter(caller, n) % KEYS).partition;
            let query = Query::partition("bench", partition).limit(20);
            let store = store.clone();
            async move {
                assert_eq!(store.query(&query).await.expect("a query").count, PER_PARTITION);
            }
        })
        .await
    }
}
