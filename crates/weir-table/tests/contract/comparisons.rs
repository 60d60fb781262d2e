//! How values compare, as a write's condition and as a filter alike.

use weir_table::Value;
use weir_table::expr::{Condition, Operand, attr};

use crate::fixture::{Fixture, key, n, row};

contract! {
    equality_is_by_kind_and_value,
    equal_numbers_are_equal_in_every_notation,
    lists_maps_and_sets_are_compared_whole,
    what_is_missing_differs_from_everything,
    what_is_missing_is_in_no_order,
    kinds_that_differ_are_in_no_order,
    numbers_are_ordered_by_value,
    texts_are_ordered_by_their_bytes,
    byte_strings_are_ordered_as_unsigned_bytes,
    between_includes_both_ends,
    in_holds_for_any_of_its_values,
    two_attributes_can_be_compared,
    a_given_value_may_stand_on_the_left,
    and_or_and_not_nest,
}

async fn equality_is_by_kind_and_value(t: &Fixture) {
    let items = t.items().await;
    items
        .put(row("a", "1").with("n", 5).with("s", "5").with("b", b"5".to_vec()).with("t", true))
        .await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("n").eq(5)).await);
    assert!(!holds(attr("n").eq("5")).await);
    assert!(holds(attr("n").ne("5")).await);
    assert!(holds(attr("s").eq("5")).await);
    assert!(!holds(attr("s").eq(b"5".to_vec())).await);
    assert!(holds(attr("b").eq(b"5".to_vec())).await);
    assert!(holds(attr("t").eq(true)).await);
    assert!(holds(attr("t").ne(false)).await);
}

async fn equal_numbers_are_equal_in_every_notation(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("n", n("120")).with("z", n("-0.0"))).await;
    for same in ["120.00", "1.2e2", "0012E1"] {
        assert!(items.holds(key("a", "1"), attr("n").eq(n(same))).await);
    }
    assert!(items.holds(key("a", "1"), attr("z").eq(0)).await);
}

async fn lists_maps_and_sets_are_compared_whole(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1")
        .with("l", Value::list([1, 2]))
        .with("m", Value::map([("x", 1), ("y", 2)]))
        .with("ss", Value::strings(["b", "a"]));
    items.put(item).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("l").eq(Value::list([1, 2]))).await);
    assert!(!holds(attr("l").eq(Value::list([2, 1]))).await);
    assert!(holds(attr("m").eq(Value::map([("y", 2), ("x", 1)]))).await);
    assert!(holds(attr("m").ne(Value::map([("x", 1)]))).await);
    assert!(holds(attr("ss").eq(Value::strings(["a", "b"]))).await);
    assert!(!holds(attr("ss").eq(Value::strings(["a", "b", "c"]))).await);
}

async fn what_is_missing_differs_from_everything(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1)).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("gone").ne(1)).await);
    assert!(!holds(attr("gone").eq(1)).await);
    assert!(!holds(attr("gone").is_in([1, 2])).await);
    assert!(holds(!attr("gone").eq(1)).await);
}

async fn what_is_missing_is_in_no_order(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1)).await;
    let gone = || attr("gone");
    for condition in [gone().lt(1), gone().le(1), gone().gt(1), gone().ge(1), gone().between(0, 9)]
    {
        assert!(!items.holds(key("a", "1"), condition.clone()).await);
        assert!(items.holds(key("a", "1"), !condition).await);
    }
}

async fn kinds_that_differ_are_in_no_order(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("n", 5).with("s", "5")).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(!holds(attr("s").lt(6)).await);
    assert!(!holds(attr("s").gt(4)).await);
    assert!(!holds(attr("n").gt("0")).await);
    assert!(!holds(attr("n").between("0", "9")).await);
    assert!(!holds(attr("n").le(attr("s"))).await);
}

async fn numbers_are_ordered_by_value(t: &Fixture) {
    let items = t.items().await;
    let large = "12345678901234567890123456789012345678";
    items.put(row("a", "1").with("n", 10).with("neg", n("-0.5")).with("large", n(large))).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("n").gt(9)).await);
    assert!(holds(attr("n").lt(n("10.0000000001"))).await);
    assert!(holds(attr("n").ge(10).and(attr("n").le(10))).await);
    assert!(holds(attr("neg").gt(-1).and(attr("neg").lt(0))).await);
    assert!(holds(attr("large").gt(n("12345678901234567890123456789012345677"))).await);
    assert!(!holds(attr("large").gt(n(large))).await);
}

async fn texts_are_ordered_by_their_bytes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("s", "b").with("wide", "\u{FFFD}")).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("s").gt("aaa")).await);
    assert!(holds(attr("s").gt("B")).await);
    assert!(holds(attr("s").lt("bb")).await);
    assert!(holds(attr("s").gt("")).await);
    // By UTF-16 units, as some languages order, the crab would come first.
    assert!(holds(attr("wide").lt("🦀")).await);
}

async fn byte_strings_are_ordered_as_unsigned_bytes(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("b", vec![0x80])).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("b").gt(vec![0x7F, 0xFF])).await);
    assert!(holds(attr("b").lt(vec![0x80, 0x00])).await);
    assert!(holds(attr("b").lt(vec![0xFF])).await);
}

async fn between_includes_both_ends(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("n", 5).with("s", "m")).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("n").between(5, 9)).await);
    assert!(holds(attr("n").between(1, 5)).await);
    assert!(holds(attr("n").between(5, 5)).await);
    assert!(!holds(attr("n").between(6, 9)).await);
    assert!(holds(attr("s").between("m", "z")).await);
    assert!(!holds(attr("s").between("ma", "z")).await);
}

async fn in_holds_for_any_of_its_values(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("n", 5).with("l", Value::list([1]))).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("n").is_in([4, 5])).await);
    assert!(holds(attr("n").is_in(0..100)).await);
    assert!(!holds(attr("n").is_in([4, 6])).await);
    assert!(!holds(attr("n").is_in(["5"])).await);
    assert!(holds(attr("l").is_in([Value::list([2]), Value::list([1])])).await);
}

async fn two_attributes_can_be_compared(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("used", 3).with("quota", 5)).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(attr("used").lt(attr("quota"))).await);
    assert!(holds(attr("quota").ne(attr("used"))).await);
    assert!(!holds(attr("used").eq(attr("quota"))).await);
    assert!(holds(attr("used").between(0, attr("quota"))).await);
}

async fn a_given_value_may_stand_on_the_left(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("low", 1).with("high", 9)).await;
    let holds = async |condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(Operand::from(5).between(attr("low"), attr("high"))).await);
    assert!(holds(Operand::from(5).gt(attr("low"))).await);
    assert!(!holds(Operand::from(5).gt(attr("high"))).await);
    assert!(holds(Operand::from(9).is_in([attr("low"), attr("high")])).await);
}

async fn and_or_and_not_nest(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("yes", true).with("no", false)).await;
    let yes = || attr("yes").eq(true);
    let no = || attr("no").eq(true);
    let holds = async |condition: Condition| items.holds(key("a", "1"), condition).await;
    assert!(holds(yes().or(no().and(no()))).await);
    assert!(!holds(yes().or(no()).and(no())).await);
    assert!(holds(!(yes().and(no()))).await);
    assert!(holds((!no()).and(!(no().or(no())))).await);
    assert!(!holds(!(!no())).await);
    assert!(holds(no().or(no()).or(yes())).await);
}
