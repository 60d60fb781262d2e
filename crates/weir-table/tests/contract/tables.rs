//! Tables: made, described, verified and removed.

use weir_table::expr::set;
use weir_table::{Backend, Error, IndexSpec, Kind, TableSpec, Write};

use crate::fixture::{Fixture, eventually, fault, key, row, texts};

contract! {
    a_table_is_described_as_it_was_declared,
    making_a_table_again_keeps_its_items,
    a_table_of_another_shape_is_told_with_the_differences,
    every_kind_of_difference_is_told,
    verifying_a_table_that_is_not_there_is_told,
    verifying_the_same_shape_is_fine,
    the_order_of_indexes_makes_no_difference,
    many_at_once_ensure_a_table,
    table_names_are_listed_in_order,
    a_removed_table_is_gone,
    removing_an_unknown_table_is_told,
    a_remade_table_is_empty,
    a_table_can_be_remade_with_another_shape,
    an_index_key_of_an_undeclared_attribute_is_refused,
    a_declared_attribute_that_no_key_uses_is_refused,
    a_key_of_a_kind_that_cannot_be_one_is_refused,
    bad_names_are_refused,
    two_indexes_of_one_name_are_refused,
    an_index_that_includes_nothing_is_refused,
    a_sort_key_that_is_the_partition_key_is_refused,
}

fn full(name: &str) -> TableSpec {
    texts(name)
        .attribute("owner", Kind::S)
        .attribute("at", Kind::N)
        .attribute("hash", Kind::B)
        .index(IndexSpec::new("by-owner", "owner").sort("at"))
        .index(IndexSpec::new("by-hash", "hash").keys_only())
        .index(IndexSpec::new("by-time", "at").sort("sk").include(["v", "w"]))
        .ttl("expires")
        .feed()
}

async fn a_table_is_described_as_it_was_declared(t: &Fixture) {
    t.table("full", full("full")).await;
    let found = t.store.backend().describe("full").await.unwrap().unwrap();
    assert_eq!(full("full").differences(&found), [""; 0]);
    assert_eq!(found.name, "full");
    let plain = TableSpec::new("plain", "id", Kind::N);
    t.table("plain", plain.clone()).await;
    assert_eq!(t.store.backend().describe("plain").await.unwrap(), Some(plain));
    assert_eq!(t.store.backend().describe("none").await.unwrap(), None);
}

async fn making_a_table_again_keeps_its_items(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    t.store.create_table(&texts("items")).await.unwrap();
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1")));
}

fn differences(result: Result<(), Error>) -> String {
    match result.unwrap_err() {
        Error::SpecMismatch { differences, .. } => differences.join("\n"),
        other => panic!("{other:?}"),
    }
}

async fn a_table_of_another_shape_is_told_with_the_differences(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    let other = TableSpec::new("items", "pk", Kind::S).sort("other", Kind::N);
    let differences_found = differences(t.store.create_table(&other).await);
    assert!(
        differences_found.contains("sort") && differences_found.contains("attributes"),
        "{differences_found}"
    );
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1")));
}

async fn every_kind_of_difference_is_told(t: &Fixture) {
    t.table("full", full("full")).await;
    let mut without_ttl = full("full");
    without_ttl.ttl = None;
    let mut without_feed = full("full");
    without_feed.feed = false;
    let mut other_projection = full("full");
    other_projection.indexes[0].projection = weir_table::Projection::KeysOnly;
    let mut without_index = full("full");
    without_index.indexes.pop();
    for (spec, word) in [
        (without_ttl, "ttl"),
        (without_feed, "feed"),
        (other_projection, "by-owner"),
        (without_index, "by-time"),
        (full("full").attribute("at", Kind::S), "attributes"),
    ] {
        let differences_found = differences(t.store.verify_table(&spec).await);
        assert!(differences_found.contains(word), "{word} is not in: {differences_found}");
        assert!(
            !differences_found.contains('\n'),
            "more than {word} is reported: {differences_found}"
        );
    }
}

async fn verifying_a_table_that_is_not_there_is_told(t: &Fixture) {
    let error = t.store.verify_table(&texts("nowhere")).await.unwrap_err();
    assert!(matches!(&error, Error::NoSuchTable(name) if name == "nowhere"), "{error:?}");
}

async fn verifying_the_same_shape_is_fine(t: &Fixture) {
    t.table("full", full("full")).await;
    t.store.verify_table(&full("full")).await.unwrap();
}

async fn the_order_of_indexes_makes_no_difference(t: &Fixture) {
    t.table("full", full("full")).await;
    let mut turned = full("full");
    turned.indexes.reverse();
    t.store.verify_table(&turned).await.unwrap();
}

async fn many_at_once_ensure_a_table(t: &Fixture) {
    let full = full("full");
    let ensure = || t.store.ensure_table(&full);
    let (a, b, c, d) = tokio::join!(ensure(), ensure(), ensure(), ensure());
    for ensured in [a, b, c, d] {
        ensured.unwrap();
    }
    t.store.verify_table(&full).await.unwrap();
    let other = TableSpec { feed: !full.feed, ..full };
    assert!(matches!(t.store.ensure_table(&other).await, Err(Error::SpecMismatch { .. })));
}

async fn table_names_are_listed_in_order(t: &Fixture) {
    assert_eq!(t.store.table_names().await.unwrap(), [""; 0]);
    t.others().await;
    t.items().await;
    t.singles().await;
    assert_eq!(t.store.table_names().await.unwrap(), ["items", "others", "singles"]);
}

async fn a_removed_table_is_gone(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    t.store.delete_table("items").await.unwrap();
    assert_eq!(t.store.table_names().await.unwrap(), [""; 0]);
    let error = t.store.write(Write::put("items", row("a", "1"))).await.unwrap_err();
    assert!(matches!(error, Error::NoSuchTable(_)), "{error:?}");
}

async fn removing_an_unknown_table_is_told(t: &Fixture) {
    let error = t.store.delete_table("nowhere").await.unwrap_err();
    assert!(matches!(&error, Error::NoSuchTable(name) if name == "nowhere"), "{error:?}");
}

async fn a_remade_table_is_empty(t: &Fixture) {
    let orders = t.orders().await;
    let item = |sk: &str| row("a", sk).with("owner", "ada").with("at", 1);
    orders.fill([item("1"), item("2")]).await;
    t.store.delete_table("orders").await.unwrap();
    let orders = t.orders().await;
    assert_eq!(orders.all(&orders.scan()).await, []);
    orders.put(item("3")).await;
    let query = orders.partition("ada").index("by-owner");
    eventually(vec!["3".to_owned()], async || orders.sorts(&query).await).await;
    let made = orders.update(key("a", "1"), set("v", 1)).await;
    assert_eq!(made, row("a", "1").with("v", 1));
}

async fn a_table_can_be_remade_with_another_shape(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    t.store.delete_table("items").await.unwrap();
    let other = TableSpec::new("items", "pk", Kind::N);
    let items = t.table("items", other).await;
    let item = weir_table::Item::new().with("pk", 1);
    items.put(item.clone()).await;
    assert_eq!(items.get(weir_table::Key::partition(1)).await, Some(item));
    assert_eq!(items.put_fault(row("a", "1")).await, "pk");
}

/// Asserts that the shape is refused, naming `field`, and no table is made.
async fn refused(t: &Fixture, spec: TableSpec, field: &str) {
    assert_eq!(fault(t.store.create_table(&spec).await), field);
    assert_eq!(t.store.table_names().await.unwrap(), [""; 0]);
}

async fn an_index_key_of_an_undeclared_attribute_is_refused(t: &Fixture) {
    let spec = texts("items").index(IndexSpec::new("by-owner", "owner"));
    refused(t, spec, "indexes.by-owner.partition").await;
    let spec = texts("items")
        .attribute("owner", Kind::S)
        .index(IndexSpec::new("by-owner", "owner").sort("at"));
    refused(t, spec, "indexes.by-owner.sort").await;
}

async fn a_declared_attribute_that_no_key_uses_is_refused(t: &Fixture) {
    refused(t, texts("items").attribute("extra", Kind::S), "attributes.extra").await;
}

async fn a_key_of_a_kind_that_cannot_be_one_is_refused(t: &Fixture) {
    refused(t, TableSpec::new("items", "pk", Kind::Bool), "attributes.pk").await;
    refused(t, TableSpec::new("items", "pk", Kind::S).sort("sk", Kind::L), "attributes.sk").await;
}

async fn bad_names_are_refused(t: &Fixture) {
    for name in ["", "ab", "with space", "a/b", "ünï"] {
        refused(t, texts(name), "name").await;
    }
    let spec = texts("items").index(IndexSpec::new("x", "sk"));
    refused(t, spec, "indexes.x").await;
}

async fn two_indexes_of_one_name_are_refused(t: &Fixture) {
    let index = || IndexSpec::new("twice", "sk");
    refused(t, texts("items").index(index()).index(index()), "indexes.twice").await;
}

async fn an_index_that_includes_nothing_is_refused(t: &Fixture) {
    let index = IndexSpec::new("empty", "sk").include([""; 0]);
    refused(t, texts("items").index(index), "indexes.empty.projection").await;
}

async fn a_sort_key_that_is_the_partition_key_is_refused(t: &Fixture) {
    refused(t, TableSpec::new("items", "pk", Kind::S).sort("pk", Kind::S), "sort").await;
    let index = IndexSpec::new("same", "sk").sort("sk");
    refused(t, texts("items").index(index), "indexes.same.sort").await;
}
