//! Conditional writes: what a condition that does not hold leaves and returns.

use weir_table::expr::{Path, add, attr, set};
use weir_table::{Value, Written};

use crate::fixture::{Fixture, key, row};

contract! {
    conditional_put_keeps_the_first_writer,
    a_refused_put_returns_the_existing_item,
    a_refused_update_returns_the_old_item_and_changes_nothing,
    a_refused_delete_returns_the_item_and_keeps_it,
    a_delete_whose_condition_holds_is_applied,
    a_condition_on_a_missing_item_sees_no_attributes,
    an_update_refused_on_a_missing_item_makes_none,
    a_condition_may_name_the_key,
    a_version_check_lets_one_of_two_updates_through,
}

async fn conditional_put_keeps_the_first_writer(t: &Fixture) {
    let items = t.items().await;
    let first = row("a", "1").with("by", "first");
    let absent = || attr("pk").absent();
    assert_eq!(items.put_when(first.clone(), absent()).await, Written::Applied(None));
    let second = items.put_when(row("a", "1").with("by", "second"), absent()).await;
    assert!(!second.is_applied());
    assert_eq!(items.get(key("a", "1")).await, Some(first));
}

async fn a_refused_put_returns_the_existing_item(t: &Fixture) {
    let items = t.items().await;
    let there = row("a", "1").with("v", 1).with("tags", Value::strings(["x"]));
    items.put(there.clone()).await;
    let written = items.put_when(row("a", "1").with("v", 2), attr("v").gt(1)).await;
    assert_eq!(written, Written::Refused(Some(there)));
}

async fn a_refused_update_returns_the_old_item_and_changes_nothing(t: &Fixture) {
    let items = t.items().await;
    let there = row("a", "1").with("tokens", 3);
    items.put(there.clone()).await;
    let written = items.update_when(key("a", "1"), add("tokens", -5), attr("tokens").ge(5)).await;
    assert_eq!(written, Written::Refused(Some(there.clone())));
    assert_eq!(items.get(key("a", "1")).await, Some(there));
}

async fn a_refused_delete_returns_the_item_and_keeps_it(t: &Fixture) {
    let items = t.items().await;
    let there = row("a", "1").with("v", 1);
    items.put(there.clone()).await;
    let written = items.delete_when(key("a", "1"), attr("v").eq(2)).await;
    assert_eq!(written, Written::Refused(Some(there.clone())));
    assert_eq!(items.get(key("a", "1")).await, Some(there));
}

async fn a_delete_whose_condition_holds_is_applied(t: &Fixture) {
    let items = t.items().await;
    let there = row("a", "1").with("v", 1);
    items.put(there.clone()).await;
    let written = items.delete_when(key("a", "1"), attr("v").eq(1)).await;
    assert_eq!(written, Written::Applied(Some(there)));
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn a_condition_on_a_missing_item_sees_no_attributes(t: &Fixture) {
    let items = t.items().await;
    let refused = items.delete_when(key("a", "1"), attr("pk").exists()).await;
    assert_eq!(refused, Written::Refused(None));
    let refused = items.put_when(row("a", "1"), attr("pk").eq("a")).await;
    assert_eq!(refused, Written::Refused(None));
    let made = items.put_when(row("a", "1"), attr("v").ne(1)).await;
    assert_eq!(made, Written::Applied(None));
}

async fn an_update_refused_on_a_missing_item_makes_none(t: &Fixture) {
    let items = t.items().await;
    let written = items.update_when(key("a", "1"), set("v", 1), attr("pk").exists()).await;
    assert_eq!(written, Written::Refused(None));
    assert_eq!(items.get(key("a", "1")).await, None);
}

async fn a_condition_may_name_the_key(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    let sort = attr("sk").begins_with("1").and(attr("pk").eq("a"));
    assert!(items.update_when(key("a", "1"), set("v", 1), sort.clone()).await.is_applied());
    assert!(!items.update_when(key("a", "2"), set("v", 1), sort).await.is_applied());
    assert_eq!(items.get(key("a", "2")).await, None);
}

async fn a_version_check_lets_one_of_two_updates_through(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1").with("version", 1)).await;
    let bump = || add("version", 1).set(Path::new("by"), "someone");
    let first = items.update_when(key("a", "1"), bump(), attr("version").eq(1)).await;
    let second = items.update_when(key("a", "1"), bump(), attr("version").eq(1)).await;
    assert_eq!(first.item().unwrap().i64("version"), Some(2));
    assert_eq!(second, Written::Refused(first.item().cloned()));
}
