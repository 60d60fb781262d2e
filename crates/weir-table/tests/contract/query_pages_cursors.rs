//! Pages and cursors: every item once, however the pages are cut.

use weir_table::expr::attr;
use weir_table::{Item, Query};

use crate::fixture::{Fixture, Table, eventually, key, row, texts_of};

contract! {
    pages_cover_a_partition_without_overlap,
    pages_cover_a_partition_backwards,
    pages_cover_a_range,
    a_page_holds_at_most_its_limit,
    the_last_page_has_no_cursor,
    a_page_without_limit_ends_at_1_mb,
    a_reverse_page_ends_at_1_mb,
    a_filter_does_not_stretch_the_1_mb,
    the_limit_counts_items_before_the_filter,
    a_page_may_be_empty_and_have_a_cursor,
    the_limit_may_change_between_pages,
    a_cursor_outlives_the_item_it_ended_at,
    items_added_behind_the_cursor_are_found,
    a_cursor_can_be_used_twice,
    pages_of_an_index_cover_equal_sort_values,
    pages_of_an_index_cover_it_backwards,
    pages_of_an_index_without_sort_key_cover_it,
    pages_of_number_keys_cover_them,
}

async fn fill(items: &Table<'_>, count: usize) -> Vec<String> {
    let sorts: Vec<String> = (0..count).map(|i| format!("{i:03}")).collect();
    items
        .fill(
            sorts
                .iter()
                .map(|sk| row("p", sk).with("odd", sk.ends_with(['1', '3', '5', '7', '9']))),
        )
        .await;
    sorts
}

async fn pages_cover_a_partition_without_overlap(t: &Fixture) {
    let items = t.items().await;
    let sorts = fill(&items, 23).await;
    for limit in [1, 4, 23, 100] {
        assert_eq!(items.sorts(&items.partition("p").limit(limit)).await, sorts);
    }
}

async fn pages_cover_a_partition_backwards(t: &Fixture) {
    let items = t.items().await;
    let mut sorts = fill(&items, 23).await;
    sorts.reverse();
    for limit in [1, 5, 22] {
        assert_eq!(items.sorts(&items.partition("p").reverse().limit(limit)).await, sorts);
    }
}

async fn pages_cover_a_range(t: &Fixture) {
    let items = t.items().await;
    fill(&items, 30).await;
    let query = items.partition("p").between("005", "016").limit(5);
    let sorts = items.sorts(&query).await;
    assert_eq!((sorts.len(), &*sorts[0], &*sorts[11]), (12, "005", "016"));
    let prefix = items.partition("p").begins_with("01").reverse().limit(3);
    let sorts = items.sorts(&prefix).await;
    assert_eq!((sorts.len(), &*sorts[0], &*sorts[9]), (10, "019", "010"));
}

async fn a_page_holds_at_most_its_limit(t: &Fixture) {
    let items = t.items().await;
    fill(&items, 10).await;
    let page = items.page(&items.partition("p").limit(4)).await;
    assert_eq!((page.items.len(), page.count, page.scanned), (4, 4, 4));
    assert!(page.cursor.is_some());
}

async fn the_last_page_has_no_cursor(t: &Fixture) {
    let items = t.items().await;
    fill(&items, 10).await;
    let page = items.page(&items.partition("p").limit(11)).await;
    assert_eq!((page.items.len(), page.cursor), (10, None));
    let page = items.page(&items.partition("p")).await;
    assert_eq!((page.items.len(), page.cursor), (10, None));
}

/// Twelve items of 100 kB each: more than a page, less than two.
async fn large(items: &Table<'_>) -> Vec<String> {
    let sorts: Vec<String> = (0..12).map(|i| format!("{i:02}")).collect();
    items.fill(sorts.iter().map(|sk| row("p", sk).with("b", vec![1; 100_000]))).await;
    sorts
}

async fn a_page_without_limit_ends_at_1_mb(t: &Fixture) {
    let items = t.items().await;
    let sorts = large(&items).await;
    let pages = items.pages(&items.partition("p")).await;
    assert_eq!(pages.len(), 2);
    assert!((10..=11).contains(&pages[0].items.len()), "{}", pages[0].items.len());
    assert_eq!(
        pages.iter().flat_map(|page| texts_of(&page.items, "sk")).collect::<Vec<_>>(),
        sorts
    );
}

async fn a_reverse_page_ends_at_1_mb(t: &Fixture) {
    let items = t.items().await;
    let mut sorts = large(&items).await;
    sorts.reverse();
    let pages = items.pages(&items.partition("p").reverse()).await;
    assert_eq!(pages.len(), 2);
    assert_eq!(
        pages.iter().flat_map(|page| texts_of(&page.items, "sk")).collect::<Vec<_>>(),
        sorts
    );
}

async fn a_filter_does_not_stretch_the_1_mb(t: &Fixture) {
    let items = t.items().await;
    large(&items).await;
    let nothing = items.partition("p").filter(attr("b").absent());
    let pages = items.pages(&nothing).await;
    assert_eq!(pages.len(), 2);
    assert_eq!(pages.iter().map(|page| page.scanned).sum::<u64>(), 12);
    assert_eq!(pages.iter().map(|page| page.count).sum::<u64>(), 0);
}

async fn the_limit_counts_items_before_the_filter(t: &Fixture) {
    let items = t.items().await;
    fill(&items, 10).await;
    let query = items.partition("p").filter(attr("odd").eq(true)).limit(4);
    let page = items.page(&query).await;
    assert_eq!(texts_of(&page.items, "sk"), ["001", "003"]);
    assert_eq!((page.count, page.scanned), (2, 4));
    assert_eq!(items.sorts(&query).await, ["001", "003", "005", "007", "009"]);
}

async fn a_page_may_be_empty_and_have_a_cursor(t: &Fixture) {
    let items = t.items().await;
    fill(&items, 6).await;
    let query = items.partition("p").filter(attr("odd").eq(true)).limit(1);
    let page = items.page(&query).await;
    assert_eq!((page.items.len(), page.count, page.scanned), (0, 0, 1));
    assert!(page.cursor.is_some());
    assert_eq!(items.sorts(&query).await, ["001", "003", "005"]);
}

async fn the_limit_may_change_between_pages(t: &Fixture) {
    let items = t.items().await;
    let sorts = fill(&items, 10).await;
    let first = items.page(&items.partition("p").limit(3)).await;
    let rest = items.sorts(&items.partition("p").limit(5).after(first.cursor.unwrap())).await;
    assert_eq!(rest, sorts[3..]);
}

async fn a_cursor_outlives_the_item_it_ended_at(t: &Fixture) {
    let items = t.items().await;
    let sorts = fill(&items, 10).await;
    let first = items.page(&items.partition("p").limit(3)).await;
    items.delete(key("p", "002")).await;
    let rest = items.sorts(&items.partition("p").after(first.cursor.unwrap())).await;
    assert_eq!(rest, sorts[3..]);
}

async fn items_added_behind_the_cursor_are_found(t: &Fixture) {
    let items = t.items().await;
    fill(&items, 4).await;
    let first = items.page(&items.partition("p").limit(2)).await;
    items.fill([row("p", "0000"), row("p", "0011"), row("p", "9")]).await;
    let rest = items.sorts(&items.partition("p").after(first.cursor.unwrap())).await;
    assert_eq!(rest, ["0011", "002", "003", "9"]);
}

async fn a_cursor_can_be_used_twice(t: &Fixture) {
    let items = t.items().await;
    let sorts = fill(&items, 6).await;
    let cursor = items.page(&items.partition("p").limit(2)).await.cursor.unwrap();
    let next = items.partition("p").after(cursor);
    assert_eq!(items.sorts(&next).await, sorts[2..]);
    assert_eq!(items.sorts(&next).await, sorts[2..]);
}

async fn index_pages_cover(t: &Fixture, query: Query, rows: &[Item]) {
    let orders = t.orders().await;
    orders.fill(rows.to_vec()).await;
    let expected = rows.len();
    eventually(expected, async || orders.all(&query).await.len()).await;
    let whole = orders.all(&query).await;
    for limit in [1, 3, 7] {
        let paged = orders.all(&query.clone().limit(limit)).await;
        assert_eq!(paged, whole, "pages of {limit}");
    }
    let mut sorts = texts_of(&whole, "sk");
    sorts.sort();
    sorts.dedup();
    assert_eq!(sorts.len(), expected, "an item came twice");
}

async fn pages_of_an_index_cover_equal_sort_values(t: &Fixture) {
    let rows: Vec<Item> = (0..12)
        .map(|i| row(&format!("p{}", i % 5), &format!("{i:02}")).with("owner", "ada").with("at", 7))
        .collect();
    index_pages_cover(t, Query::partition("orders", "ada").index("by-owner"), &rows).await;
}

async fn pages_of_an_index_cover_it_backwards(t: &Fixture) {
    let rows: Vec<Item> = (0..12)
        .map(|i| row("p", &format!("{i:02}")).with("owner", "ada").with("at", i / 3))
        .collect();
    let query = Query::partition("orders", "ada").index("by-owner").reverse();
    index_pages_cover(t, query, &rows).await;
}

async fn pages_of_an_index_without_sort_key_cover_it(t: &Fixture) {
    let rows: Vec<Item> = (0..12)
        .map(|i| row(&format!("p{}", i % 4), &format!("{i:02}")).with("state", "open"))
        .collect();
    index_pages_cover(t, Query::partition("orders", "open").index("by-state"), &rows).await;
}

async fn pages_of_number_keys_cover_them(t: &Fixture) {
    let table = t.sorted_by(weir_table::Kind::N).await;
    let numbers = [-100, -20, -3, 0, 1, 2, 10, 11, 200];
    table.fill(numbers.map(|v| Item::new().with("pk", "p").with("sk", v))).await;
    let found = table.all(&table.partition("p").limit(2)).await;
    assert_eq!(found.iter().map(|i| i.i64("sk").unwrap()).collect::<Vec<_>>(), numbers);
}
