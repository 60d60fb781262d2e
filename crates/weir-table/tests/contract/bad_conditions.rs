//! Conditions and filters that are wrong: the error names the path and nothing is written.

use weir_table::expr::{Condition, Operand, Path, attr, set, size};
use weir_table::{Kind, Value, Write};

use crate::fixture::{Fixture, key, row};

contract! {
    begins_with_takes_no_number,
    between_takes_bounds_of_one_kind,
    between_takes_its_bounds_in_order,
    between_takes_no_list,
    between_takes_no_flag_as_its_first_operand,
    a_size_is_in_no_order_with_a_flag,
    lists_maps_and_flags_are_in_no_order,
    an_empty_set_in_a_condition_is_refused,
    an_empty_in_is_refused,
    an_empty_and_or_or_is_refused,
    a_path_without_a_name_is_refused,
    a_wrong_condition_of_a_transaction_is_refused,
    a_wrong_condition_of_a_check_is_refused,
    a_wrong_filter_is_refused,
    a_path_of_too_many_steps_is_refused,
    a_wrong_condition_inside_not_and_or_is_found,
    a_path_is_not_compared_with_itself,
}

/// Asserts that every verb refuses `condition`, naming `field`, and writes nothing.
async fn refused(t: &Fixture, condition: Condition, field: &str) {
    let items = t.items().await;
    let before = row("a", "1").with("v", 1);
    items.put(before.clone()).await;
    let put = Write::put("items", row("a", "1").with("v", 2)).when(condition.clone());
    assert_eq!(items.fault(put).await, field);
    let update = Write::update("items", key("a", "1"), set("v", 2)).when(condition.clone());
    assert_eq!(items.fault(update).await, field);
    let delete = Write::delete("items", key("a", "1")).when(condition);
    assert_eq!(items.fault(delete).await, field);
    assert_eq!(items.get(key("a", "1")).await, Some(before));
}

async fn begins_with_takes_no_number(t: &Fixture) {
    refused(t, attr("v").begins_with(1), "v").await;
}

async fn between_takes_bounds_of_one_kind(t: &Fixture) {
    refused(t, attr("v").between(1, "9"), "v").await;
}

async fn between_takes_its_bounds_in_order(t: &Fixture) {
    refused(t, attr("v").between(9, 1), "v").await;
}

async fn between_takes_no_list(t: &Fixture) {
    refused(t, attr("m").field("x").between(Value::list([1]), Value::list([2])), "m.x").await;
}

async fn between_takes_no_flag_as_its_first_operand(t: &Fixture) {
    let between = Operand::from(true).between(attr("low"), attr("high"));
    refused(t, between, "condition").await;
}

async fn a_size_is_in_no_order_with_a_flag(t: &Fixture) {
    refused(t, size("name").lt(true), "name").await;
}

async fn lists_maps_and_flags_are_in_no_order(t: &Fixture) {
    refused(t, attr("v").lt(Value::list([1])), "v").await;
    refused(t, attr("v").ge(Value::map([("x", 1)])), "v").await;
    refused(t, attr("v").gt(true), "v").await;
    refused(t, attr("v").le(Value::strings(["x"])), "v").await;
}

async fn an_empty_set_in_a_condition_is_refused(t: &Fixture) {
    refused(t, attr("v").eq(Value::Ss([].into())), "condition").await;
}

async fn an_empty_in_is_refused(t: &Fixture) {
    refused(t, attr("v").is_in(Vec::<Operand>::new()), "condition").await;
}

async fn an_empty_and_or_or_is_refused(t: &Fixture) {
    refused(t, Condition::And(Vec::new()), "condition").await;
    refused(t, Condition::Or(Vec::new()), "condition").await;
}

async fn a_path_without_a_name_is_refused(t: &Fixture) {
    refused(t, attr("").exists(), "condition").await;
    refused(t, Operand::from(1).is_kind(Kind::N), "condition").await;
}

async fn a_wrong_condition_of_a_transaction_is_refused(t: &Fixture) {
    let items = t.items().await;
    let good = Write::put("items", row("a", "1"));
    let bad = Write::put("items", row("a", "2")).when(attr("v").begins_with(1));
    assert_eq!(t.transact_fault([good, bad]).await, "v");
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn a_wrong_condition_of_a_check_is_refused(t: &Fixture) {
    let items = t.items().await;
    let good = Write::put("items", row("a", "1"));
    let bad = Write::check("items", key("a", "2"), attr("v").between(2, 1));
    assert_eq!(t.transact_fault([good, bad]).await, "v");
    assert_eq!(items.all(&items.scan()).await, []);
}

async fn a_wrong_filter_is_refused(t: &Fixture) {
    let items = t.items().await;
    items.put(row("a", "1")).await;
    let query = |filter| items.partition("a").filter(filter);
    assert_eq!(items.query_fault(&query(attr("v").begins_with(1))).await, "v");
    assert_eq!(items.query_fault(&query(attr("v").is_in(0..101))).await, "filter");
    assert_eq!(items.query_fault(&items.scan().filter(size("v").lt(true))).await, "v");
}

async fn a_path_of_too_many_steps_is_refused(t: &Fixture) {
    let path = (0..40).fold(Path::new("v"), |path, _| path.element(0));
    let field = path.to_string();
    refused(t, Operand::from(path).exists(), &field).await;
}

async fn a_wrong_condition_inside_not_and_or_is_found(t: &Fixture) {
    let wrong = !(attr("v").eq(1).and(attr("w").exists().or(attr("deep").begins_with(7))));
    refused(t, wrong, "deep").await;
}

async fn a_path_is_not_compared_with_itself(t: &Fixture) {
    let v = || attr("v");
    refused(t, v().eq(v()), "v").await;
    refused(t, v().between(1, v()), "v").await;
    refused(t, v().is_in([Operand::from(1), v()]), "v").await;
    refused(t, v().contains(v()), "v").await;
    let element = || attr("l").element(0);
    refused(t, element().begins_with(element()), "l[0]").await;
}
