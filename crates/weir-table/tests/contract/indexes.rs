//! Indexes: sparse, a moment behind, and in step with the items in the end.

use weir_table::expr::{remove, set};
use weir_table::{IndexSpec, Item, Kind, SortRange, Write};

use crate::fixture::{Fixture, Table, eventually, key, row, texts};

contract! {
    an_index_finds_items_by_its_key,
    an_index_is_ordered_by_its_sort_key,
    an_index_range_narrows_by_sort_key,
    an_item_without_the_key_is_not_in_the_index,
    an_item_with_half_the_key_is_not_in_the_index,
    an_item_that_gains_the_key_enters_the_index,
    an_item_that_loses_the_key_leaves_the_index,
    an_item_that_loses_its_sort_attribute_leaves_the_index,
    an_item_whose_key_changes_moves_in_the_index,
    an_item_whose_sort_value_changes_is_found_once,
    a_put_without_the_key_takes_the_item_out,
    a_deleted_item_leaves_the_index,
    an_index_shows_the_item_as_it_is,
    equal_sort_values_are_all_found,
    an_item_is_in_several_indexes,
    an_index_may_use_the_keys_of_the_table,
    an_index_may_have_binary_keys,
    a_deleted_and_remade_item_is_in_the_index_once,
    many_changes_leave_the_index_in_step,
}

fn order(sk: &str, owner: &str, at: i32) -> Item {
    row("p", sk).with("owner", owner).with("at", at)
}

/// Waits until the orders of `owner` in the index are these, in order.
async fn see(orders: &Table<'_>, owner: &str, sorts: &[&str]) {
    let query = orders.partition(owner).index("by-owner");
    let sorts: Vec<String> = sorts.iter().map(|&sk| sk.to_owned()).collect();
    eventually(sorts, async || orders.sorts(&query).await).await;
}

async fn an_index_finds_items_by_its_key(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill([order("1", "ada", 1), order("2", "bob", 1), order("3", "ada", 2)]).await;
    see(&orders, "ada", &["1", "3"]).await;
    see(&orders, "bob", &["2"]).await;
    see(&orders, "eve", &[]).await;
}

async fn an_index_is_ordered_by_its_sort_key(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill([order("1", "ada", 30), order("2", "ada", -5), order("3", "ada", 7)]).await;
    see(&orders, "ada", &["2", "3", "1"]).await;
    let reversed = orders.partition("ada").index("by-owner").reverse();
    assert_eq!(orders.sorts(&reversed).await, ["1", "3", "2"]);
}

async fn an_index_range_narrows_by_sort_key(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill((1..=6).map(|at| order(&at.to_string(), "ada", at))).await;
    see(&orders, "ada", &["1", "2", "3", "4", "5", "6"]).await;
    let found =
        async |range| orders.sorts(&orders.partition("ada").index("by-owner").sort(range)).await;
    assert_eq!(found(SortRange::Between(2.into(), 4.into())).await, ["2", "3", "4"]);
    assert_eq!(found(SortRange::Lt(3.into())).await, ["1", "2"]);
    assert_eq!(found(SortRange::Ge(5.into())).await, ["5", "6"]);
    assert_eq!(found(SortRange::Eq(4.into())).await, ["4"]);
}

async fn an_item_without_the_key_is_not_in_the_index(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(row("p", "sparse").with("v", 1)).await;
    orders.put(order("dense", "ada", 1)).await;
    see(&orders, "ada", &["dense"]).await;
    let scanned = orders.sorts(&orders.scan().index("by-owner")).await;
    assert_eq!(scanned, ["dense"]);
}

async fn an_item_with_half_the_key_is_not_in_the_index(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(row("p", "no-at").with("owner", "ada")).await;
    orders.put(row("p", "no-owner").with("at", 1)).await;
    orders.put(order("both", "ada", 1)).await;
    see(&orders, "ada", &["both"]).await;
    let scanned = orders.sorts(&orders.scan().index("by-owner")).await;
    assert_eq!(scanned, ["both"]);
}

async fn an_item_that_gains_the_key_enters_the_index(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(row("p", "1").with("owner", "ada")).await;
    orders.update(key("p", "1"), set("at", 5)).await;
    see(&orders, "ada", &["1"]).await;
}

async fn an_item_that_loses_the_key_leaves_the_index(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill([order("1", "ada", 1), order("2", "ada", 2)]).await;
    see(&orders, "ada", &["1", "2"]).await;
    orders.update(key("p", "1"), remove("owner")).await;
    see(&orders, "ada", &["2"]).await;
    assert!(orders.get(key("p", "1")).await.is_some());
}

async fn an_item_that_loses_its_sort_attribute_leaves_the_index(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(order("1", "ada", 1)).await;
    see(&orders, "ada", &["1"]).await;
    orders.update(key("p", "1"), remove("at")).await;
    see(&orders, "ada", &[]).await;
}

async fn an_item_whose_key_changes_moves_in_the_index(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(order("1", "ada", 1)).await;
    see(&orders, "ada", &["1"]).await;
    orders.update(key("p", "1"), set("owner", "bob")).await;
    see(&orders, "bob", &["1"]).await;
    see(&orders, "ada", &[]).await;
}

async fn an_item_whose_sort_value_changes_is_found_once(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill([order("1", "ada", 1), order("2", "ada", 2)]).await;
    see(&orders, "ada", &["1", "2"]).await;
    orders.update(key("p", "1"), set("at", 3)).await;
    see(&orders, "ada", &["2", "1"]).await;
}

async fn a_put_without_the_key_takes_the_item_out(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(order("1", "ada", 1)).await;
    see(&orders, "ada", &["1"]).await;
    orders.put(row("p", "1").with("v", 1)).await;
    see(&orders, "ada", &[]).await;
}

async fn a_deleted_item_leaves_the_index(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill([order("1", "ada", 1), order("2", "ada", 2)]).await;
    see(&orders, "ada", &["1", "2"]).await;
    orders.delete(key("p", "2")).await;
    see(&orders, "ada", &["1"]).await;
}

async fn an_index_shows_the_item_as_it_is(t: &Fixture) {
    let orders = t.orders().await;
    let item = order("1", "ada", 1).with("v", 1);
    orders.put(item.clone()).await;
    let query = orders.partition("ada").index("by-owner");
    eventually(vec![item.clone()], async || orders.all(&query).await).await;
    orders.update(key("p", "1"), set("v", 2)).await;
    eventually(vec![item.with("v", 2)], async || orders.all(&query).await).await;
}

async fn equal_sort_values_are_all_found(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill((0..8).map(|i| order(&i.to_string(), "ada", 5))).await;
    orders.fill((0..8).map(|i| row("q", &i.to_string()).with("owner", "ada").with("at", 5))).await;
    let query = orders.partition("ada").index("by-owner").sort(SortRange::Eq(5.into()));
    eventually(16, async || orders.all(&query).await.len()).await;
}

async fn an_item_is_in_several_indexes(t: &Fixture) {
    let orders = t.orders().await;
    orders.put(order("1", "ada", 1).with("state", "open")).await;
    see(&orders, "ada", &["1"]).await;
    let open = orders.partition("open").index("by-state");
    eventually(vec!["1".to_owned()], async || orders.sorts(&open).await).await;
    orders.update(key("p", "1"), remove("state")).await;
    eventually(Vec::new(), async || orders.sorts(&open).await).await;
    see(&orders, "ada", &["1"]).await;
}

async fn an_index_may_use_the_keys_of_the_table(t: &Fixture) {
    let spec = texts("inverted").index(IndexSpec::new("by-sort", "sk").sort("pk"));
    let inverted = t.table("inverted", spec).await;
    inverted.fill([row("a", "x"), row("b", "x"), row("a", "y")]).await;
    let query = inverted.partition("x").index("by-sort");
    eventually(vec![row("a", "x"), row("b", "x")], async || inverted.all(&query).await).await;
}

async fn an_index_may_have_binary_keys(t: &Fixture) {
    let spec = texts("digests")
        .attribute("hash", Kind::B)
        .attribute("part", Kind::B)
        .index(IndexSpec::new("by-hash", "hash").sort("part"));
    let digests = t.table("digests", spec).await;
    let item =
        |sk: &str, part: u8| row("p", sk).with("hash", vec![0, 0xFF]).with("part", vec![part]);
    digests.fill([item("1", 0xFF), item("2", 0x00), item("3", 0x80)]).await;
    let query = weir_table::Query::partition("digests", vec![0, 0xFF]).index("by-hash");
    let expected = ["2", "3", "1"].map(str::to_owned).to_vec();
    eventually(expected, async || digests.sorts(&query).await).await;
}

async fn a_deleted_and_remade_item_is_in_the_index_once(t: &Fixture) {
    let orders = t.orders().await;
    for at in 1..=4 {
        orders.put(order("1", "ada", at)).await;
        orders.delete(key("p", "1")).await;
    }
    orders.put(order("1", "ada", 9)).await;
    let query = orders.partition("ada").index("by-owner");
    eventually(vec![order("1", "ada", 9)], async || orders.all(&query).await).await;
}

async fn many_changes_leave_the_index_in_step(t: &Fixture) {
    let orders = t.orders().await;
    let owners = ["ada", "bob"];
    for round in 0..30_i32 {
        let sk = (round % 5).to_string();
        let owner = owners[usize::try_from(round % 2).unwrap()];
        match round % 3 {
            0 => drop(orders.put(order(&sk, owner, round)).await),
            1 => drop(orders.update(key("p", &sk), set("owner", owner).set("at", round)).await),
            _ => t.transact([Write::delete("orders", key("p", &sk))]).await,
        }
    }
    let items = orders.all(&orders.partition("p")).await;
    for owner in owners {
        let mut expected: Vec<Item> =
            items.iter().filter(|item| item.s("owner") == Some(owner)).cloned().collect();
        expected.sort_by_key(|item| item.i64("at"));
        let query = orders.partition(owner).index("by-owner");
        eventually(expected, async || orders.all(&query).await).await;
    }
}
