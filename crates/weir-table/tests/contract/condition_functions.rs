//! The functions of conditions: begins_with, contains, kinds, sizes and existence.

use weir_table::expr::{attr, size};
use weir_table::{Kind, Value};

use crate::fixture::{Fixture, byte_set, key, n, row};

contract! {
    begins_with_matches_text,
    begins_with_matches_bytes,
    contains_looks_into_text_sets_and_lists,
    contains_finds_bytes_in_bytes,
    a_condition_may_check_the_kind,
    size_counts_by_kind,
    sizes_can_be_compared_with_each_other,
    a_size_can_be_between_two_numbers,
    a_size_is_a_number_and_equals_no_text,
    the_size_of_a_text_is_its_utf16_units,
    values_without_a_size_never_compare,
    exists_and_absent_are_opposites_and_null_exists,
}

async fn begins_with_matches_text(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("s", "apple").with("n", 12)).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("s").begins_with("app")).await);
    assert!(holds(attr("s").begins_with("apple")).await);
    assert!(!holds(attr("s").begins_with("apples")).await);
    assert!(!holds(attr("n").begins_with("1")).await);
    assert!(!holds(attr("gone").begins_with("a")).await);
}

async fn begins_with_matches_bytes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("b", vec![1, 2, 3])).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("b").begins_with(vec![1, 2])).await);
    assert!(!holds(attr("b").begins_with(vec![2])).await);
}

async fn contains_looks_into_text_sets_and_lists(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1")
        .with("s", "apple")
        .with("ss", Value::strings(["red", "green"]))
        .with("ns", Value::numbers([1, 2]))
        .with("bs", byte_set([b"x"]))
        .with("l", Value::L(vec!["x".into(), 5.into(), Value::list([1])]));
    items.put(item).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("s").contains("ppl")).await);
    assert!(!holds(attr("s").contains("plp")).await);
    assert!(holds(attr("ss").contains("red")).await);
    assert!(!holds(attr("ss").contains("re")).await);
    assert!(holds(attr("ns").contains(n("2.0"))).await);
    assert!(holds(attr("bs").contains(b"x".to_vec())).await);
    assert!(holds(attr("l").contains(5)).await);
    assert!(holds(attr("l").contains(Value::list([1]))).await);
    assert!(!holds(attr("l").contains("5")).await);
}

async fn contains_finds_bytes_in_bytes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("b", vec![1, 2, 3])).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("b").contains(vec![2, 3])).await);
    assert!(!holds(attr("b").contains(vec![3, 2])).await);
}

async fn a_condition_may_check_the_kind(t: &Fixture) {
    let items = t.items().await;
    let kinds: [(&str, Kind, Value); 10] = [
        ("s", Kind::S, "".into()),
        ("n", Kind::N, 0.into()),
        ("b", Kind::B, Vec::new().into()),
        ("bool", Kind::Bool, false.into()),
        ("null", Kind::Null, Value::Null),
        ("l", Kind::L, Value::L(Vec::new())),
        ("m", Kind::M, Value::map([("x", 1)])),
        ("ss", Kind::Ss, Value::strings(["x"])),
        ("ns", Kind::Ns, Value::numbers([1])),
        ("bs", Kind::Bs, byte_set([b"x"])),
    ];
    let item = kinds.iter().fold(row("a", "1"), |item, (name, _, v)| item.with(*name, v.clone()));
    items.put(item).await;
    for (name, kind, _) in &kinds {
        assert!(items.holds(key("a", "1"), attr(*name).is_kind(*kind)).await, "{kind}");
    }
    assert!(!items.holds(key("a", "1"), attr("s").is_kind(Kind::B)).await);
    assert!(!items.holds(key("a", "1"), attr("gone").is_kind(Kind::Null)).await);
}

async fn size_counts_by_kind(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1")
        .with("s", "four")
        .with("b", vec![0; 7])
        .with("l", Value::list([1, 2, 3]))
        .with("m", Value::map([("x", 1), ("y", 2)]))
        .with("ss", Value::strings(["long text", "b"]));
    items.put(item).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(size("s").eq(4)).await);
    assert!(holds(size("b").eq(7)).await);
    assert!(holds(size("l").eq(3)).await);
    assert!(holds(size("m").eq(2)).await);
    assert!(holds(size("ss").eq(2)).await);
    assert!(!holds(size("gone").ge(0)).await);
}

async fn sizes_can_be_compared_with_each_other(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([1, 2])).with("s", "x")).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(size("l").gt(size("s"))).await);
    assert!(holds(size("l").eq(size("l"))).await);
}

async fn a_size_can_be_between_two_numbers(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("s", "four")).await;
    assert!(items.holds(key("a", "1"), size("s").between(1, 4)).await);
    assert!(!items.holds(key("a", "1"), size("s").between(5, 9)).await);
}

async fn a_size_is_a_number_and_equals_no_text(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("s", "four")).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(!holds(size("s").eq("4")).await);
    assert!(holds(size("s").ne("4")).await);
    assert!(!holds(size("s").lt("5")).await);
}

async fn the_size_of_a_text_is_its_utf16_units(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("s", "añ🦀")).await;
    assert!(items.holds(key("a", "1"), size("s").eq(4)).await);
}

async fn values_without_a_size_never_compare(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("n", 5).with("t", true)).await;
    assert!(!items.holds(key("a", "1"), size("n").ge(0)).await);
    assert!(!items.holds(key("a", "1"), size("t").ge(0)).await);
}

async fn exists_and_absent_are_opposites_and_null_exists(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("null", Value::Null)).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("null").exists()).await);
    assert!(!holds(attr("null").absent()).await);
    assert!(holds(attr("gone").absent()).await);
    assert!(!holds(attr("gone").exists()).await);
    assert!(holds(attr("null").eq(Value::Null)).await);
}
