//! The embedded store end to end: write, read, query, close, open again.

use weir_table::embedded::{Embedded, Options};
use weir_table::expr::{Path, add, attr, set};
use weir_table::{
    Get, IndexSpec, Item, Key, Kind, Query, Store, TableSpec, Transacted, Transaction, Verdict,
    Write,
};

fn spec() -> TableSpec {
    TableSpec::new("orders", "PK", Kind::S)
        .sort("SK", Kind::S)
        .attribute("GSI1PK", Kind::S)
        .attribute("GSI1SK", Kind::N)
        .index(IndexSpec::new("GSI1", "GSI1PK").sort("GSI1SK"))
        .ttl("ttl")
        .feed()
}

fn open(dir: &std::path::Path) -> Store<Embedded> {
    let embedded = Embedded::open(Options::new(dir)).unwrap();
    let key = embedded.cursor_key();
    Store::new(embedded, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_table(&spec()).await.unwrap();
    for n in 0..50 {
        let item = Item::new()
            .with("PK", "ORG#1")
            .with("SK", format!("ORDER#{n:03}"))
            .with("GSI1PK", "open")
            .with("GSI1SK", n)
            .with("cents", 100);
        assert!(
            store
                .write(Write::put("orders", item))
                .await
                .unwrap()
                .is_applied()
        );
    }
    let key = Key::new("ORG#1", "ORDER#007");
    let update = Write::update("orders", key.clone(), add("cents", 5)).when(attr("cents").ge(100));
    let written = store.write(update.clone().flushed()).await.unwrap();
    assert_eq!(written.item().unwrap().i64("cents"), Some(105));
    let refused = store.write(update.when(attr("cents").lt(5))).await.unwrap();
    assert!(!refused.is_applied());
    for reopened in [false, true] {
        let store = if reopened {
            store.backend().close().await.unwrap();
            continue;
        } else {
            store.clone()
        };
        let page = store
            .query(
                &Query::partition("orders", "open")
                    .index("GSI1")
                    .reverse()
                    .limit(3),
            )
            .await
            .unwrap();
        assert_eq!(page.items[0].i64("GSI1SK"), Some(49));
        assert!(page.cursor.is_some());
    }
    drop(store);
    let store = open(dir.path());
    let item = store.get(&Get::new("orders", key)).await.unwrap().unwrap();
    assert_eq!(item.i64("cents"), Some(105));
    let page = store
        .query(&Query::partition("orders", "ORG#1"))
        .await
        .unwrap();
    assert_eq!(page.count, 50);
    let page = store.query(&Query::scan("orders").limit(20)).await.unwrap();
    assert_eq!(page.count, 20);
    let next = store
        .query(&Query::scan("orders").after(page.cursor.unwrap()))
        .await
        .unwrap();
    assert_eq!(next.count, 30);
}

#[tokio::test]
async fn a_bad_update_beside_a_refused_write_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    store.create_table(&spec()).await.unwrap();
    let update = |sort: &str, field: &str| {
        let change = set(Path::new("m").field(field), 1);
        Write::update("orders", Key::new("ORG#1", sort), change)
    };
    let refused = update("1", "x").when(attr("PK").exists());
    let alone = store.transact(Transaction::new([refused.clone()])).await;
    assert_eq!(
        alone.unwrap(),
        Transacted::Refused(vec![Verdict::Failed(None)])
    );
    let both = Transaction::new([refused, update("2", "y")]);
    let error = store.transact(both).await.unwrap_err();
    assert_eq!(error.field(), Some("m.y"));
}
