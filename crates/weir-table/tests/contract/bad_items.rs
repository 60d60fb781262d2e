//! Items, keys and writes that are wrong: the error names the field and nothing is written.

use weir_table::expr::{add, attr, set};
use weir_table::{Error, Get, Item, Key, Kind, Value, Write};

use crate::fixture::{Fixture, Table, fault, key, row};

contract! {
    an_empty_text_key_is_refused,
    an_empty_binary_key_is_refused,
    an_empty_set_is_refused,
    an_empty_set_deep_inside_is_refused,
    a_key_of_the_wrong_kind_is_refused,
    a_missing_key_attribute_is_refused,
    a_key_with_a_sort_value_too_many_is_refused,
    an_index_key_of_the_wrong_kind_is_refused,
    an_empty_index_key_is_refused,
    an_index_key_of_the_wrong_kind_is_refused_in_a_transaction,
    an_empty_attribute_name_is_refused,
    an_item_twice_in_a_transaction_is_refused,
    a_check_outside_a_transaction_is_refused,
    a_check_without_a_condition_is_refused,
    an_unknown_table_is_reported,
    one_bad_write_of_a_batch_stops_it_before_it_starts,
}

async fn nothing_written(table: &Table<'_>) {
    assert_eq!(table.all(&table.scan()).await, []);
}

async fn an_empty_text_key_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.put_fault(row("", "1")).await, "pk");
    assert_eq!(items.put_fault(row("a", "")).await, "sk");
    assert_eq!(items.update_fault(key("a", ""), set("v", 1)).await, "sk");
    assert_eq!(items.fault(Write::delete("items", key("", "1"))).await, "pk");
    assert_eq!(fault(t.store.get(&Get::new("items", key("a", ""))).await), "sk");
    nothing_written(&items).await;
}

async fn an_empty_binary_key_is_refused(t: &Fixture) {
    let table = t.sorted_by(Kind::B).await;
    let item = Item::new().with("pk", "a").with("sk", Vec::new());
    assert_eq!(table.put_fault(item).await, "sk");
    let write = Write::update("sorted", Key::new("a", Vec::new()), add("v", 1));
    assert_eq!(t.transact_fault([write]).await, "sk");
    nothing_written(&table).await;
}

async fn an_empty_set_is_refused(t: &Fixture) {
    let items = t.items().await;
    for empty in [Value::Ss([].into()), Value::Ns([].into()), Value::Bs([].into())] {
        assert_eq!(items.put_fault(row("a", "1").with("set", empty.clone())).await, "set");
        assert_eq!(items.update_fault(key("a", "1"), set("set", empty)).await, "set");
    }
    nothing_written(&items).await;
}

async fn an_empty_set_deep_inside_is_refused(t: &Fixture) {
    let items = t.items().await;
    let value = Value::list([Value::map([("x", Value::Ss([].into()))])]);
    assert_eq!(items.put_fault(row("a", "1").with("l", value)).await, "l[0].x");
    nothing_written(&items).await;
}

async fn a_key_of_the_wrong_kind_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.put_fault(row("a", "1").with("sk", 1)).await, "sk");
    assert_eq!(items.put_fault(row("a", "1").with("pk", true)).await, "pk");
    assert_eq!(items.update_fault(Key::new(1, "1"), set("v", 1)).await, "pk");
    assert_eq!(fault(t.store.get(&Get::new("items", Key::new("a", vec![1]))).await), "sk");
    let write = Write::delete("items", Key::new("a", 1));
    assert_eq!(t.transact_fault([write]).await, "sk");
    nothing_written(&items).await;
}

async fn a_missing_key_attribute_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.put_fault(Item::new().with("pk", "a")).await, "sk");
    assert_eq!(items.put_fault(Item::new().with("sk", "1")).await, "pk");
    assert_eq!(items.update_fault(Key::partition("a"), set("v", 1)).await, "sk");
    nothing_written(&items).await;
}

async fn a_key_with_a_sort_value_too_many_is_refused(t: &Fixture) {
    let singles = t.singles().await;
    assert_eq!(singles.update_fault(key("a", "1"), set("v", 1)).await, "key.sort");
    assert_eq!(fault(t.store.get(&Get::new("singles", key("a", "1"))).await), "key.sort");
    nothing_written(&singles).await;
}

async fn an_index_key_of_the_wrong_kind_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    assert_eq!(orders.put_fault(row("a", "1").with("owner", 5)).await, "owner");
    assert_eq!(orders.put_fault(row("a", "1").with("at", "now")).await, "at");
    assert_eq!(orders.put_fault(row("a", "1").with("state", Value::Null)).await, "state");
    assert_eq!(orders.update_fault(key("a", "1"), set("at", "now")).await, "at");
    nothing_written(&orders).await;
}

async fn an_empty_index_key_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    assert_eq!(orders.put_fault(row("a", "1").with("owner", "")).await, "owner");
    assert_eq!(orders.update_fault(key("a", "1"), set("state", "")).await, "state");
    nothing_written(&orders).await;
}

async fn an_index_key_of_the_wrong_kind_is_refused_in_a_transaction(t: &Fixture) {
    let orders = t.orders().await;
    let good = || Write::put("orders", row("a", "good"));
    let bad = Write::put("orders", row("a", "1").with("at", "now"));
    assert_eq!(t.transact_fault([good(), bad]).await, "at");
    let bad = Write::update("orders", key("a", "1"), set("owner", 5));
    assert_eq!(t.transact_fault([good(), bad]).await, "owner");
    nothing_written(&orders).await;
}

async fn an_empty_attribute_name_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.put_fault(row("a", "1").with("", 1)).await, "item");
    assert_eq!(items.update_fault(key("a", "1"), set("", 1)).await, "update");
    nothing_written(&items).await;
}

async fn an_item_twice_in_a_transaction_is_refused(t: &Fixture) {
    let items = t.items().await;
    let put = || Write::put("items", row("a", "1"));
    for second in [
        put(),
        Write::update("items", key("a", "1"), add("v", 1)),
        Write::delete("items", key("a", "1")),
        Write::check("items", key("a", "1"), attr("pk").absent()),
    ] {
        let between = Write::put("items", row("a", "2"));
        assert_eq!(t.transact_fault([put(), between, second]).await, "writes[2]");
    }
    nothing_written(&items).await;
}

async fn a_check_outside_a_transaction_is_refused(t: &Fixture) {
    let items = t.items().await;
    let check = Write::check("items", key("a", "1"), attr("pk").absent());
    assert_eq!(items.fault(check).await, "action");
    nothing_written(&items).await;
}

async fn a_check_without_a_condition_is_refused(t: &Fixture) {
    let items = t.items().await;
    let mut check = Write::check("items", key("a", "1"), attr("pk").absent());
    check.condition = None;
    assert_eq!(t.transact_fault([check, Write::put("items", row("a", "2"))]).await, "condition");
    nothing_written(&items).await;
}

async fn an_unknown_table_is_reported(t: &Fixture) {
    let items = t.items().await;
    let field_of = |error: Error| match error {
        Error::NoSuchTable(name) => name,
        other => panic!("{other:?}"),
    };
    let put = Write::put("nowhere", row("a", "1"));
    assert_eq!(field_of(t.store.write(put.clone()).await.unwrap_err()), "nowhere");
    let get = Get::new("nowhere", key("a", "1"));
    assert_eq!(field_of(t.store.get(&get).await.unwrap_err()), "nowhere");
    let query = weir_table::Query::scan("nowhere");
    assert_eq!(field_of(t.store.query(&query).await.unwrap_err()), "nowhere");
    let both = weir_table::Transaction::new([Write::put("items", row("a", "1")), put]);
    assert_eq!(field_of(t.store.transact(both).await.unwrap_err()), "nowhere");
    nothing_written(&items).await;
}

async fn one_bad_write_of_a_batch_stops_it_before_it_starts(t: &Fixture) {
    let items = t.items().await;
    let writes = vec![Write::put("items", row("a", "1")), Write::put("items", row("a", ""))];
    assert_eq!(fault(t.store.batch_write(writes).await), "sk");
    nothing_written(&items).await;
}
