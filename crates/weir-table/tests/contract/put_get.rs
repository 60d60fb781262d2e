//! Putting, reading and deleting single items.

use weir_table::expr::{Path, attr, set};
use weir_table::{Get, Item, Key, Kind, TableSpec, Value, Write, Written};

use crate::fixture::{Fixture, byte_set, eventually, key, n, row};

contract! {
    an_item_of_every_kind_is_read_back,
    a_put_replaces_the_whole_item,
    a_put_returns_the_item_before_it,
    a_missing_item_reads_as_none,
    a_delete_returns_the_item_it_removed,
    deleting_what_is_not_there_is_applied,
    an_eventual_read_sees_the_item_in_the_end,
    items_of_a_partition_are_told_apart_by_sort_key,
    a_table_without_sort_key_has_one_item_a_partition,
    empty_text_and_bytes_are_values,
    empty_lists_and_maps_are_values,
    a_get_returns_only_projected_attributes,
    a_get_that_projects_nothing_there_returns_an_empty_item,
    attribute_names_may_be_any_text,
    a_dot_in_a_name_is_part_of_the_name,
    a_flushed_write_is_read_back,
    numbers_are_partition_keys_by_value,
    bytes_are_partition_keys,
    an_item_put_after_its_delete_is_new,
    numbers_keep_all_38_digits,
}

async fn an_item_of_every_kind_is_read_back(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1")
        .with("s", "text")
        .with("n", n("-12.5"))
        .with("b", vec![0, 255, 7])
        .with("bool", false)
        .with("null", Value::Null)
        .with("l", Value::L(vec!["x".into(), 1.into(), Value::Null]))
        .with("m", Value::map([("inner", Value::list([true]))]))
        .with("ss", Value::strings(["b", "a"]))
        .with("ns", Value::Ns([n("1"), n("2.5")].into()))
        .with("bs", byte_set([b"\x01", b"\x02\x03"]));
    items.put(item.clone()).await;
    assert_eq!(items.get(key("a", "1")).await, Some(item));
}

async fn a_put_replaces_the_whole_item(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("old", 1).with("both", 1)).await;
    items.put(row("a", "1").with("both", 2)).await;
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1").with("both", 2)));
}

async fn a_put_returns_the_item_before_it(t: &Fixture) {
    let items = t.items().await;
    let first = row("a", "1").with("v", 1);
    assert_eq!(items.put(first.clone()).await, None);
    assert_eq!(items.put(row("a", "1").with("v", 2)).await, Some(first));
}

async fn a_missing_item_reads_as_none(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    assert_eq!(items.get(key("a", "2")).await, None);
    assert_eq!(items.get(key("b", "1")).await, None);
}

async fn a_delete_returns_the_item_it_removed(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("v", "kept");
    items.put(item.clone()).await;
    assert_eq!(items.delete(key("a", "1")).await, Some(item));
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn deleting_what_is_not_there_is_applied(t: &Fixture) {
    let items = t.items().await;
    let written = t.store.write(Write::delete(items.name, key("a", "1"))).await.unwrap();
    assert_eq!(written, Written::Applied(None));
}

async fn an_eventual_read_sees_the_item_in_the_end(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    let get = Get::new(items.name, key("a", "1")).eventual();
    eventually(Some(row("a", "1")), async || t.store.get(&get).await.unwrap()).await;
}

async fn items_of_a_partition_are_told_apart_by_sort_key(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", "one")).await;
    items.put(row("a", "2").with("v", "two")).await;
    items.delete(key("a", "1")).await;
    assert_eq!(items.get(key("a", "1")).await, None);
    assert_eq!(items.get(key("a", "2")).await, Some(row("a", "2").with("v", "two")));
}

async fn a_table_without_sort_key_has_one_item_a_partition(t: &Fixture) {
    let singles = t.singles().await;
    let item = Item::new().with("pk", "a").with("v", 1);
    singles.put(item.clone()).await;
    let second = Item::new().with("pk", "a").with("v", 2);
    assert_eq!(singles.put(second.clone()).await, Some(item));
    assert_eq!(singles.get(Key::partition("a")).await, Some(second.clone()));
    assert_eq!(singles.all(&singles.partition("a")).await, [second]);
}

async fn empty_text_and_bytes_are_values(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("s", "").with("b", Vec::new());
    items.put(item.clone()).await;
    assert_eq!(items.get(key("a", "1")).await, Some(item));
}

async fn empty_lists_and_maps_are_values(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1")
        .with("l", Value::L(Vec::new()))
        .with("m", Value::map([("m", Value::map([("l", Value::L(Vec::new()))]))]));
    items.put(item.clone()).await;
    assert_eq!(items.get(key("a", "1")).await, Some(item));
}

async fn a_get_returns_only_projected_attributes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("x", 1).with("y", 2).with("z", 3)).await;
    let get = Get::new(items.name, key("a", "1")).project(["x", "z", "gone"]);
    let seen = t.store.get(&get).await.unwrap();
    assert_eq!(seen, Some(Item::new().with("x", 1).with("z", 3)));
}

async fn a_get_that_projects_nothing_there_returns_an_empty_item(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("x", 1)).await;
    let get = Get::new(items.name, key("a", "1")).project(["gone"]);
    assert_eq!(t.store.get(&get).await.unwrap(), Some(Item::new()));
    let get = Get::new(items.name, key("a", "2")).project(["gone"]);
    assert_eq!(t.store.get(&get).await.unwrap(), None);
}

async fn attribute_names_may_be_any_text(t: &Fixture) {
    let items = t.items().await;
    let names = ["name", "size", "a b", "#x", ":y", "with-dash", "Ünïcode 🦀", "1", "[0]", "\"q\""];
    let item = names.iter().fold(row("a", "1"), |item, name| item.with(*name, *name));
    items.put(item.clone()).await;
    let all = names.iter().fold(attr("pk").exists(), |all, name| all.and(attr(*name).eq(*name)));
    let update = names.iter().fold(set("seen", true), |update, name| update.set(*name, 1));
    let written = items.update_when(key("a", "1"), update, all).await;
    assert!(written.is_applied());
    let get = Get::new(items.name, key("a", "1")).project(names);
    let expected = names.iter().fold(Item::new(), |item, name| item.with(*name, 1));
    assert_eq!(t.store.get(&get).await.unwrap(), Some(expected));
}

async fn a_dot_in_a_name_is_part_of_the_name(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("m.x", "dotted").with("m", Value::map([("x", "nested")]));
    items.put(item).await;
    let project = |path: Path| Get::new(items.name, key("a", "1")).project([path]);
    let dotted = t.store.get(&project(Path::new("m.x"))).await.unwrap();
    assert_eq!(dotted, Some(Item::new().with("m.x", "dotted")));
    let nested = t.store.get(&project(Path::new("m").field("x"))).await.unwrap();
    assert_eq!(nested, Some(Item::new().with("m", Value::map([("x", "nested")]))));
}

async fn a_flushed_write_is_read_back(t: &Fixture) {
    let items = t.items().await;
    t.store.write(Write::put(items.name, row("a", "1")).flushed()).await.unwrap();
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1")));
}

async fn numbers_are_partition_keys_by_value(t: &Fixture) {
    let numbered = t.table("numbered", TableSpec::new("numbered", "id", Kind::N)).await;
    numbered.put(Item::new().with("id", n("1.50")).with("v", "first")).await;
    let before = numbered.put(Item::new().with("id", n("15e-1")).with("v", "second")).await;
    assert_eq!(before.unwrap().s("v"), Some("first"));
    let found = numbered.get(Key::partition(n("1.5"))).await;
    assert_eq!(found, Some(Item::new().with("id", n("1.5")).with("v", "second")));
}

async fn bytes_are_partition_keys(t: &Fixture) {
    let spec = TableSpec::new("hashed", "id", Kind::B).sort("sk", Kind::B);
    let hashed = t.table("hashed", spec).await;
    let item = Item::new().with("id", vec![0, 0xFF]).with("sk", vec![0]).with("v", 1);
    hashed.put(item.clone()).await;
    assert_eq!(hashed.get(Key::new(vec![0, 0xFF], vec![0])).await, Some(item));
    assert_eq!(hashed.get(Key::new(vec![0], vec![0xFF, 0])).await, None);
}

async fn an_item_put_after_its_delete_is_new(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1)).await;
    items.delete(key("a", "1")).await;
    assert_eq!(items.put(row("a", "1").with("w", 2)).await, None);
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1").with("w", 2)));
}

async fn numbers_keep_all_38_digits(t: &Fixture) {
    let items = t.items().await;
    let texts = [
        "99999999999999999999999999999999999999",
        "-99999999999999999999999999999999999999",
        "0.12345678901234567890123456789012345678",
        "12345678901234567890.123456789012345678",
        "9.9999999999999999999999999999999999999E+125",
        "1E-130",
        "-1E-130",
        "100000000000000000000000000000000000000000",
    ];
    let item = row("a", "1").with("l", Value::list(texts.map(n)));
    items.put(item.clone()).await;
    assert_eq!(items.get(key("a", "1")).await, Some(item));
}
