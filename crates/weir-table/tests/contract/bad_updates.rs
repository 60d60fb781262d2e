//! Updates that are wrong, or turn out wrong at the item: the error names the path and the item stays.

use weir_table::expr::{Path, Term, Update, add, attr, delete_from, remove, set};
use weir_table::{Item, Value, Write};

use crate::fixture::{Fixture, key, n, row};

contract! {
    a_key_attribute_cannot_be_updated,
    overlapping_paths_are_refused,
    add_takes_a_number_or_a_set,
    delete_takes_a_set,
    adding_to_a_text_is_refused,
    adding_a_number_to_a_set_is_refused,
    adding_a_set_of_another_kind_is_refused,
    deleting_from_what_is_no_set_is_refused,
    setting_from_a_missing_attribute_is_refused,
    arithmetic_on_a_text_is_refused,
    arithmetic_with_a_given_text_is_refused,
    appending_to_what_is_no_list_is_refused,
    a_path_into_nothing_is_refused,
    a_path_into_another_kind_is_refused,
    a_sum_of_39_digits_is_refused,
    a_sum_out_of_range_is_refused,
    a_refused_condition_comes_before_a_wrong_update,
    a_wrong_update_makes_no_item,
}

fn before() -> Item {
    row("a", "1")
        .with("s", "text")
        .with("n", 5)
        .with("ss", Value::strings(["x"]))
        .with("l", Value::list([1]))
        .with("m", Value::map([("x", 1)]))
        .with("max", n("99999999999999999999999999999999999999"))
        .with("huge", n("9E125"))
}

/// Asserts that `update` is refused, alone and in a transaction, naming `field`; nothing changes.
async fn refused(t: &Fixture, update: Update, field: &str) {
    let items = t.items().await;
    items.put(before()).await;
    assert_eq!(items.update_fault(key("a", "1"), update.clone()).await, field);
    let other = Write::put("items", row("a", "2"));
    let write = Write::update("items", key("a", "1"), update);
    assert_eq!(t.transact_fault([other, write]).await, field);
    assert_eq!(items.all(&items.partition("a")).await, [before()]);
}

async fn a_key_attribute_cannot_be_updated(t: &Fixture) {
    refused(t, set("pk", "b"), "pk").await;
    refused(t, set("v", 1).remove("sk"), "sk").await;
}

async fn overlapping_paths_are_refused(t: &Fixture) {
    refused(t, set("m", 1).set(Path::new("m").field("x"), 2), "m").await;
    refused(t, add("n", 1).remove("n"), "n").await;
    refused(t, remove(Path::new("l").element(0)).set(Path::new("l").element(0), 1), "l[0]").await;
}

async fn add_takes_a_number_or_a_set(t: &Fixture) {
    refused(t, add("n", "5"), "n").await;
    refused(t, add("l", Value::list([2])), "l").await;
}

async fn delete_takes_a_set(t: &Fixture) {
    refused(t, delete_from("ss", "x"), "ss").await;
    refused(t, delete_from("n", 5), "n").await;
}

async fn adding_to_a_text_is_refused(t: &Fixture) {
    refused(t, add("s", 1), "s").await;
}

async fn adding_a_number_to_a_set_is_refused(t: &Fixture) {
    refused(t, add("ss", 1), "ss").await;
}

async fn adding_a_set_of_another_kind_is_refused(t: &Fixture) {
    refused(t, add("ss", Value::numbers([1])), "ss").await;
    refused(t, add("n", Value::numbers([1])), "n").await;
}

async fn deleting_from_what_is_no_set_is_refused(t: &Fixture) {
    refused(t, delete_from("s", Value::strings(["x"])), "s").await;
    refused(t, delete_from("ss", Value::numbers([1])), "ss").await;
}

async fn setting_from_a_missing_attribute_is_refused(t: &Fixture) {
    refused(t, set("copy", Term::path("gone")), "gone").await;
    refused(t, set("n", Term::path("gone").plus(1)), "gone").await;
    let deep = Path::new("m").field("gone");
    refused(t, set("copy", Term::path(deep)), "m.gone").await;
}

async fn arithmetic_on_a_text_is_refused(t: &Fixture) {
    refused(t, set("n", Term::path("s").plus(1)), "n").await;
    refused(t, set("n", Term::path("n").minus(Term::path("ss"))), "n").await;
}

async fn arithmetic_with_a_given_text_is_refused(t: &Fixture) {
    refused(t, set("n", Term::path("n").plus("1")), "n").await;
}

async fn appending_to_what_is_no_list_is_refused(t: &Fixture) {
    refused(t, set("s", Term::path("s").append(Value::list([1]))), "s").await;
    refused(t, set("l", Term::path("l").append("x")), "l").await;
}

async fn a_path_into_nothing_is_refused(t: &Fixture) {
    refused(t, set(Path::new("gone").field("x"), 1), "gone.x").await;
    refused(t, set(Path::new("m").field("gone").field("x"), 1), "m.gone.x").await;
    refused(t, add(Path::new("gone").field("x"), 1), "gone.x").await;
    refused(t, set(Path::new("gone").element(0), 1), "gone[0]").await;
    refused(t, remove(Path::new("gone").field("x")), "gone.x").await;
    let elements = Value::strings(["x"]);
    refused(t, delete_from(Path::new("gone").field("x"), elements), "gone.x").await;
}

async fn a_path_into_another_kind_is_refused(t: &Fixture) {
    refused(t, set(Path::new("s").field("x"), 1), "s.x").await;
    refused(t, set(Path::new("m").element(0), 1), "m[0]").await;
    refused(t, set(Path::new("l").field("x"), 1), "l.x").await;
    refused(t, remove(Path::new("s").field("x")), "s.x").await;
}

async fn a_sum_of_39_digits_is_refused(t: &Fixture) {
    refused(t, add("max", n("0.1")), "max").await;
    refused(t, set("n", Term::path("max").plus(n("0.5"))), "n").await;
}

async fn a_sum_out_of_range_is_refused(t: &Fixture) {
    refused(t, add("huge", n("9E125")), "huge").await;
}

async fn a_refused_condition_comes_before_a_wrong_update(t: &Fixture) {
    let items = t.items().await;
    items.put(before()).await;
    let written = items.update_when(key("a", "1"), add("s", 1), attr("n").gt(5)).await;
    assert!(!written.is_applied());
    assert_eq!(written.item(), Some(&before()));
}

async fn a_wrong_update_makes_no_item(t: &Fixture) {
    let items = t.items().await;
    let field = items.update_fault(key("a", "1"), set("v", Term::path("gone"))).await;
    assert_eq!(field, "gone");
    assert_eq!(items.all(&items.scan()).await, []);
}
