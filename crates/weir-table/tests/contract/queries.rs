//! Queries: one partition, in order, narrowed by sort key.

use weir_table::{Item, KeyValue, Query, SortRange};

use crate::fixture::{Fixture, eventually, key, row};

contract! {
    a_query_returns_its_partition_in_order,
    a_reverse_query_returns_the_last_first,
    a_query_of_an_empty_partition_is_empty,
    a_query_sees_no_other_partition,
    partitions_that_share_a_prefix_are_apart,
    a_query_may_name_one_sort_value,
    before_and_after_include_or_spare_the_bound,
    between_takes_both_ends_in,
    between_equal_ends_is_one_item,
    ranges_may_lie_where_nothing_is,
    a_range_can_be_read_backwards,
    a_query_sees_the_last_write,
    a_deleted_item_leaves_the_query,
    an_eventual_query_sees_the_items_in_the_end,
    a_query_of_a_table_without_sort_key_finds_one,
    a_query_returns_whole_items,
}

fn letters() -> Vec<Item> {
    ["a", "b", "c", "d", "e"].map(|sk| row("p", sk)).to_vec()
}

async fn a_query_returns_its_partition_in_order(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters().into_iter().rev()).await;
    assert_eq!(items.all(&items.partition("p")).await, letters());
}

async fn a_reverse_query_returns_the_last_first(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    let found = items.all(&items.partition("p").reverse()).await;
    assert_eq!(found, letters().into_iter().rev().collect::<Vec<_>>());
    let last = items.page(&items.partition("p").reverse().limit(1)).await;
    assert_eq!(last.items, [row("p", "e")]);
}

async fn a_query_of_an_empty_partition_is_empty(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    let page = items.page(&items.partition("none")).await;
    assert_eq!((page.items.len(), page.count, page.scanned, page.cursor), (0, 0, 0, None));
}

async fn a_query_sees_no_other_partition(t: &Fixture) {
    let items = t.items().await;
    items.fill([row("o", "z"), row("p", "a"), row("q", "a")]).await;
    assert_eq!(items.all(&items.partition("p")).await, [row("p", "a")]);
    assert_eq!(items.all(&items.partition("p").reverse()).await, [row("p", "a")]);
}

async fn partitions_that_share_a_prefix_are_apart(t: &Fixture) {
    let items = t.items().await;
    items
        .fill(
            [row("p", "pp"), row("pp", "p"), row("ppp", ""), row("p\0", "p")]
                .map(|item| if item.s("sk") == Some("") { item.with("sk", "x") } else { item }),
        )
        .await;
    assert_eq!(items.sorts(&items.partition("p")).await, ["pp"]);
    assert_eq!(items.sorts(&items.partition("pp")).await, ["p"]);
    assert_eq!(items.sorts(&items.partition("p\0")).await, ["p"]);
}

async fn a_query_may_name_one_sort_value(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    let found = items.sorts(&items.partition("p").sort(SortRange::Eq("c".into()))).await;
    assert_eq!(found, ["c"]);
    let found = items.sorts(&items.partition("p").sort(SortRange::Eq("cc".into()))).await;
    assert_eq!(found, [""; 0]);
}

async fn before_and_after_include_or_spare_the_bound(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    let found = async |range| items.sorts(&items.partition("p").sort(range)).await;
    let k = || KeyValue::from("c");
    assert_eq!(found(SortRange::Lt(k())).await, ["a", "b"]);
    assert_eq!(found(SortRange::Le(k())).await, ["a", "b", "c"]);
    assert_eq!(found(SortRange::Gt(k())).await, ["d", "e"]);
    assert_eq!(found(SortRange::Ge(k())).await, ["c", "d", "e"]);
}

async fn between_takes_both_ends_in(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    assert_eq!(items.sorts(&items.partition("p").between("b", "d")).await, ["b", "c", "d"]);
    assert_eq!(items.sorts(&items.partition("p").between("aa", "cz")).await, ["b", "c"]);
}

async fn between_equal_ends_is_one_item(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    assert_eq!(items.sorts(&items.partition("p").between("b", "b")).await, ["b"]);
}

async fn ranges_may_lie_where_nothing_is(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    let found = async |range| items.sorts(&items.partition("p").sort(range)).await;
    assert_eq!(found(SortRange::Lt("a".into())).await, [""; 0]);
    assert_eq!(found(SortRange::Gt("e".into())).await, [""; 0]);
    assert_eq!(found(SortRange::Between("ca".into(), "cz".into())).await, [""; 0]);
}

async fn a_range_can_be_read_backwards(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    let found = async |range| items.sorts(&items.partition("p").sort(range).reverse()).await;
    assert_eq!(found(SortRange::Between("b".into(), "d".into())).await, ["d", "c", "b"]);
    assert_eq!(found(SortRange::Gt("c".into())).await, ["e", "d"]);
    assert_eq!(found(SortRange::Le("b".into())).await, ["b", "a"]);
}

async fn a_query_sees_the_last_write(t: &Fixture) {
    let items = t.items().await;
    for i in 0..5 {
        items.put(row("p", "a").with("v", i)).await;
        assert_eq!(items.all(&items.partition("p")).await, [row("p", "a").with("v", i)]);
    }
}

async fn a_deleted_item_leaves_the_query(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    items.delete(key("p", "c")).await;
    items.delete(key("p", "a")).await;
    assert_eq!(items.sorts(&items.partition("p")).await, ["b", "d", "e"]);
    assert_eq!(items.sorts(&items.partition("p").reverse()).await, ["e", "d", "b"]);
}

async fn an_eventual_query_sees_the_items_in_the_end(t: &Fixture) {
    let items = t.items().await;
    items.fill(letters()).await;
    let query = items.partition("p").eventual();
    eventually(letters(), async || items.all(&query).await).await;
}

async fn a_query_of_a_table_without_sort_key_finds_one(t: &Fixture) {
    let singles = t.singles().await;
    singles.fill(["a", "b"].map(|pk| Item::new().with("pk", pk))).await;
    let found = singles.all(&Query::partition("singles", "a")).await;
    assert_eq!(found, [Item::new().with("pk", "a")]);
}

async fn a_query_returns_whole_items(t: &Fixture) {
    let items = t.items().await;
    let item = row("p", "a").with("v", 1).with("null", weir_table::Value::Null);
    items.put(item.clone()).await;
    assert_eq!(items.all(&items.partition("p")).await, [item]);
}
