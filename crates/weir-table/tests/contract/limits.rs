//! The limits: what is just allowed, and what is just too much.

use weir_table::expr::{Condition, attr, set};
use weir_table::{Item, Kind, TableSpec, Value, Write};

use crate::fixture::{Fixture, fault, key, row};

contract! {
    an_item_of_400_kb_is_stored,
    an_item_of_one_byte_more_is_refused,
    an_update_that_outgrows_400_kb_is_refused,
    an_item_can_grow_to_400_kb_by_update,
    the_longest_partition_key_is_stored,
    a_longer_partition_key_is_refused,
    the_longest_sort_key_is_stored,
    a_longer_sort_key_is_refused,
    a_longer_index_key_is_refused,
    values_nest_32_deep,
    values_nested_deeper_are_refused,
    in_takes_100_values,
    in_takes_no_101_values,
    a_transaction_of_101_writes_is_refused,
    a_transaction_of_more_than_4_mb_is_refused,
    a_transaction_of_less_than_4_mb_is_allowed,
    a_condition_of_too_many_operators_is_refused,
    names_of_255_bytes_are_allowed,
}

const ITEM_MAX: usize = 400 * 1024;

/// An item of exactly this size: names and values count.
fn item_of(size: usize) -> Item {
    let keys = row("a", "1");
    let text = "x".repeat(size - keys.size() - "s".len());
    let item = keys.with("s", text);
    assert_eq!(item.size(), size);
    item
}

async fn an_item_of_400_kb_is_stored(t: &Fixture) {
    let items = t.items().await;
    items.put(item_of(ITEM_MAX)).await;
    assert!(items.get(key("a", "1")).await == Some(item_of(ITEM_MAX)));
}

async fn an_item_of_one_byte_more_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.put_fault(item_of(ITEM_MAX + 1)).await, "item");
    assert_eq!(t.transact_fault([Write::put("items", item_of(ITEM_MAX + 1))]).await, "item");
    let batch = vec![Write::put("items", item_of(ITEM_MAX + 1))];
    assert_eq!(fault(t.store.batch_write(batch).await), "item");
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn an_update_that_outgrows_400_kb_is_refused(t: &Fixture) {
    let items = t.items().await;
    let item = item_of(ITEM_MAX - 10);
    items.put(item.clone()).await;
    let grow = || set("more", "1234567");
    assert_eq!(items.update_fault(key("a", "1"), grow()).await, "item");
    let update = Write::update("items", key("a", "1"), grow());
    assert_eq!(t.transact_fault([update, Write::put("items", row("a", "2"))]).await, "item");
    assert!(items.get(key("a", "1")).await == Some(item));
    assert_eq!(items.get(key("a", "2")).await, None);
}

async fn an_item_can_grow_to_400_kb_by_update(t: &Fixture) {
    let items = t.items().await;
    items.put(item_of(ITEM_MAX - 10)).await;
    let new = items.update(key("a", "1"), set("more", "123456")).await;
    assert_eq!(new.size(), ITEM_MAX);
}

async fn the_longest_partition_key_is_stored(t: &Fixture) {
    let items = t.items().await;
    let long = "k".repeat(2048);
    items.put(row(&long, "1")).await;
    assert_eq!(items.get(key(&long, "1")).await, Some(row(&long, "1")));
    assert_eq!(items.all(&items.partition(&long)).await, [row(&long, "1")]);
}

async fn a_longer_partition_key_is_refused(t: &Fixture) {
    let items = t.items().await;
    let long = "k".repeat(2049);
    assert_eq!(items.put_fault(row(&long, "1")).await, "pk");
    assert_eq!(items.update_fault(key(&long, "1"), set("v", 1)).await, "pk");
    assert_eq!(items.query_fault(&items.partition(&long)).await, "pk");
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn the_longest_sort_key_is_stored(t: &Fixture) {
    let items = t.items().await;
    // Bytes count, not characters.
    let long = "é".repeat(512);
    items.put(row("a", &long)).await;
    assert_eq!(items.get(key("a", &long)).await, Some(row("a", &long)));
}

async fn a_longer_sort_key_is_refused(t: &Fixture) {
    let items = t.items().await;
    let long = "k".repeat(1025);
    assert_eq!(items.put_fault(row("a", &long)).await, "sk");
    assert_eq!(items.query_fault(&items.partition("a").begins_with(long)).await, "sk");
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn a_longer_index_key_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    let long = "k".repeat(2049);
    let item = row("a", "1").with("owner", long.as_str()).with("at", 1);
    assert_eq!(orders.put_fault(item).await, "owner");
    assert_eq!(orders.update_fault(key("a", "1"), set("owner", long)).await, "owner");
    assert_eq!(orders.all(&orders.scan()).await, []);
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(Value::from("core"), |inner, _| Value::L(vec![inner]))
}

async fn values_nest_32_deep(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("deep", nested(32));
    items.put(item.clone()).await;
    assert_eq!(items.get(key("a", "1")).await, Some(item));
}

async fn values_nested_deeper_are_refused(t: &Fixture) {
    let items = t.items().await;
    let field = items.put_fault(row("a", "1").with("deep", nested(40))).await;
    assert!(field.starts_with("deep"), "{field}");
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn in_takes_100_values(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 99)).await;
    assert!(items.holds(key("a", "1"), attr("v").is_in(0..100)).await);
}

async fn in_takes_no_101_values(t: &Fixture) {
    let items = t.items().await;
    let put = Write::put("items", row("a", "1")).when(attr("v").is_in(0..101));
    assert_eq!(items.fault(put).await, "condition");
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn a_transaction_of_101_writes_is_refused(t: &Fixture) {
    let items = t.items().await;
    let writes = (0..101).map(|i| Write::put("items", row("a", &i.to_string())));
    assert_eq!(t.transact_fault(writes).await, "writes");
    assert_eq!(items.all(&items.scan()).await, []);
}

fn large_writes(count: usize) -> impl Iterator<Item = Write> {
    (0..count).map(|i| Write::put("items", row("a", &i.to_string()).with("b", vec![1; 390 * 1024])))
}

async fn a_transaction_of_more_than_4_mb_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(t.transact_fault(large_writes(11)).await, "writes");
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn a_transaction_of_less_than_4_mb_is_allowed(t: &Fixture) {
    let items = t.items().await;
    t.transact(large_writes(10)).await;
    assert_eq!(items.all(&items.scan().project(["sk"])).await.len(), 10);
}

async fn a_condition_of_too_many_operators_is_refused(t: &Fixture) {
    let items = t.items().await;
    let many = Condition::Or((0..301).map(|i| attr("v").eq(i)).collect());
    let put = Write::put("items", row("a", "1")).when(many);
    assert_eq!(items.fault(put).await, "condition");
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn names_of_255_bytes_are_allowed(t: &Fixture) {
    let name = "n".repeat(255);
    let spec = TableSpec::new("long-names", name.as_str(), Kind::S);
    let table = t.table("long-names", spec).await;
    let item = Item::new().with(name.as_str(), "a").with("x".repeat(5000), 1);
    table.put(item.clone()).await;
    assert_eq!(table.get(weir_table::Key::partition("a")).await, Some(item));
}
