//! Writes of one item.
//!
//! A write whose response was lost may have been applied. It is sent again only if applying it twice has the same effect
//! as once; otherwise the caller gets [`Error::Unavailable`].

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

/// The expressions of a write as text, with the placeholders of the whole request.
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
        Action::Check(_) => {
            Err(Error::invalid("action", "a check is allowed only in a transaction"))
        }
    }
}

/// Sends a put, an update or a delete. The SDK gives their common parameters to three types of request, so this cannot be a
/// function.
macro_rules! send_write {
    ($request:expr, $verb:expr, $dynamo:expr, $write:expr, $rendered:expr, $returned:expr) => {{
        let call = Call { verb: $verb, table: &$write.table, repeatable: is_repeatable($write) };
        let request = $request
            .table_name($dynamo.wire_name(&$write.table))
            .set_condition_expression($rendered.condition)
            .set_expression_attribute_names($rendered.names)
            .set_expression_attribute_values($rendered.values)
            .return_values($returned)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let sent = $dynamo.retries.run(&$dynamo.meter, call, || request.clone().send()).await;
        if let Ok(answered) = &sent {
            $dynamo.meter.consumed($verb, &answered.value.consumed_capacity);
        }
        (call, sent)
    }};
}

async fn put(dynamo: &Dynamo, write: &Write, item: &Item, rendered: Rendered) -> Result<Written> {
    let request = dynamo.tables.put_item().set_item(Some(convert::item(item)));
    let (call, sent) =
        send_write!(request, Verb::Put, dynamo, write, rendered, ReturnValue::AllOld);
    match sent {
        Ok(Answered { value, repeated }) => {
            let old = old_item(value.attributes)?;
            // The second attempt found the first one's item, so the item that the first one replaced is unknown.
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
    let request = dynamo.tables.update_item().set_key(Some(convert::key(spec, key)));
    let request = request.set_update_expression(rendered.update);
    let (call, sent) =
        send_write!(request, Verb::Update, dynamo, write, rendered, ReturnValue::AllNew);
    match sent {
        Ok(Answered { value, .. }) => {
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
    let request = dynamo.tables.delete_item().set_key(Some(convert::key(spec, key)));
    let (call, sent) =
        send_write!(request, Verb::Delete, dynamo, write, rendered, ReturnValue::AllOld);
    match sent {
        Ok(Answered { value, repeated }) => {
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

/// An item always has its key, so an empty map means that there was no item.
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
    Error::Unavailable(
        "the first response was lost, and with it the item that the write replaced".into(),
    )
}

/// Finds the attribute that an update failed at, which DynamoDB does not report: reads the item and applies the update here,
/// with the error texts of the embedded back-end. An update whose own condition is false was not at fault.
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

/// Whether applying the write twice leaves the same item as applying it once.
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
    fn only_idempotent_writes_are_repeatable() {
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
