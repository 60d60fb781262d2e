//! Batches: many items at a time, each on its own.

use weir_table::expr::{add, attr};
use weir_table::{Get, Item, Write};

use crate::fixture::{Fixture, eventually, fault, key, row, texts_of};

contract! {
    a_batch_puts_and_deletes,
    a_batch_write_spans_tables,
    a_batch_put_replaces_an_existing_item,
    a_batch_write_of_25_is_allowed,
    a_batch_delete_of_a_missing_item_succeeds,
    a_batch_write_is_seen_by_indexes,
    a_batch_get_keeps_the_order_of_requests,
    a_batch_get_spans_tables,
    a_batch_get_of_100_keys_is_allowed,
    each_get_of_a_batch_has_its_own_projection,
    an_eventual_batch_get_sees_the_items_in_the_end,
    a_batch_get_of_more_than_16_mb_returns_everything,
    a_batch_write_takes_no_conditions_and_no_updates,
    a_batch_write_of_26_is_refused_whole,
    an_item_twice_in_a_batch_write_is_refused,
    a_batch_get_of_101_keys_is_refused,
    an_item_twice_in_a_batch_get_is_refused,
    an_empty_batch_is_refused,
}

fn rows(count: usize) -> Vec<Item> {
    (0..count).map(|i| row("a", &format!("{i:03}")).with("v", i as u64)).collect()
}

fn puts(items: Vec<Item>) -> Vec<Write> {
    items.into_iter().map(|item| Write::put("items", item)).collect()
}

fn gets(items: &[Item]) -> Vec<Get> {
    texts_of(items, "sk").iter().map(|sk| Get::new("items", key("a", sk))).collect()
}

async fn a_batch_puts_and_deletes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "gone")).await;
    let writes = vec![
        Write::put("items", row("a", "1")),
        Write::delete("items", key("a", "gone")),
        Write::put("items", row("b", "1")),
    ];
    t.store.batch_write(writes).await.unwrap();
    assert_eq!(items.all(&items.partition("a")).await, [row("a", "1")]);
    assert_eq!(items.all(&items.partition("b")).await, [row("b", "1")]);
}

async fn a_batch_write_spans_tables(t: &Fixture) {
    let (items, others) = (t.items().await, t.others().await);
    // One key in two tables is two items.
    let item = |table: &str| row("a", "1").with("in", table);
    let writes = ["items", "others"].map(|table| Write::put(table, item(table)));
    t.store.batch_write(writes.to_vec()).await.unwrap();
    assert_eq!(items.get(key("a", "1")).await, Some(item("items")));
    assert_eq!(others.get(key("a", "1")).await, Some(item("others")));
}

async fn a_batch_put_replaces_an_existing_item(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("old", 1)).await;
    t.store.batch_write(vec![Write::put("items", row("a", "1").with("new", 1))]).await.unwrap();
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1").with("new", 1)));
}

async fn a_batch_write_of_25_is_allowed(t: &Fixture) {
    let items = t.items().await;
    t.store.batch_write(puts(rows(25))).await.unwrap();
    assert_eq!(items.all(&items.partition("a")).await, rows(25));
}

async fn a_batch_delete_of_a_missing_item_succeeds(t: &Fixture) {
    let items = t.items().await;
    t.store.batch_write(vec![Write::delete("items", key("a", "1"))]).await.unwrap();
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn a_batch_write_is_seen_by_indexes(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(row("a", "gone").with("owner", "ada").with("at", 9)).await;
    let writes = vec![
        Write::put("orders", row("a", "1").with("owner", "ada").with("at", 1)),
        Write::delete("orders", key("a", "gone")),
    ];
    t.store.batch_write(writes).await.unwrap();
    let query = orders.partition("ada").index("by-owner");
    eventually(vec!["1".to_owned()], async || orders.sorts(&query).await).await;
}

async fn a_batch_get_keeps_the_order_of_requests(t: &Fixture) {
    let items = t.items().await;
    items.fill([row("a", "1"), row("b", "2"), row("a", "3")]).await;
    let gets = [("a", "3"), ("none", "1"), ("b", "2"), ("a", "1")]
        .map(|(pk, sk)| Get::new("items", key(pk, sk)));
    let got = t.store.batch_get(&gets).await.unwrap();
    assert_eq!(got, [Some(row("a", "3")), None, Some(row("b", "2")), Some(row("a", "1"))]);
}

async fn a_batch_get_spans_tables(t: &Fixture) {
    let (items, others) = (t.items().await, t.others().await);
    items.put(row("a", "1").with("in", "items")).await;
    others.put(row("a", "1").with("in", "others")).await;
    let gets = ["others", "items"].map(|table| Get::new(table, key("a", "1")));
    let got = t.store.batch_get(&gets).await.unwrap();
    let places: Vec<_> = got.iter().map(|item| item.as_ref().unwrap().s("in")).collect();
    assert_eq!(places, [Some("others"), Some("items")]);
}

async fn a_batch_get_of_100_keys_is_allowed(t: &Fixture) {
    let items = t.items().await;
    items.fill(rows(100)).await;
    let got = t.store.batch_get(&gets(&rows(100))).await.unwrap();
    assert_eq!(got, rows(100).into_iter().map(Some).collect::<Vec<_>>());
}

async fn each_get_of_a_batch_has_its_own_projection(t: &Fixture) {
    let items = t.items().await;
    let item = |sk| row("a", sk).with("x", 1).with("y", 2);
    items.fill([item("1"), item("2"), item("3")]).await;
    let gets = [
        Get::new("items", key("a", "1")).project(["x"]),
        Get::new("items", key("a", "2")).project(["y", "sk"]),
        Get::new("items", key("a", "3")),
    ];
    let got = t.store.batch_get(&gets).await.unwrap();
    let expected = [Item::new().with("x", 1), Item::new().with("y", 2).with("sk", "2"), item("3")];
    assert_eq!(got, expected.map(Some));
}

async fn an_eventual_batch_get_sees_the_items_in_the_end(t: &Fixture) {
    let items = t.items().await;
    items.fill(rows(3)).await;
    let gets: Vec<Get> = gets(&rows(3)).into_iter().map(Get::eventual).collect();
    let expected: Vec<_> = rows(3).into_iter().map(Some).collect();
    eventually(expected, async || t.store.batch_get(&gets).await.unwrap()).await;
}

async fn a_batch_get_of_more_than_16_mb_returns_everything(t: &Fixture) {
    let items = t.items().await;
    let large: Vec<Item> = rows(44).into_iter().map(|r| r.with("b", vec![7; 390 * 1024])).collect();
    for item in &large {
        items.put(item.clone()).await;
    }
    let got = t.store.batch_get(&gets(&large)).await.unwrap();
    assert!(got == large.into_iter().map(Some).collect::<Vec<_>>());
}

async fn a_batch_write_takes_no_conditions_and_no_updates(t: &Fixture) {
    let items = t.items().await;
    let good = || Write::put("items", row("a", "1"));
    for bad in [
        Write::put("items", row("a", "2")).when(attr("pk").absent()),
        Write::update("items", key("a", "2"), add("v", 1)),
        Write::check("items", key("a", "2"), attr("pk").absent()),
    ] {
        assert_eq!(fault(t.store.batch_write(vec![good(), bad]).await), "writes[1]");
    }
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn a_batch_write_of_26_is_refused_whole(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(fault(t.store.batch_write(puts(rows(26))).await), "writes");
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn an_item_twice_in_a_batch_write_is_refused(t: &Fixture) {
    let items = t.items().await;
    let writes = vec![
        Write::put("items", row("a", "1")),
        Write::put("items", row("a", "2")),
        Write::delete("items", key("a", "1")),
    ];
    assert_eq!(fault(t.store.batch_write(writes).await), "writes[2]");
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn a_batch_get_of_101_keys_is_refused(t: &Fixture) {
    let _items = t.items().await;
    assert_eq!(fault(t.store.batch_get(&gets(&rows(101))).await), "gets");
    assert_eq!(fault(t.store.transact_get(&gets(&rows(101))).await), "gets");
}

async fn an_item_twice_in_a_batch_get_is_refused(t: &Fixture) {
    let _items = t.items().await;
    let twice = [("a", "1"), ("a", "1")].map(|(pk, sk)| Get::new("items", key(pk, sk)));
    assert_eq!(fault(t.store.batch_get(&twice).await), "gets[1]");
    assert_eq!(fault(t.store.transact_get(&twice).await), "gets[1]");
}

async fn an_empty_batch_is_refused(t: &Fixture) {
    let _items = t.items().await;
    assert_eq!(fault(t.store.batch_write(Vec::new()).await), "writes");
    assert_eq!(fault(t.store.batch_get(&[]).await), "gets");
    assert_eq!(fault(t.store.transact_get(&[]).await), "gets");
    assert_eq!(t.transact_fault([]).await, "writes");
}
