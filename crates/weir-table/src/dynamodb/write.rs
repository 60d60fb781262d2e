//! Writing one item.
//!
//! A write whose answer was lost may have been done. It is sent again only when doing it twice
//! leaves what doing it once does; otherwise the caller hears [`Error::Unavailable`].

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure,
};

use super::meter::Verb;
use super::render::Placeholders;
use super::retry::{Answered, Call, Failed};
use super::{Dynamo, convert, read, tables};
use crate::error::{Error, Result};
use crate::expr::{self, Change, Condition, Path, Step, Term, Update};
use crate::item::Item;
use crate::key::Key;
use crate::request::{Action, Get, Write, Written};
use crate::spec::TableSpec;
use crate::value::Value;
use crate::{capacity, check};

/// The condition of a write as text, with the placeholders of the whole request.
pub(super) struct Rendered {
    pub(super) update: Option<String>,
    pub(super) condition: Option<String>,
    pub(super) names: Option<HashMap<String, String>>,
    pub(super) values: Option<HashMap<String, AttributeValue>>,
}

/// Renders the expressions of a write.
pub(super) fn render(write: &Write) -> Result<Rendered> {
    let mut placeholders = Placeholders::default();
    let update = match &write.action {
        Action::Update(_, update) => placeholders.update(update)?,
        _ => None,
    };
    let condition = match &write.condition {
        Some(condition) => Some(placeholders.condition("condition", condition)?),
        None => None,
    };
    Ok(Rendered { update, condition, names: placeholders.names(), values: placeholders.values() })
}

/// Puts, updates or deletes an item.
pub(super) async fn write(dynamo: &Dynamo, write: Write) -> Result<Written> {
    let spec = tables::spec(dynamo, &write.table).await?;
    let rendered = render(&write)?;
    match &write.action {
        Action::Put(item) => put(dynamo, &write, item, rendered).await,
        Action::Update(key, change) => update(dynamo, &spec, &write, (key, change), rendered).await,
        Action::Delete(key) => delete(dynamo, &spec, &write, key, rendered).await,
        Action::Check(_) => Err(Error::invalid("action", "a check stands only in a transaction")),
    }
}

fn calling(verb: Verb, write: &Write) -> Call<'_> {
    Call { verb, table: &write.table, repeatable: is_repeatable(write) }
}

async fn put(dynamo: &Dynamo, write: &Write, item: &Item, rendered: Rendered) -> Result<Written> {
    let request = dynamo
        .tables
        .put_item()
        .table_name(dynamo.wire_name(&write.table))
        .set_item(Some(convert::item(item)))
        .set_condition_expression(rendered.condition)
        .set_expression_attribute_names(rendered.names)
        .set_expression_attribute_values(rendered.values)
        .return_values(ReturnValue::AllOld)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let call = calling(Verb::Put, write);
    let answer = dynamo.retries.run(&dynamo.meter, call, || request.clone().send()).await;
    match answer {
        Ok(Answered { value, repeated }) => {
            dynamo.meter.consumed(Verb::Put, &value.consumed_capacity);
            let old = old_item(value.attributes)?;
            // What the first attempt replaced is not known when the second found its own item.
            if repeated && old.as_ref() == Some(item) {
                return Err(lost());
            }
            Ok(Written::Applied(old))
        }
        Err(Failed::Answer(PutItemError::ConditionalCheckFailedException(refusal))) => {
            refused(dynamo, call, refusal.item)
        }
        Err(failed) => Err(dynamo.error(failed, "putting an item", &write.table)),
    }
}

async fn update(
    dynamo: &Dynamo,
    spec: &TableSpec,
    write: &Write,
    (key, change): (&Key, &Update),
    rendered: Rendered,
) -> Result<Written> {
    let request = dynamo
        .tables
        .update_item()
        .table_name(dynamo.wire_name(&write.table))
        .set_key(Some(convert::key(spec, key)))
        .set_update_expression(rendered.update)
        .set_condition_expression(rendered.condition)
        .set_expression_attribute_names(rendered.names)
        .set_expression_attribute_values(rendered.values)
        .return_values(ReturnValue::AllNew)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let call = calling(Verb::Update, write);
    let answer = dynamo.retries.run(&dynamo.meter, call, || request.clone().send()).await;
    match answer {
        Ok(Answered { value, .. }) => {
            dynamo.meter.consumed(Verb::Update, &value.consumed_capacity);
            Ok(Written::Applied(convert::read_optional(value.attributes)?))
        }
        Err(Failed::Answer(UpdateItemError::ConditionalCheckFailedException(refusal))) => {
            refused(dynamo, call, refusal.item)
        }
        Err(failed) => {
            let error = dynamo.error(failed, "updating an item", &write.table);
            let condition = write.condition.as_ref();
            Err(diagnosed(dynamo, spec, (key, change), condition, error).await)
        }
    }
}

async fn delete(
    dynamo: &Dynamo,
    spec: &TableSpec,
    write: &Write,
    key: &Key,
    rendered: Rendered,
) -> Result<Written> {
    let request = dynamo
        .tables
        .delete_item()
        .table_name(dynamo.wire_name(&write.table))
        .set_key(Some(convert::key(spec, key)))
        .set_condition_expression(rendered.condition)
        .set_expression_attribute_names(rendered.names)
        .set_expression_attribute_values(rendered.values)
        .return_values(ReturnValue::AllOld)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let call = calling(Verb::Delete, write);
    let answer = dynamo.retries.run(&dynamo.meter, call, || request.clone().send()).await;
    match answer {
        Ok(Answered { value, repeated }) => {
            dynamo.meter.consumed(Verb::Delete, &value.consumed_capacity);
            let old = old_item(value.attributes)?;
            if repeated && old.is_none() {
                return Err(lost());
            }
            Ok(Written::Applied(old))
        }
        Err(Failed::Answer(DeleteItemError::ConditionalCheckFailedException(refusal))) => {
            refused(dynamo, call, refusal.item)
        }
        Err(failed) => Err(dynamo.error(failed, "deleting an item", &write.table)),
    }
}

/// An item always has its key, so an empty one is none.
fn old_item(wire: Option<convert::WireItem>) -> Result<Option<Item>> {
    convert::read_optional(wire.filter(|wire| !wire.is_empty()))
}

fn refused(dynamo: &Dynamo, call: Call<'_>, old: Option<convert::WireItem>) -> Result<Written> {
    let old = old_item(old)?;
    let units = capacity::refused_write(old.as_ref());
    dynamo.meter.refused(call.verb, call.table, units);
    Ok(Written::Refused(old))
}

fn lost() -> Error {
    Error::Unavailable("the first answer was lost, and with it what the write replaced".into())
}

/// DynamoDB does not say which attribute an update went wrong at. Reading the item and doing the
/// update here does, in the words of the embedded back-end. An update whose own condition fails was
/// not at fault.
pub(super) async fn diagnosed(
    dynamo: &Dynamo,
    spec: &TableSpec,
    (key, update): (&Key, &Update),
    condition: Option<&Condition>,
    error: Error,
) -> Error {
    if !error.is_invalid() {
        return error;
    }
    let get = Get::new(spec.name.as_str(), key.clone());
    let Ok(found) = read::get(dynamo, &get).await else {
        return error;
    };
    let before = found.clone().unwrap_or_default();
    if condition.is_some_and(|condition| !expr::eval::holds(condition, &before)) {
        return error;
    }
    let old = found.unwrap_or_else(|| key.to_item(spec));
    let done = expr::apply::apply(update, &old).and_then(|new| check::item(spec, &new));
    done.err().unwrap_or(error)
}

/// Whether doing the write twice leaves the item as doing it once does.
fn is_repeatable(write: &Write) -> bool {
    write.condition.is_none()
        && match &write.action {
            Action::Put(_) | Action::Delete(_) | Action::Check(_) => true,
            Action::Update(_, update) => update.changes.iter().all(is_repeatable_change),
        }
}

fn is_repeatable_change(change: &Change) -> bool {
    let in_list = |path: &Path| matches!(path.steps.last(), Some(Step::Element(_)));
    match change {
        Change::Set(path, _) | Change::Remove(path) if in_list(path) => false,
        Change::Set(_, Term::Value(_)) | Change::Remove(_) | Change::Delete(..) => true,
        Change::Set(path, Term::PathOr(read, otherwise)) => {
            path == read && matches!(**otherwise, Term::Value(_))
        }
        Change::Set(..) => false,
        Change::Add(_, value) => !matches!(value, Value::N(_)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{add, attr, remove, set, set_if_absent};

    #[test]
    fn only_what_can_be_done_twice_is_sent_twice() {
        let key = || Key::partition("a");
        let update = |update| Write::update("t", key(), update);
        for (write, repeatable) in [
            (Write::put("t", Item::new()), true),
            (Write::put("t", Item::new()).when(attr("a").absent()), false),
            (Write::delete("t", key()), true),
            (update(set("a", 1)), true),
            (update(set_if_absent("a", 1)), true),
            (update(set("a", 1)).when(attr("a").eq(0)), false),
            (update(add("a", 1)), false),
            (update(add("a", Value::strings(["x"]))), true),
            (update(set("a", Term::path("a").plus(1))), false),
            (update(set("a", Term::path("b"))), false),
            (update(remove("a")), true),
            (update(remove(Path::new("a").element(0))), false),
            (update(set(Path::new("a").element(9), 1)), false),
            (update(set("a", 1).add("n", 1)), false),
        ] {
            assert_eq!(is_repeatable(&write), repeatable, "{write:?}");
        }
    }
}
