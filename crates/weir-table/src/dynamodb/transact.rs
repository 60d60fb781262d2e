//! Transactions: all writes or none, and consistent reads of several items.
//!
//! Every write transaction carries an idempotency token, the caller's or a random one, so that a retry after a lost response
//! applies it once.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_get_items::TransactGetItemsError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, ConditionCheck, Delete, Get as WireGet, Put, ReturnConsumedCapacity,
    ReturnValuesOnConditionCheckFailure, TransactGetItem, TransactWriteItem, Update as WireUpdate,
};

use sha2::{Digest as _, Sha256};

use super::batch::only_table;
use super::fault::{self, Fault};
use super::meter::Verb;
use super::render::Placeholders;
use super::retry::{Call, Failed};
use super::{Dynamo, convert, tables, write};
use crate::capacity;
use crate::error::{Error, Result};
use crate::expr::Path;
use crate::item::Item;
use crate::limits;
use crate::request::{Action, Get, Transacted, Transaction, Verdict, Write};
use crate::spec::TableSpec;

/// An update in a transaction must have an expression. An update that changes nothing removes this attribute, which no item
/// has.
const NO_ATTRIBUTE: &str = "weir:none";

/// Bytes of a scoped token's hash; as hexadecimal text they fit the length of a token.
const SCOPED_BYTES: usize = 16;
const _: () = assert!(2 * SCOPED_BYTES <= limits::TOKEN_MAX);

/// Applies all writes or none.
pub(super) async fn write(dynamo: &Dynamo, transaction: Transaction) -> Result<Transacted> {
    let Transaction { writes, token } = transaction;
    let mut wire = Vec::with_capacity(writes.len());
    for write in &writes {
        let spec = tables::spec(dynamo, &write.table).await?;
        wire.push(wire_write(dynamo, &spec, write)?);
    }
    let token = match token {
        Some(token) => scoped(&dynamo.prefix, &token),
        None => uuid::Uuid::new_v4().to_string(),
    };
    let request = dynamo
        .tables
        .transact_write_items()
        .set_transact_items(Some(wire))
        .client_request_token(token)
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let call = Call {
        verb: Verb::Transact,
        table: only_table(writes.iter().map(|write| &write.table)),
        repeatable: true,
    };
    let answer = dynamo
        .retries
        .run_judged(&dynamo.meter, call, judge_write, || request.clone().send())
        .await;
    match answer {
        Ok(answered) => {
            let reports = answered.value.consumed_capacity();
            dynamo.meter.consumed(Verb::Transact, reports);
            Ok(Transacted::Applied)
        }
        Err(Failed::Answer(TransactWriteItemsError::TransactionCanceledException(canceled))) => {
            let reasons = canceled.cancellation_reasons.unwrap_or_default();
            refused(dynamo, call, &writes, reasons).await
        }
        Err(failed) => {
            let table = gone_table(&writes, call.table);
            let error = dynamo.error(failed, "writing a transaction", table);
            Err(diagnosed(dynamo, &writes, error).await)
        }
    }
}

/// Scopes a token to the table prefix, because DynamoDB shares tokens across the whole account.
fn scoped(prefix: &str, token: &str) -> String {
    if prefix.is_empty() {
        return token.to_owned();
    }
    let mut hash = Sha256::new();
    hash.update(prefix);
    hash.update([0]);
    hash.update(token);
    let digest = hash.finalize();
    let half = digest.iter().take(SCOPED_BYTES);
    half.map(|byte| format!("{byte:02x}")).collect()
}

fn wire_write(dynamo: &Dynamo, spec: &TableSpec, write: &Write) -> Result<TransactWriteItem> {
    let fault = |source| Error::backend("making a request to DynamoDB", source);
    let mut rendered = write::render(write)?;
    let table = dynamo.wire_name(&write.table);
    let on_refusal = ReturnValuesOnConditionCheckFailure::AllOld;
    let wire = TransactWriteItem::builder();
    macro_rules! finished {
        ($builder:expr) => {
            $builder
                .table_name(table)
                .set_condition_expression(rendered.condition)
                .set_expression_attribute_names(rendered.names)
                .set_expression_attribute_values(rendered.values)
                .return_values_on_condition_check_failure(on_refusal)
                .build()
                .map_err(fault)?
        };
    }
    Ok(match &write.action {
        Action::Put(item) => {
            wire.put(finished!(Put::builder().set_item(Some(convert::item(item)))))
        }
        Action::Update(key, _) => {
            let update = rendered.update.take().unwrap_or_else(|| {
                let names = rendered.names.get_or_insert_default();
                names.insert("#none".into(), NO_ATTRIBUTE.into());
                "REMOVE #none".into()
            });
            let builder = WireUpdate::builder()
                .set_key(Some(convert::key(spec, key)))
                .update_expression(update);
            wire.update(finished!(builder))
        }
        Action::Delete(key) => {
            let builder = Delete::builder().set_key(Some(convert::key(spec, key)));
            wire.delete(finished!(builder))
        }
        Action::Check(key) => {
            let builder = ConditionCheck::builder().set_key(Some(convert::key(spec, key)));
            wire.condition_check(finished!(builder))
        }
    }
    .build())
}

fn judge_write(error: &SdkError<TransactWriteItemsError, HttpResponse>) -> Fault {
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => {
            judge_reasons(canceled.cancellation_reasons())
        }
        _ => fault::judge(error),
    }
}

fn judge_get(error: &SdkError<TransactGetItemsError, HttpResponse>) -> Fault {
    match error.as_service_error() {
        Some(TransactGetItemsError::TransactionCanceledException(canceled)) => {
            judge_reasons(canceled.cancellation_reasons())
        }
        _ => fault::judge(error),
    }
}

/// A conflict or throttling hides the results of the conditions.
fn judge_reasons(reasons: &[CancellationReason]) -> Fault {
    let any = |codes: &[&str]| {
        reasons.iter().filter_map(CancellationReason::code).any(|code| codes.contains(&code))
    };
    if any(&["TransactionConflict"]) {
        Fault::Conflict
    } else if any(&["ThrottlingError", "ProvisionedThroughputExceeded"]) {
        Fault::Throttled
    } else {
        Fault::Answer
    }
}

/// The verdicts of a canceled transaction, write by write.
async fn refused(
    dynamo: &Dynamo,
    call: Call<'_>,
    writes: &[Write],
    reasons: Vec<CancellationReason>,
) -> Result<Transacted> {
    let mut verdicts = Vec::with_capacity(writes.len());
    let mut units = 0;
    for (place, reason) in reasons.into_iter().enumerate() {
        let code = reason.code.as_deref().unwrap_or("None");
        let message = reason.message.clone().unwrap_or_default();
        units += capacity::transactional(capacity::refused_write(None));
        verdicts.push(match code {
            "None" => Verdict::Held,
            "ConditionalCheckFailed" => {
                let old = reason.item.filter(|item| !item.is_empty());
                let old = convert::read_optional(old)?;
                let known = capacity::refused_write(old.as_ref());
                units += capacity::transactional(known - capacity::refused_write(None));
                Verdict::Failed(old)
            }
            "ValidationError" => {
                let error = fault::invalid(message);
                return Err(diagnosed_at(dynamo, writes.get(place), error).await);
            }
            "ItemCollectionSizeLimitExceeded" => return Err(Error::invalid("item", message)),
            code => {
                let problem = format!("write {place} was canceled with {code}: {message}");
                return Err(Error::backend("writing a transaction", problem));
            }
        });
    }
    if verdicts.len() != writes.len() || verdicts.iter().all(|v| *v == Verdict::Held) {
        let problem = "canceled without a reason for each write";
        return Err(Error::backend("writing a transaction", problem));
    }
    dynamo.meter.refused(call.verb, call.table, units);
    Ok(Transacted::Refused(verdicts))
}

/// Finds the attribute of the first update that cannot be applied. Some endpoints do not even name the write.
async fn diagnosed(dynamo: &Dynamo, writes: &[Write], error: Error) -> Error {
    if !error.is_invalid() {
        return error;
    }
    let text = error.to_string();
    let mut error = error;
    for write in writes {
        error = diagnosed_at(dynamo, Some(write), error).await;
        if error.to_string() != text {
            break;
        }
    }
    error
}

async fn diagnosed_at(dynamo: &Dynamo, write: Option<&Write>, error: Error) -> Error {
    let Some(write) = write else { return error };
    let Action::Update(key, update) = &write.action else {
        return error;
    };
    match tables::spec(dynamo, &write.table).await {
        Ok(spec) => {
            let condition = write.condition.as_ref();
            write::diagnosed(dynamo, &spec, (key, update), condition, error).await
        }
        Err(_) => error,
    }
}

/// DynamoDB does not report which of several tables is missing.
fn gone_table<'a>(writes: &'a [Write], only: &'a str) -> &'a str {
    match writes.first() {
        Some(first) if only.is_empty() => &first.table,
        _ => only,
    }
}

/// Reads items at one moment.
pub(super) async fn get(dynamo: &Dynamo, gets: &[Get]) -> Result<Vec<Option<Item>>> {
    let mut wire = Vec::with_capacity(gets.len());
    for get in gets {
        let spec = tables::spec(dynamo, &get.table).await?;
        wire.push(wire_get(dynamo, &spec, get)?);
    }
    let request = dynamo
        .tables
        .transact_get_items()
        .set_transact_items(Some(wire))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let call = Call {
        verb: Verb::TransactGet,
        table: only_table(gets.iter().map(|get| &get.table)),
        repeatable: true,
    };
    let answer = dynamo
        .retries
        .run_judged(&dynamo.meter, call, judge_get, || request.clone().send())
        .await
        .map_err(|failed| match failed {
            // Conflicts and throttling are handled already, so the request itself is invalid.
            Failed::Answer(TransactGetItemsError::TransactionCanceledException(canceled)) => {
                fault::invalid(canceled.message.unwrap_or_default())
            }
            failed => dynamo.error(failed, "reading a transaction", call.table),
        })?
        .value;
    dynamo.meter.consumed(Verb::TransactGet, answer.consumed_capacity());
    let found = answer.responses.unwrap_or_default();
    if found.len() != gets.len() {
        let problem = format!("{} responses to {} requests", found.len(), gets.len());
        return Err(Error::backend("reading a transaction", problem));
    }
    found.into_iter().map(|found| convert::read_optional(found.item)).collect()
}

fn wire_get(dynamo: &Dynamo, spec: &TableSpec, get: &Get) -> Result<TransactGetItem> {
    let mut placeholders = Placeholders::default();
    let projection =
        get.projection.as_ref().map(|paths: &Vec<Path>| placeholders.projection(paths));
    let wire = WireGet::builder()
        .table_name(dynamo.wire_name(&get.table))
        .set_key(Some(convert::key(spec, &get.key)))
        .set_projection_expression(projection)
        .set_expression_attribute_names(placeholders.names())
        .build()
        .map_err(|source| Error::backend("making a request to DynamoDB", source))?;
    Ok(TransactGetItem::builder().get(wire).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(codes: &[&str]) -> Vec<CancellationReason> {
        codes.iter().map(|code| CancellationReason::builder().code(*code).build()).collect()
    }

    #[test]
    fn a_token_belongs_to_its_prefix() {
        assert_eq!(scoped("", "token"), "token");
        assert_eq!(scoped("a-", "token").len(), 32);
        assert_eq!(scoped("a-", "token"), scoped("a-", "token"));
        assert_ne!(scoped("a-", "token"), scoped("b-", "token"));
        assert_ne!(scoped("a", "b"), scoped("ab", ""));
    }

    #[test]
    fn a_conflict_beats_throttling_beats_a_refused_condition() {
        for (codes, fault) in [
            (&["None", "ConditionalCheckFailed"][..], Fault::Answer),
            (&["ConditionalCheckFailed", "TransactionConflict"], Fault::Conflict),
            (&["ThrottlingError", "TransactionConflict"], Fault::Conflict),
            (&["ConditionalCheckFailed", "ThrottlingError"], Fault::Throttled),
            (&["ProvisionedThroughputExceeded"], Fault::Throttled),
            (&["ValidationError"], Fault::Answer),
        ] {
            assert_eq!(judge_reasons(&reasons(codes)), fault, "{codes:?}");
        }
    }
}
