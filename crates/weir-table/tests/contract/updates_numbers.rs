//! Updates that set, remove and count.

use weir_table::expr::{Term, Update, add, attr, remove, set, set_if_absent};
use weir_table::{IndexSpec, Item, Key, Kind, Query, TableSpec, Value, Write, Written};

use crate::fixture::{Fixture, eventually, key, n, row};

contract! {
    adding_to_a_missing_attribute_starts_from_zero,
    an_update_returns_the_new_item,
    an_update_makes_an_item_that_is_missing,
    an_empty_update_makes_an_item_of_its_key,
    adding_a_negative_number_subtracts,
    sums_of_decimals_are_exact,
    sums_keep_38_digits,
    set_computes_sums_and_differences,
    set_counts_from_a_default,
    terms_read_the_item_before_the_update,
    set_if_absent_keeps_an_existing_value,
    set_may_change_the_kind,
    set_copies_another_attribute,
    set_copies_a_key_attribute,
    removing_a_missing_attribute_changes_nothing,
    many_changes_apply_together,
    an_update_keeps_other_attributes,
    a_conditional_update_returns_the_new_item,
    an_update_that_changes_nothing_is_applied,
    counting_to_zero_keeps_the_attribute,
    a_counter_in_a_table_without_sort_key_counts,
    an_update_returns_the_selected_attributes_and_keeps_the_rest,
    an_update_of_a_projected_attribute_reaches_the_index,
    updates_of_the_same_attributes_reach_an_index_that_projects_some,
}

async fn adding_to_a_missing_attribute_starts_from_zero(t: &Fixture) {
    let items = t.items().await;
    let new = items.update(key("a", "1"), add("count", 5)).await;
    assert_eq!(new, row("a", "1").with("count", 5));
    assert_eq!(items.get(key("a", "1")).await, Some(new));
}

async fn an_update_returns_the_new_item(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("kept", "x").with("count", 1)).await;
    let new = items.update(key("a", "1"), add("count", 2)).await;
    assert_eq!(new, row("a", "1").with("kept", "x").with("count", 3));
}

async fn an_update_makes_an_item_that_is_missing(t: &Fixture) {
    let items = t.items().await;
    let new = items.update(key("a", "1"), set("v", "made")).await;
    assert_eq!(new, row("a", "1").with("v", "made"));
    assert_eq!(items.all(&items.scan()).await, [new]);
}

async fn an_empty_update_makes_an_item_of_its_key(t: &Fixture) {
    let items = t.items().await;
    assert_eq!(items.update(key("a", "1"), Update::default()).await, row("a", "1"));
    assert_eq!(items.get(key("a", "1")).await, Some(row("a", "1")));
}

async fn adding_a_negative_number_subtracts(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("tokens", 10)).await;
    let new = items.update(key("a", "1"), add("tokens", -13)).await;
    assert_eq!(new.i64("tokens"), Some(-3));
}

async fn sums_of_decimals_are_exact(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("usd", n("0.1"))).await;
    let new = items.update(key("a", "1"), add("usd", n("0.2"))).await;
    assert_eq!(new.get("usd"), Some(&n("0.3").into()));
}

async fn sums_keep_38_digits(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("n", n("99999999999999999999999999999999999998"))).await;
    let new = items.update(key("a", "1"), add("n", 1)).await;
    assert_eq!(new.get("n"), Some(&n("99999999999999999999999999999999999999").into()));
    let new = items.update(key("a", "1"), set("n", Term::path("n").minus(n("1e37")))).await;
    assert_eq!(new.get("n"), Some(&n("89999999999999999999999999999999999999").into()));
}

async fn set_computes_sums_and_differences(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("x", 10).with("y", 4)).await;
    let update = set("sum", Term::path("x").plus(Term::path("y")))
        .set("difference", Term::path("x").minus(Term::path("y")))
        .set("x", Term::path("x").plus(1))
        .set("y", Term::from(1).minus(Term::path("y")));
    let new = items.update(key("a", "1"), update).await;
    let expected = row("a", "1").with("x", 11).with("y", -3).with("sum", 14).with("difference", 6);
    assert_eq!(new, expected);
}

async fn set_counts_from_a_default(t: &Fixture) {
    let items = t.items().await;
    let update = || set("left", Term::path_or("left", 100).minus(7));
    assert_eq!(items.update(key("a", "1"), update()).await.i64("left"), Some(93));
    assert_eq!(items.update(key("a", "1"), update()).await.i64("left"), Some(86));
}

async fn terms_read_the_item_before_the_update(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("x", "was x").with("y", "was y").with("z", 1)).await;
    let update = set("x", Term::path("y"))
        .set("y", Term::path("x"))
        .set("z_before", Term::path("z"))
        .remove("z");
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(new, row("a", "1").with("x", "was y").with("y", "was x").with("z_before", 1));
}

async fn set_if_absent_keeps_an_existing_value(t: &Fixture) {
    let items = t.items().await;
    let update = |v: &str| set_if_absent("first", v).set("last", v);
    items.update(key("a", "1"), update("one")).await;
    let new = items.update(key("a", "1"), update("two")).await;
    assert_eq!(new, row("a", "1").with("first", "one").with("last", "two"));
}

async fn set_may_change_the_kind(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1)).await;
    let new = items.update(key("a", "1"), set("v", Value::strings(["x"]))).await;
    assert_eq!(new, row("a", "1").with("v", Value::strings(["x"])));
}

async fn set_copies_another_attribute(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", Value::map([("x", 1)]))).await;
    let new = items.update(key("a", "1"), set("copy", Term::path("v"))).await;
    assert_eq!(new.get("copy"), Some(&Value::map([("x", 1)])));
}

async fn set_copies_a_key_attribute(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    let new = items.update(key("a", "1"), set("copy", Term::path("sk"))).await;
    assert_eq!(new, row("a", "1").with("copy", "1"));
    let made = items.update(key("a", "2"), set("copy", Term::path_or("gone", "none"))).await;
    assert_eq!(made, row("a", "2").with("copy", "none"));
}

async fn removing_a_missing_attribute_changes_nothing(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1).with("w", 2)).await;
    let new = items.update(key("a", "1"), remove("gone").remove("w")).await;
    assert_eq!(new, row("a", "1").with("v", 1));
}

async fn many_changes_apply_together(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("gone", 1).with("set", Value::strings(["x", "y"]))).await;
    let update = set("s", "text")
        .add("n", 3)
        .remove("gone")
        .delete_from("set", Value::strings(["x"]))
        .set_if_absent("made", true);
    let new = items.update(key("a", "1"), update).await;
    let expected = row("a", "1")
        .with("s", "text")
        .with("n", 3)
        .with("set", Value::strings(["y"]))
        .with("made", true);
    assert_eq!(new, expected);
}

async fn an_update_keeps_other_attributes(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("m", Value::map([("x", 1)])).with("b", vec![1, 2]);
    items.put(item.clone()).await;
    items.update(key("a", "1"), add("count", 1)).await;
    assert_eq!(items.get(key("a", "1")).await, Some(item.with("count", 1)));
}

async fn a_conditional_update_returns_the_new_item(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("tokens", 10)).await;
    let written = items.update_when(key("a", "1"), add("tokens", -4), attr("tokens").ge(4)).await;
    assert_eq!(written, Written::Applied(Some(row("a", "1").with("tokens", 6))));
}

async fn an_update_that_changes_nothing_is_applied(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1)).await;
    assert_eq!(items.update(key("a", "1"), set("v", 1)).await, row("a", "1").with("v", 1));
    assert_eq!(items.update(key("a", "1"), add("v", 0)).await, row("a", "1").with("v", 1));
}

async fn counting_to_zero_keeps_the_attribute(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", n("2.5"))).await;
    let new = items.update(key("a", "1"), add("v", n("-2.50"))).await;
    assert_eq!(new, row("a", "1").with("v", 0));
}

async fn a_counter_in_a_table_without_sort_key_counts(t: &Fixture) {
    let singles = t.singles().await;
    for expected in 1..=3 {
        let new = singles.update(Key::partition("a"), add("count", 1)).await;
        assert_eq!(new.i64("count"), Some(expected));
    }
}

/// The same item again and again, by writes that read different attributes of it.
async fn an_update_returns_the_selected_attributes_and_keeps_the_rest(t: &Fixture) {
    let items = t.items().await;
    let returned = |name: &str| matches!(name, "count" | "text");
    let first = row("a", "1").with("count", 1).with("text", "x").with("kept", "y").with("left", 9);
    items.put(first).await;
    for round in 1..=4 {
        let counted = Write::update("items", key("a", "1"), add("count", 1))
            .when(attr("left").ge(9 - 2 * (round - 1)).and(attr("text").eq("x")))
            .returning(returned);
        let written = t.store.write(counted).await.unwrap();
        assert!(written.is_applied(), "{written:?}");
        let item = written.item().unwrap();
        assert_eq!((item.i64("count"), item.s("text")), (Some(1 + round), Some("x")));
        // This one reads and changes what the other has not told.
        let change = add("left", -2).set("made", Term::path("kept")).remove("gone");
        let new = items.update(key("a", "1"), change).await;
        let whole = row("a", "1").with("count", 1 + round).with("text", "x").with("kept", "y");
        let whole = whole.with("left", 9 - 2 * round).with("made", "y");
        assert_eq!(new, whole);
        assert_eq!(items.get(key("a", "1")).await, Some(whole.clone()));
        let refused = Write::update("items", key("a", "1"), add("count", 1))
            .when(attr("count").eq(0))
            .returning(returned);
        assert_eq!(t.store.write(refused).await.unwrap(), Written::Refused(Some(whole)));
    }
}

async fn an_update_of_a_projected_attribute_reaches_the_index(t: &Fixture) {
    let orders = t.orders().await;
    let one = row("a", "1").with("price", 1);
    orders.put(one.clone()).await;
    let returned = |name: &str| name == "price";
    let raise = || Write::update("orders", key("a", "1"), add("price", 1)).returning(returned);
    t.store.write(raise()).await.unwrap();
    // Not in the index until it has the keys of it.
    let listed = one.with("owner", "me").with("at", 1);
    orders.update(key("a", "1"), set("owner", "me").set("at", 1)).await;
    t.store.write(raise()).await.unwrap();
    let mine = Query::partition("orders", "me").index("by-owner");
    eventually(vec![listed.with("price", 3)], async || orders.all(&mine).await).await;
}

/// Both name the same attributes, but only one changes what the index holds.
async fn updates_of_the_same_attributes_reach_an_index_that_projects_some(t: &Fixture) {
    let index = IndexSpec::new("by-group", "group").include(["held", "also"]);
    let spec = TableSpec::new("held", "pk", Kind::S).attribute("group", Kind::S).index(index);
    let table = t.table("held", spec).await;
    let pk = || Key::partition("a");
    let item = Item::new().with("pk", "a").with("group", "g").with("also", "kept");
    table.put(item.clone().with("held", 0).with("other", 0)).await;
    let of_group = Query::partition("held", "g").index("by-group");
    for round in 1..=3 {
        let is_there = || attr("pk").eq("a").and(attr("group").exists());
        let before = is_there().and(attr("held").eq(round - 1));
        let other = Write::update("held", pk(), add("other", 1)).when(before);
        assert!(t.store.write(other).await.unwrap().is_applied());
        let before = is_there().and(attr("other").eq(round));
        let held = Write::update("held", pk(), add("held", 1)).when(before);
        assert!(t.store.write(held).await.unwrap().is_applied());
        let expected = vec![item.clone().with("held", round)];
        eventually(expected, async || table.all(&of_group).await).await;
    }
}
