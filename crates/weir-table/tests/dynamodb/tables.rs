//! Making and describing tables.

use weir_table::{Backend as _, Error, Kind, TableSpec};

use crate::connected::{self, TABLE, things};

#[tokio::test]
async fn a_described_table_equals_its_declaration() {
    let store = connected::with_things().await;
    let found = store.backend().describe(TABLE).await.unwrap().unwrap();
    assert_eq!(things().differences(&found), Vec::<String>::new());
    assert_eq!(found.name, TABLE);
    store.create_table(&things()).await.unwrap();
}

#[tokio::test]
async fn the_prefix_stands_only_on_the_wire() {
    let options = connected::local();
    let prefix = options.table_prefix.clone();
    let endpoint = options.endpoint.clone().unwrap();
    let store = connected::store(options).await;
    store.create_table(&things()).await.unwrap();
    assert_eq!(store.table_names().await.unwrap(), [TABLE]);

    let plain = connected::store(connected::options(&endpoint, String::new())).await;
    let wire = format!("{prefix}{TABLE}");
    assert!(plain.table_names().await.unwrap().contains(&wire));
    let other = connected::store(connected::local()).await;
    assert!(other.table_names().await.unwrap().is_empty());
}

#[tokio::test]
async fn instances_that_make_a_table_at_once_all_find_it_ready() {
    let options = connected::local();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let options = options.clone();
            tokio::spawn(async move {
                let store = connected::store(options).await;
                store.create_table(&things()).await
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn differences_of_a_schema_are_listed() {
    let store = connected::with_things().await;
    let mut other = things();
    other.ttl = None;
    other.feed = false;
    other.indexes.pop();
    let Err(Error::SpecMismatch { differences, .. }) = store.verify_table(&other).await else {
        panic!("the shapes differ");
    };
    assert_eq!(differences.len(), 3, "{differences:?}");
}

#[tokio::test]
async fn a_table_that_is_gone_is_named() {
    let store = connected::with_things().await;
    store.delete_table(TABLE).await.unwrap();
    assert!(store.backend().describe(TABLE).await.unwrap().is_none());
    let gone = store.delete_table(TABLE).await.unwrap_err();
    assert!(matches!(gone, Error::NoSuchTable(name) if name == TABLE));
}

#[tokio::test]
async fn a_table_removed_behind_our_back_is_noticed() {
    let options = connected::local();
    let store = connected::store(options.clone()).await;
    let spec = TableSpec::new(TABLE, "pk", Kind::S);
    store.create_table(&spec).await.unwrap();
    let other = connected::store(options).await;
    other.delete_table(TABLE).await.unwrap();
    let get = weir_table::Get::new(TABLE, weir_table::Key::partition("a"));
    let error = store.get(&get).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchTable(name) if name == TABLE));
}
