//! Updates of sets and lists.

use weir_table::Value;
use weir_table::expr::{Path, Term, add, attr, delete_from, remove, set};

use crate::fixture::{Fixture, byte_set, key, n, row};

contract! {
    adding_to_a_missing_set_makes_it,
    adding_to_a_set_merges,
    adding_what_the_set_has_changes_nothing,
    number_and_byte_sets_merge_by_value,
    deleting_elements_leaves_the_rest,
    deleting_the_last_element_removes_the_set,
    deleting_from_a_missing_set_changes_nothing,
    deleting_elements_that_are_not_there_changes_nothing,
    append_adds_to_either_end_of_a_list,
    append_starts_a_list_that_is_missing,
    set_replaces_an_element,
    setting_past_the_end_appends,
    several_elements_set_past_the_end_append_in_order,
    removed_elements_are_those_of_the_old_list,
    removing_past_the_end_changes_nothing,
    removing_every_element_leaves_an_empty_list,
    elements_are_set_and_removed_together,
    a_member_is_added_once_by_condition,
}

async fn adding_to_a_missing_set_makes_it(t: &Fixture) {
    let items = t.items().await;
    let new = items.update(key("a", "1"), add("tags", Value::strings(["x"]))).await;
    assert_eq!(new, row("a", "1").with("tags", Value::strings(["x"])));
}

async fn adding_to_a_set_merges(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("tags", Value::strings(["x", "y"]))).await;
    let new = items.update(key("a", "1"), add("tags", Value::strings(["y", "z"]))).await;
    assert_eq!(new.get("tags"), Some(&Value::strings(["x", "y", "z"])));
}

async fn adding_what_the_set_has_changes_nothing(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("tags", Value::strings(["x", "y"]));
    items.put(item.clone()).await;
    assert_eq!(items.update(key("a", "1"), add("tags", Value::strings(["x"]))).await, item);
}

async fn number_and_byte_sets_merge_by_value(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("ns", Value::numbers([1, 2])).with("bs", byte_set([b"x"]))).await;
    let update = add("ns", Value::Ns([n("2.00"), n("3")].into())).add("bs", byte_set([b"x", b"y"]));
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(new.get("ns"), Some(&Value::numbers([1, 2, 3])));
    assert_eq!(new.get("bs"), Some(&byte_set([b"x", b"y"])));
}

async fn deleting_elements_leaves_the_rest(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1")
        .with("ss", Value::strings(["x", "y", "z"]))
        .with("ns", Value::numbers([1, 2]));
    items.put(item).await;
    let update = delete_from("ss", Value::strings(["x", "z", "other"]))
        .delete_from("ns", Value::Ns([n("1.0")].into()));
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(
        new,
        row("a", "1").with("ss", Value::strings(["y"])).with("ns", Value::numbers([2]))
    );
}

async fn deleting_the_last_element_removes_the_set(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("ss", Value::strings(["x", "y"]))).await;
    let update = delete_from("ss", Value::strings(["y", "x"]));
    assert_eq!(items.update(key("a", "1"), update).await, row("a", "1"));
}

async fn deleting_from_a_missing_set_changes_nothing(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("v", 1)).await;
    let new = items.update(key("a", "1"), delete_from("gone", Value::strings(["x"]))).await;
    assert_eq!(new, row("a", "1").with("v", 1));
}

async fn deleting_elements_that_are_not_there_changes_nothing(t: &Fixture) {
    let items = t.items().await;
    let item = row("a", "1").with("ss", Value::strings(["x"]));
    items.put(item.clone()).await;
    let new = items.update(key("a", "1"), delete_from("ss", Value::strings(["X"]))).await;
    assert_eq!(new, item);
}

async fn append_adds_to_either_end_of_a_list(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("back", Value::list([1])).with("front", Value::list([1]))).await;
    let update = set("back", Term::path("back").append(Value::list([2, 3])))
        .set("front", Term::from(Value::list([-1, 0])).append(Term::path("front")));
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(new.get("back"), Some(&Value::list([1, 2, 3])));
    assert_eq!(new.get("front"), Some(&Value::list([-1, 0, 1])));
}

async fn append_starts_a_list_that_is_missing(t: &Fixture) {
    let items = t.items().await;
    let push =
        |v: i32| set("log", Term::path_or("log", Value::L(Vec::new())).append(Value::list([v])));
    items.update(key("a", "1"), push(1)).await;
    let new = items.update(key("a", "1"), push(2)).await;
    assert_eq!(new.get("log"), Some(&Value::list([1, 2])));
}

async fn set_replaces_an_element(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([1, 2, 3]))).await;
    let new = items.update(key("a", "1"), set(Path::new("l").element(1), "two")).await;
    assert_eq!(new.get("l"), Some(&Value::L(vec![1.into(), "two".into(), 3.into()])));
}

async fn setting_past_the_end_appends(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([1]))).await;
    let new = items.update(key("a", "1"), set(Path::new("l").element(9), 2)).await;
    assert_eq!(new.get("l"), Some(&Value::list([1, 2])));
}

async fn several_elements_set_past_the_end_append_in_order(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([1]))).await;
    let update = set(Path::new("l").element(9), 3).set(Path::new("l").element(5), 2);
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(new.get("l"), Some(&Value::list([1, 2, 3])));
}

async fn removed_elements_are_those_of_the_old_list(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([10, 11, 12, 13]))).await;
    let update = remove(Path::new("l").element(0)).remove(Path::new("l").element(2));
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(new.get("l"), Some(&Value::list([11, 13])));
}

async fn removing_past_the_end_changes_nothing(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([1]))).await;
    let new = items.update(key("a", "1"), remove(Path::new("l").element(4))).await;
    assert_eq!(new.get("l"), Some(&Value::list([1])));
}

async fn removing_every_element_leaves_an_empty_list(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([1]))).await;
    let new = items.update(key("a", "1"), remove(Path::new("l").element(0))).await;
    assert_eq!(new.get("l"), Some(&Value::L(Vec::new())));
}

async fn elements_are_set_and_removed_together(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("l", Value::list([10, 11, 12]))).await;
    let update = remove(Path::new("l").element(0)).set(Path::new("l").element(1), 21);
    let new = items.update(key("a", "1"), update).await;
    assert_eq!(new.get("l"), Some(&Value::list([21, 12])));
}

async fn a_member_is_added_once_by_condition(t: &Fixture) {
    let items = t.items().await;
    let join = || add("members", Value::strings(["ada"])).add("count", 1);
    let new_member = || !attr("members").contains("ada");
    assert!(items.update_when(key("a", "1"), join(), new_member()).await.is_applied());
    let again = items.update_when(key("a", "1"), join(), new_member()).await;
    assert!(!again.is_applied());
    assert_eq!(again.item().unwrap().i64("count"), Some(1));
}
