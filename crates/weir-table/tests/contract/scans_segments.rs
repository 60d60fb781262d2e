//! Scans: everything once, in no order, whole or in parts.

use std::collections::BTreeSet;

use weir_table::Item;
use weir_table::expr::attr;

use crate::fixture::{Fixture, Table, eventually, key, row};

contract! {
    a_scan_sees_every_item_once,
    a_scan_of_an_empty_table_is_empty,
    pages_of_a_scan_cover_it,
    segments_cover_the_table_without_overlap,
    one_segment_is_the_whole_table,
    pages_of_a_segment_stay_in_it,
    a_scan_filters_and_counts,
    a_scan_may_filter_by_key,
    a_scan_page_ends_at_1_mb,
    a_scan_sees_writes_and_deletes,
    a_scan_of_an_index_sees_its_items_once,
    pages_of_an_index_scan_cover_it,
}

/// Forty items in eight partitions.
async fn fill(table: &Table<'_>) -> BTreeSet<String> {
    let rows: Vec<Item> =
        (0..40).map(|i| row(&format!("p{}", i % 8), &format!("{i:02}")).with("v", i)).collect();
    table.fill(rows.clone()).await;
    names(&rows)
}

fn names(items: &[Item]) -> BTreeSet<String> {
    let names: BTreeSet<String> = items
        .iter()
        .map(|item| format!("{}/{}", item.s("pk").unwrap(), item.s("sk").unwrap()))
        .collect();
    assert_eq!(names.len(), items.len(), "an item came twice");
    names
}

async fn a_scan_sees_every_item_once(t: &Fixture) {
    let items = t.items().await;
    let expected = fill(&items).await;
    assert_eq!(names(&items.all(&items.scan()).await), expected);
}

async fn a_scan_of_an_empty_table_is_empty(t: &Fixture) {
    let items = t.items().await;
    let page = items.page(&items.scan()).await;
    assert_eq!((page.items.len(), page.count, page.scanned, page.cursor), (0, 0, 0, None));
}

async fn pages_of_a_scan_cover_it(t: &Fixture) {
    let items = t.items().await;
    let expected = fill(&items).await;
    for limit in [1, 7, 40] {
        assert_eq!(names(&items.all(&items.scan().limit(limit)).await), expected);
    }
}

async fn segments_cover_the_table_without_overlap(t: &Fixture) {
    let items = t.items().await;
    let expected = fill(&items).await;
    for of in [2, 5] {
        let mut found = Vec::new();
        for number in 0..of {
            found.extend(items.all(&items.scan().segment(number, of)).await);
        }
        assert_eq!(names(&found), expected);
    }
}

async fn one_segment_is_the_whole_table(t: &Fixture) {
    let items = t.items().await;
    let expected = fill(&items).await;
    assert_eq!(names(&items.all(&items.scan().segment(0, 1)).await), expected);
}

async fn pages_of_a_segment_stay_in_it(t: &Fixture) {
    let items = t.items().await;
    let expected = fill(&items).await;
    let mut found = Vec::new();
    for number in 0..3 {
        let segment = items.scan().segment(number, 3);
        let paged = items.all(&segment.clone().limit(3)).await;
        assert_eq!(names(&paged), names(&items.all(&segment).await));
        found.extend(paged);
    }
    assert_eq!(names(&found), expected);
}

async fn a_scan_filters_and_counts(t: &Fixture) {
    let items = t.items().await;
    fill(&items).await;
    let query = items.scan().filter(attr("v").lt(10));
    let page = items.page(&query).await;
    assert_eq!((page.items.len(), page.count, page.scanned), (10, 10, 40));
    let counted = items.page(&query.count_only()).await;
    assert_eq!((counted.items.len(), counted.count, counted.scanned), (0, 10, 40));
}

async fn a_scan_may_filter_by_key(t: &Fixture) {
    let items = t.items().await;
    fill(&items).await;
    let query = items.scan().filter(attr("pk").eq("p3").and(attr("sk").gt("20")));
    let found = names(&items.all(&query).await);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["p3/27", "p3/35"]);
}

async fn a_scan_page_ends_at_1_mb(t: &Fixture) {
    let items = t.items().await;
    let large = |i: i32| row(&format!("p{i}"), "x").with("b", vec![1; 100_000]);
    items.fill((0..12).map(large)).await;
    let pages = items.pages(&items.scan()).await;
    assert_eq!(pages.len(), 2);
    let found: Vec<Item> = pages.into_iter().flat_map(|page| page.items).collect();
    assert_eq!(names(&found).len(), 12);
}

async fn a_scan_sees_writes_and_deletes(t: &Fixture) {
    let items = t.items().await;
    let mut expected = fill(&items).await;
    items.delete(key("p1", "01")).await;
    items.put(row("new", "1")).await;
    expected.remove("p1/01");
    expected.insert("new/1".to_owned());
    assert_eq!(names(&items.all(&items.scan()).await), expected);
}

async fn orders(t: &Fixture) -> (Table<'_>, BTreeSet<String>) {
    let orders = t.orders().await;
    let rows: Vec<Item> = (0..20)
        .map(|i| {
            let item = row(&format!("p{}", i % 3), &format!("{i:02}")).with("at", i % 4);
            if i % 5 == 0 { item } else { item.with("owner", format!("o{}", i % 2)) }
        })
        .collect();
    orders.fill(rows.clone()).await;
    let owned: Vec<Item> = rows.into_iter().filter(|item| item.get("owner").is_some()).collect();
    (orders, names(&owned))
}

async fn a_scan_of_an_index_sees_its_items_once(t: &Fixture) {
    let (orders, expected) = orders(t).await;
    let query = orders.scan().index("by-owner");
    eventually(expected, async || names(&orders.all(&query).await)).await;
}

async fn pages_of_an_index_scan_cover_it(t: &Fixture) {
    let (orders, expected) = orders(t).await;
    for limit in [1, 6] {
        let query = orders.scan().index("by-owner").limit(limit);
        eventually(expected.clone(), async || {
            let found = orders.all(&query).await;
            found.iter().map(|i| format!("{}/{}", i.s("pk").unwrap(), i.s("sk").unwrap())).collect()
        })
        .await;
    }
}
