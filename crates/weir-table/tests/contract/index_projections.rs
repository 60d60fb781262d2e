//! What an index holds of each item.

use weir_table::expr::{Path, attr, remove, set};
use weir_table::{IndexSpec, Item, Kind, Value};

use crate::fixture::{Fixture, Table, eventually, key, row, texts};

contract! {
    an_index_of_keys_holds_both_keys_and_nothing_else,
    an_index_that_includes_holds_what_it_names,
    an_index_of_all_holds_everything,
    an_included_attribute_follows_the_item,
    an_included_attribute_that_is_missing_is_left_out,
    a_filter_on_an_index_sees_what_the_index_holds,
    what_an_index_does_not_hold_cannot_be_asked_for,
    a_projection_narrows_what_an_index_holds,
    a_scan_of_an_index_shows_what_it_holds,
}

async fn projected(t: &Fixture) -> Table<'_> {
    let spec = texts("projected")
        .attribute("group", Kind::S)
        .index(IndexSpec::new("keys", "group").sort("sk").keys_only())
        .index(IndexSpec::new("some", "group").sort("sk").include(["v", "m"]))
        .index(IndexSpec::new("all", "group").sort("sk"));
    t.table("projected", spec).await
}

fn member() -> Item {
    keys().with("v", 1).with("w", 2).with("m", Value::map([("x", 1), ("y", 2)]))
}

fn keys() -> Item {
    row("p", "1").with("group", "g")
}

async fn see(table: &Table<'_>, index: &str, expected: Item) {
    let query = table.partition("g").index(index);
    eventually(vec![expected], async || table.all(&query).await).await;
}

async fn an_index_of_keys_holds_both_keys_and_nothing_else(t: &Fixture) {
    let table = projected(t).await;
    table.put(member()).await;
    see(&table, "keys", keys()).await;
}

async fn an_index_that_includes_holds_what_it_names(t: &Fixture) {
    let table = projected(t).await;
    table.put(member()).await;
    let mut expected = member();
    expected.remove("w");
    see(&table, "some", expected).await;
}

async fn an_index_of_all_holds_everything(t: &Fixture) {
    let table = projected(t).await;
    table.put(member()).await;
    see(&table, "all", member()).await;
}

async fn an_included_attribute_follows_the_item(t: &Fixture) {
    let table = projected(t).await;
    table.put(member()).await;
    table.update(key("p", "1"), set("v", 9).remove("m").set("w", 9)).await;
    see(&table, "some", keys().with("v", 9)).await;
    table.update(key("p", "1"), remove("v")).await;
    see(&table, "some", keys()).await;
}

async fn an_included_attribute_that_is_missing_is_left_out(t: &Fixture) {
    let table = projected(t).await;
    table.put(keys().with("w", 1)).await;
    see(&table, "some", keys()).await;
}

async fn a_filter_on_an_index_sees_what_the_index_holds(t: &Fixture) {
    let table = projected(t).await;
    table.put(member()).await;
    for (index, filter) in [
        ("keys", attr("pk").eq("p")),
        ("some", attr("v").eq(1).and(attr("m").field("y").gt(1))),
        ("all", attr("w").eq(2)),
    ] {
        let query = table.partition("g").index(index).filter(filter);
        eventually(1, async || table.page(&query).await.count).await;
    }
}

async fn what_an_index_does_not_hold_cannot_be_asked_for(t: &Fixture) {
    let table = projected(t).await;
    let of = |index: &str| table.partition("g").index(index);
    assert_eq!(table.query_fault(&of("keys").filter(attr("v").eq(1))).await, "v");
    assert_eq!(table.query_fault(&of("some").filter(attr("w").eq(1))).await, "w");
    assert_eq!(table.query_fault(&of("some").project(["sk", "w"])).await, "w");
    let nested = Path::new("m").field("x");
    assert_eq!(table.query_fault(&of("keys").project([nested])).await, "m");
    assert_eq!(table.query_fault(&table.scan().index("keys").project(["v"])).await, "v");
}

async fn a_projection_narrows_what_an_index_holds(t: &Fixture) {
    let table = projected(t).await;
    table.put(member()).await;
    let query = table.partition("g").index("all").project([
        Path::new("sk"),
        Path::new("m").field("x"),
        Path::new("gone"),
    ]);
    let expected = Item::new().with("sk", "1").with("m", Value::map([("x", 1)]));
    eventually(vec![expected], async || table.all(&query).await).await;
}

async fn a_scan_of_an_index_shows_what_it_holds(t: &Fixture) {
    let table = projected(t).await;
    table.put(member()).await;
    let query = table.scan().index("keys");
    eventually(vec![keys()], async || table.all(&query).await).await;
}
