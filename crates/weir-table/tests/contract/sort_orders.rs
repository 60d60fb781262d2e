//! The order of sort keys: texts and bytes by unsigned bytes, numbers by value.

use weir_table::{Item, KeyValue, Kind, Number, SortRange, Value};

use crate::fixture::{Fixture, Table, n, row};

contract! {
    texts_sort_by_utf8_bytes,
    bytes_sort_unsigned_and_shorter_first,
    numbers_sort_by_value,
    numbers_of_38_digits_sort_exactly,
    tiny_and_huge_numbers_sort_by_value,
    a_number_range_counts_by_value,
    begins_with_stops_at_the_next_character,
    begins_with_reaches_past_bytes_of_0xff,
    begins_with_matches_multi_byte_characters,
    texts_with_a_zero_byte_keep_their_order,
    index_sort_keys_order_numbers_by_value,
}

async fn sorted<V: Into<Value>>(
    table: &Table<'_>,
    values: impl IntoIterator<Item = V>,
) -> Vec<Value> {
    let item = |value: V| Item::new().with("pk", "a").with("sk", value);
    table.fill(values.into_iter().map(item)).await;
    let found = table.all(&table.partition("a")).await;
    let reversed = table.all(&table.partition("a").reverse()).await;
    assert_eq!(found, reversed.into_iter().rev().collect::<Vec<_>>());
    found.iter().map(|item| item.get("sk").unwrap().clone()).collect()
}

async fn texts_sort_by_utf8_bytes(t: &Fixture) {
    let table = t.sorted_by(Kind::S).await;
    let found = sorted(&table, ["🦀", "z", "é", "a", "\u{FFFD}", "Z", "aa", " ", "~"]).await;
    let expected = [" ", "Z", "a", "aa", "z", "~", "é", "\u{FFFD}", "🦀"];
    assert_eq!(found, expected.map(Value::from));
}

async fn bytes_sort_unsigned_and_shorter_first(t: &Fixture) {
    let table = t.sorted_by(Kind::B).await;
    let expected: [Vec<u8>; 7] =
        [vec![0], vec![0, 0], vec![0, 1], vec![0x7F], vec![0x80], vec![0xFF], vec![0xFF, 0]];
    let found = sorted(&table, expected.iter().rev().cloned()).await;
    assert_eq!(found, expected.map(Value::from));
}

async fn sort_numbers(t: &Fixture, ascending: &[&str]) {
    let table = t.sorted_by(Kind::N).await;
    let numbers: Vec<Number> = ascending.iter().map(|text| n(text)).collect();
    // Neither ascending nor descending, so that order is the store's doing.
    let (even, odd): (Vec<_>, Vec<_>) = numbers.iter().enumerate().partition(|(i, _)| i % 2 == 0);
    let shuffled = odd.into_iter().rev().chain(even).map(|(_, number)| *number);
    let found = sorted(&table, shuffled).await;
    assert_eq!(found, numbers.into_iter().map(Value::N).collect::<Vec<_>>());
}

async fn numbers_sort_by_value(t: &Fixture) {
    sort_numbers(
        t,
        &[
            "-100", "-99.5", "-10", "-9", "-1", "-0.5", "-0.05", "0", "0.05", "0.5", "1", "9",
            "10", "99.5", "100",
        ],
    )
    .await;
}

async fn numbers_of_38_digits_sort_exactly(t: &Fixture) {
    sort_numbers(
        t,
        &[
            "-12345678901234567890123456789012345679",
            "-12345678901234567890123456789012345678",
            "0.12345678901234567890123456789012345678",
            "0.12345678901234567890123456789012345679",
            "1.2345678901234567890123456789012345678",
            "12345678901234567890123456789012345677",
            "12345678901234567890123456789012345678",
            "12345678901234567890123456789012345679",
        ],
    )
    .await;
}

async fn tiny_and_huge_numbers_sort_by_value(t: &Fixture) {
    sort_numbers(
        t,
        &[
            "-9E125", "-1E125", "-1E10", "-1E-10", "-1E-130", "0", "1E-130", "2E-130", "1E-10",
            "1E10", "1E125", "9.99E125",
        ],
    )
    .await;
}

async fn a_number_range_counts_by_value(t: &Fixture) {
    let table = t.sorted_by(Kind::N).await;
    sorted(&table, [-20, -3, -1, 0, 1, 3, 10, 20]).await;
    let found = async |range| {
        let found = table.all(&table.partition("a").sort(range)).await;
        found.iter().map(|item| item.i64("sk").unwrap()).collect::<Vec<_>>()
    };
    let k = |number: i64| KeyValue::from(number);
    assert_eq!(found(SortRange::Lt(k(-1))).await, [-20, -3]);
    assert_eq!(found(SortRange::Ge(k(3))).await, [3, 10, 20]);
    assert_eq!(found(SortRange::Between(k(-3), k(3))).await, [-3, -1, 0, 1, 3]);
    assert_eq!(found(SortRange::Gt(n("2.99").into())).await, [3, 10, 20]);
    assert_eq!(found(SortRange::Eq(n("10.0").into())).await, [10]);
}

async fn begins_with_stops_at_the_next_character(t: &Fixture) {
    let items = t.items().await;
    items.fill(["a", "a#", "a#1", "a#2", "a$", "b#"].map(|sk| row("p", sk))).await;
    assert_eq!(items.sorts(&items.partition("p").begins_with("a#")).await, ["a#", "a#1", "a#2"]);
    assert_eq!(items.sorts(&items.partition("p").begins_with("a#3")).await, [""; 0]);
    let reversed = items.partition("p").begins_with("a").reverse();
    assert_eq!(items.sorts(&reversed).await, ["a$", "a#2", "a#1", "a#", "a"]);
}

async fn begins_with_reaches_past_bytes_of_0xff(t: &Fixture) {
    let table = t.sorted_by(Kind::B).await;
    let all =
        [vec![0xFE, 0xFF], vec![0xFF], vec![0xFF, 0x00], vec![0xFF, 0xFF], vec![0xFF, 0xFF, 1]];
    sorted(&table, all.clone()).await;
    let found = async |prefix: Vec<u8>| {
        let found = table.all(&table.partition("a").begins_with(prefix)).await;
        found.iter().map(|item| item.get("sk").unwrap().clone()).collect::<Vec<_>>()
    };
    assert_eq!(found(vec![0xFF]).await, all[1..].iter().cloned().map(Value::B).collect::<Vec<_>>());
    assert_eq!(found(vec![0xFF, 0xFF]).await, [Value::B(all[3].clone()), Value::B(all[4].clone())]);
    assert_eq!(found(vec![0xFE]).await, [Value::B(all[0].clone())]);
}

async fn begins_with_matches_multi_byte_characters(t: &Fixture) {
    let items = t.items().await;
    items.fill(["é", "éa", "ê", "🦀", "🦀1", "e"].map(|sk| row("p", sk))).await;
    assert_eq!(items.sorts(&items.partition("p").begins_with("é")).await, ["é", "éa"]);
    assert_eq!(items.sorts(&items.partition("p").begins_with("🦀")).await, ["🦀", "🦀1"]);
}

async fn texts_with_a_zero_byte_keep_their_order(t: &Fixture) {
    let table = t.sorted_by(Kind::S).await;
    let expected = ["\0", "\0\0", "\0a", "a", "a\0", "a\0a", "a\u{1}", "aa"];
    assert_eq!(sorted(&table, expected.into_iter().rev()).await, expected.map(Value::from));
}

async fn index_sort_keys_order_numbers_by_value(t: &Fixture) {
    let orders = t.orders().await;
    let values = ["-10", "-9.5", "-1", "0", "0.25", "2", "10", "1E20"];
    let item = |(i, text): (usize, &&str)| {
        row("p", &format!("{}", values.len() - i)).with("owner", "ada").with("at", n(text))
    };
    orders.fill(values.iter().enumerate().map(item)).await;
    let query = orders.partition("ada").index("by-owner");
    let expected: Vec<Value> = values.iter().map(|text| n(text).into()).collect();
    crate::fixture::eventually(expected, async || {
        orders.all(&query).await.iter().map(|item| item.get("at").unwrap().clone()).collect()
    })
    .await;
}
