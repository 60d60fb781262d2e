//! What a query returns of what it reads: counts, filtered items, parts of items.

use weir_table::expr::{Path, attr, size};
use weir_table::{Item, Value};

use crate::fixture::{Fixture, Table, eventually, row, texts_of};

contract! {
    count_only_returns_no_items,
    count_only_counts_items_that_pass_the_filter,
    counts_of_pages_add_up,
    a_filter_lets_matching_items_through,
    a_filter_may_join_conditions,
    a_filter_on_a_missing_attribute_skips_the_item,
    a_filter_may_read_attributes_that_are_not_returned,
    a_query_returns_only_projected_attributes,
    an_item_without_projected_attributes_is_returned_empty,
    a_projection_may_leave_out_the_keys,
    a_projected_query_continues_by_cursor,
    a_count_of_an_index_follows_it,
}

async fn fill(t: &Fixture) -> Table<'_> {
    let items = t.items().await;
    let item = |i: i32| {
        row("p", &format!("{i:02}"))
            .with("v", i)
            .with("m", Value::map([("x", i), ("y", -i)]))
            .with("tags", Value::strings([if i % 2 == 0 { "even" } else { "odd" }]))
    };
    items.fill((0..10).map(item)).await;
    items
}

async fn count_only_returns_no_items(t: &Fixture) {
    let items = fill(t).await;
    let page = items.page(&items.partition("p").count_only()).await;
    assert_eq!((page.items.len(), page.count, page.scanned, page.cursor), (0, 10, 10, None));
}

async fn count_only_counts_items_that_pass_the_filter(t: &Fixture) {
    let items = fill(t).await;
    let query = items.partition("p").filter(attr("v").ge(7)).count_only();
    let page = items.page(&query).await;
    assert_eq!((page.items.len(), page.count, page.scanned), (0, 3, 10));
}

async fn counts_of_pages_add_up(t: &Fixture) {
    let items = fill(t).await;
    let query = items.partition("p").filter(attr("tags").contains("odd")).count_only().limit(3);
    let pages = items.pages(&query).await;
    assert_eq!(pages.iter().map(|page| page.count).sum::<u64>(), 5);
    assert_eq!(pages.iter().map(|page| page.scanned).sum::<u64>(), 10);
}

async fn a_filter_lets_matching_items_through(t: &Fixture) {
    let items = fill(t).await;
    let page = items.page(&items.partition("p").filter(attr("v").between(3, 5))).await;
    assert_eq!(texts_of(&page.items, "sk"), ["03", "04", "05"]);
    assert_eq!((page.count, page.scanned), (3, 10));
}

async fn a_filter_may_join_conditions(t: &Fixture) {
    let items = fill(t).await;
    let filter = attr("tags").contains("odd").and(attr("m").field("y").lt(-4));
    let filter = filter.or(size("tags").gt(1)).or(attr("v").eq(0));
    assert_eq!(items.sorts(&items.partition("p").filter(filter)).await, ["00", "05", "07", "09"]);
}

async fn a_filter_on_a_missing_attribute_skips_the_item(t: &Fixture) {
    let items = fill(t).await;
    items.put(row("p", "99").with("other", 1)).await;
    assert_eq!(items.sorts(&items.partition("p").filter(attr("other").ge(1))).await, ["99"]);
    assert_eq!(items.sorts(&items.partition("p").filter(attr("v").absent())).await, ["99"]);
}

async fn a_filter_may_read_attributes_that_are_not_returned(t: &Fixture) {
    let items = fill(t).await;
    let query = items.partition("p").filter(attr("v").eq(4)).project(["sk"]);
    assert_eq!(items.all(&query).await, [Item::new().with("sk", "04")]);
}

async fn a_query_returns_only_projected_attributes(t: &Fixture) {
    let items = fill(t).await;
    let query = items.partition("p").between("01", "02");
    let found = items.all(&query.project([Path::new("v"), Path::new("m").field("x")])).await;
    let expected = [1, 2].map(|i: i32| Item::new().with("v", i).with("m", Value::map([("x", i)])));
    assert_eq!(found, expected);
}

async fn an_item_without_projected_attributes_is_returned_empty(t: &Fixture) {
    let items = t.items().await;
    items.fill([row("p", "1").with("v", 1), row("p", "2"), row("p", "3").with("v", 3)]).await;
    let page = items.page(&items.partition("p").project(["v"])).await;
    assert_eq!(page.items, [Item::new().with("v", 1), Item::new(), Item::new().with("v", 3)]);
    assert_eq!(page.count, 3);
}

async fn a_projection_may_leave_out_the_keys(t: &Fixture) {
    let items = fill(t).await;
    let found = items.all(&items.partition("p").project(["v"])).await;
    assert_eq!(found, (0..10).map(|i| Item::new().with("v", i)).collect::<Vec<_>>());
}

async fn a_projected_query_continues_by_cursor(t: &Fixture) {
    let items = fill(t).await;
    let query = items.partition("p").project(["v"]).reverse().limit(3);
    let found: Vec<_> = items.all(&query).await.iter().map(|item| item.i64("v").unwrap()).collect();
    assert_eq!(found, (0..10).rev().collect::<Vec<_>>());
}

async fn a_count_of_an_index_follows_it(t: &Fixture) {
    let orders = t.orders().await;
    orders.fill((0..6).map(|i| row("p", &i.to_string()).with("owner", "ada").with("at", i))).await;
    let query = orders.partition("ada").index("by-owner").count_only();
    eventually((6, 6), async || {
        let page = orders.page(&query).await;
        (page.count, page.scanned)
    })
    .await;
}
