//! Queries and cursors that are wrong: the error names the parameter.

use weir_table::expr::{Path, attr};
use weir_table::{Consistency, Kind, Query, SortRange};

use crate::fixture::{Fixture, Table, row};

contract! {
    a_limit_of_zero_is_refused,
    a_strong_read_of_an_index_is_refused,
    an_unknown_index_is_refused,
    a_partition_value_of_the_wrong_kind_is_refused,
    an_empty_partition_value_is_refused,
    a_sort_value_of_the_wrong_kind_is_refused,
    begins_with_on_a_number_key_is_refused,
    a_range_the_wrong_way_round_is_refused,
    a_range_without_a_sort_key_is_refused,
    a_filter_on_the_queried_key_is_refused,
    an_empty_projection_is_refused,
    overlapping_projections_are_refused,
    a_projection_of_a_count_is_refused,
    a_segment_out_of_range_is_refused,
    a_cursor_of_another_partition_is_refused,
    a_cursor_of_another_table_is_refused,
    a_cursor_of_another_range_or_direction_is_refused,
    a_cursor_of_another_filter_or_projection_is_refused,
    a_cursor_of_an_index_is_refused_by_the_table,
    a_cursor_of_another_segment_is_refused,
    a_tampered_cursor_is_refused,
    what_is_no_cursor_is_refused,
}

async fn a_limit_of_zero_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.query_fault(&items.partition("a").limit(0)).await, "limit");
    assert_eq!(items.query_fault(&items.scan().limit(0)).await, "limit");
}

async fn a_strong_read_of_an_index_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    let mut query = orders.partition("ada").index("by-owner");
    query.consistency = Consistency::Strong;
    assert_eq!(orders.query_fault(&query).await, "consistency");
}

async fn an_unknown_index_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    assert_eq!(orders.query_fault(&orders.partition("ada").index("by-nothing")).await, "index");
    assert_eq!(orders.query_fault(&orders.scan().index("by-nothing")).await, "index");
}

async fn a_partition_value_of_the_wrong_kind_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    assert_eq!(orders.query_fault(&Query::partition("orders", 1)).await, "pk");
    let query = Query::partition("orders", vec![1]).index("by-owner");
    assert_eq!(orders.query_fault(&query).await, "owner");
}

async fn an_empty_partition_value_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    assert_eq!(orders.query_fault(&orders.partition("")).await, "pk");
    assert_eq!(orders.query_fault(&orders.partition("").index("by-owner")).await, "owner");
}

async fn a_sort_value_of_the_wrong_kind_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    let query = orders.partition("a").sort(SortRange::Gt(1.into()));
    assert_eq!(orders.query_fault(&query).await, "sk");
    let query = orders.partition("ada").index("by-owner").between(1, "2");
    assert_eq!(orders.query_fault(&query).await, "at");
}

async fn begins_with_on_a_number_key_is_refused(t: &Fixture) {
    let table = t.sorted_by(Kind::N).await;
    assert_eq!(table.query_fault(&table.partition("a").begins_with(1)).await, "sk");
}

async fn a_range_the_wrong_way_round_is_refused(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.query_fault(&items.partition("a").between("c", "b")).await, "sk");
}

async fn a_range_without_a_sort_key_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    let query = orders.partition("open").index("by-state").begins_with("x");
    assert_eq!(orders.query_fault(&query).await, "sort");
}

async fn a_filter_on_the_queried_key_is_refused(t: &Fixture) {
    let orders = t.orders().await;
    let query = orders.partition("a").filter(attr("v").exists().or(attr("sk").gt("1")));
    assert_eq!(orders.query_fault(&query).await, "sk");
    let query = orders.partition("ada").index("by-owner").filter(attr("at").gt(1));
    assert_eq!(orders.query_fault(&query).await, "at");
    // The keys of the table are ordinary attributes of an index.
    let query = orders.partition("ada").index("by-owner").filter(attr("sk").gt("1"));
    assert_eq!(orders.page(&query).await.count, 0);
}

async fn an_empty_projection_is_refused(t: &Fixture) {
    let items = t.items().await;
    let query = items.partition("a").project(Vec::<Path>::new());
    assert_eq!(items.query_fault(&query).await, "projection");
}

async fn overlapping_projections_are_refused(t: &Fixture) {
    let items = t.items().await;
    let query = items.partition("a").project([Path::new("m"), Path::new("m").field("x")]);
    assert_eq!(items.query_fault(&query).await, "m");
    assert_eq!(items.query_fault(&items.scan().project(["v", "v"])).await, "v");
}

async fn a_projection_of_a_count_is_refused(t: &Fixture) {
    let items = t.items().await;
    let query = items.partition("a").count_only().project(["v"]);
    assert_eq!(items.query_fault(&query).await, "projection");
}

async fn a_segment_out_of_range_is_refused(t: &Fixture) {
    let items = t.items().await;
    for (number, of) in [(3, 3), (0, 0), (0, 1_000_001)] {
        assert_eq!(items.query_fault(&items.scan().segment(number, of)).await, "segment");
    }
}

/// Fills partitions `a` and `b`, and returns a cursor of `query`.
async fn cursor(table: &Table<'_>, query: &Query) -> String {
    let rows = (0..4).flat_map(|i| ["a", "b"].map(|pk| row(pk, &format!("{i:02}"))));
    table.fill(rows).await;
    table.page(&query.clone().limit(2)).await.cursor.unwrap()
}

async fn a_cursor_of_another_partition_is_refused(t: &Fixture) {
    let items = t.items().await;
    let cursor = cursor(&items, &items.partition("a")).await;
    assert_eq!(items.query_fault(&items.partition("b").after(&*cursor)).await, "cursor");
    assert_eq!(items.query_fault(&items.scan().after(&*cursor)).await, "cursor");
}

async fn a_cursor_of_another_table_is_refused(t: &Fixture) {
    let (items, others) = (t.items().await, t.others().await);
    let cursor = cursor(&items, &items.partition("a")).await;
    assert_eq!(others.query_fault(&others.partition("a").after(cursor)).await, "cursor");
}

async fn a_cursor_of_another_range_or_direction_is_refused(t: &Fixture) {
    let items = t.items().await;
    let cursor = cursor(&items, &items.partition("a").begins_with("0")).await;
    let same = items.partition("a").begins_with("0").after(&*cursor);
    assert_eq!(items.page(&same).await.count, 2);
    assert_eq!(items.query_fault(&same.clone().reverse()).await, "cursor");
    assert_eq!(items.query_fault(&same.begins_with("1")).await, "cursor");
    assert_eq!(items.query_fault(&items.partition("a").after(cursor)).await, "cursor");
}

async fn a_cursor_of_another_filter_or_projection_is_refused(t: &Fixture) {
    let items = t.items().await;
    let query = || items.partition("a").filter(attr("v").absent());
    let cursor = cursor(&items, &query()).await;
    assert_eq!(items.query_fault(&items.partition("a").after(&*cursor)).await, "cursor");
    assert_eq!(items.query_fault(&query().project(["sk"]).after(&*cursor)).await, "cursor");
    assert_eq!(items.query_fault(&query().count_only().after(&*cursor)).await, "cursor");
    assert_eq!(items.page(&query().after(cursor)).await.count, 2);
}

async fn a_cursor_of_an_index_is_refused_by_the_table(t: &Fixture) {
    let orders = t.orders().await;
    let cursor = cursor(&orders, &orders.partition("a").eventual()).await;
    let query = orders.partition("a").index("by-owner").after(cursor);
    assert_eq!(orders.query_fault(&query).await, "cursor");
}

async fn a_cursor_of_another_segment_is_refused(t: &Fixture) {
    let items = t.items().await;
    let cursor = cursor(&items, &items.scan().segment(0, 1)).await;
    assert_eq!(items.query_fault(&items.scan().segment(1, 2).after(&*cursor)).await, "cursor");
    assert_eq!(items.query_fault(&items.scan().after(cursor)).await, "cursor");
}

async fn a_tampered_cursor_is_refused(t: &Fixture) {
    let items = t.items().await;
    let cursor = cursor(&items, &items.partition("a")).await;
    // Every place: the version, the seal and the key under it.
    for position in 0..cursor.len() {
        let mut bytes = cursor.clone().into_bytes();
        bytes[position] = if bytes[position] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        let query = items.partition("a").after(tampered);
        assert_eq!(items.query_fault(&query).await, "cursor", "changed at {position}");
    }
    let shorter = &cursor[..cursor.len() - 4];
    assert_eq!(items.query_fault(&items.partition("a").after(shorter)).await, "cursor");
    let longer = format!("{cursor}AAAA");
    assert_eq!(items.query_fault(&items.partition("a").after(longer)).await, "cursor");
}

async fn what_is_no_cursor_is_refused(t: &Fixture) {
    let items = t.items().await;
    for garbage in ["", "garbage", "AQ", "%%%", "null", "🦀"] {
        let query = items.partition("a").after(garbage);
        assert_eq!(items.query_fault(&query).await, "cursor", "{garbage:?}");
    }
}
