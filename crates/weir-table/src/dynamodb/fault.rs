//! Classifies failed calls: whether the request was applied, whether it may be retried, and which error to return.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use super::retry::Failed;
use crate::error::Error;

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// DynamoDB throttled the request; it was not applied.
    Throttled,
    /// There was no connection; the request was not applied.
    NotSent,
    /// The response was lost, or was a server error; the request may have been applied.
    Lost,
    /// A transaction with the same token is still running.
    InProgress,
    /// Another transaction writes the same item; the request was not applied.
    Conflict,
    /// The request could not be built: no credentials, a wrong endpoint.
    NotMade,
    /// A response about the request itself.
    Answer,
}

impl Fault {
    /// Whether a retry is useful and harmless.
    pub(super) fn may_try_again(self, repeatable: bool) -> bool {
        match self {
            Fault::Throttled | Fault::NotSent | Fault::InProgress => true,
            Fault::Lost => repeatable,
            Fault::Conflict | Fault::NotMade | Fault::Answer => false,
        }
    }
}

/// Classifies a failed attempt by its kind and its error code.
pub(super) fn judge<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> Fault {
    match error {
        SdkError::ConstructionFailure(_) => Fault::NotMade,
        SdkError::DispatchFailure(failure) if failure.is_user() => Fault::NotMade,
        SdkError::DispatchFailure(failure) => failure
            .as_connector_error()
            .filter(|error| never_connected(*error))
            .map_or(Fault::Lost, |_| Fault::NotSent),
        SdkError::ServiceError(answer) => {
            by_code(answer.err().code(), answer.raw().status().as_u16())
        }
        _ => Fault::Lost,
    }
}

fn by_code(code: Option<&str>, status: u16) -> Fault {
    match code.unwrap_or_default() {
        "ProvisionedThroughputExceededException"
        | "ThrottlingException"
        | "ThrottledException"
        | "Throttling"
        | "TooManyRequestsException"
        | "RequestLimitExceeded"
        | "LimitExceededException" => Fault::Throttled,
        "TransactionInProgressException" => Fault::InProgress,
        "TransactionConflictException" | "ReplicatedWriteConflictException" => Fault::Conflict,
        // By DynamoDB's manual, a write that ended in a server error may have been applied.
        "InternalServerError" | "InternalFailure" | "ServiceUnavailable" => Fault::Lost,
        _ if status >= 500 => Fault::Lost,
        _ if status == 429 => Fault::Throttled,
        _ => Fault::Answer,
    }
}

fn never_connected(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<hyper_util::client::legacy::Error>())
        .any(hyper_util::client::legacy::Error::is_connect)
}

/// The error after the last attempt. `doubtful`: an earlier attempt may have been applied.
pub(super) fn given_up<E>(
    fault: Fault,
    error: SdkError<E, HttpResponse>,
    doubtful: bool,
) -> Failed<E>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let error = match (fault, error) {
        (Fault::Answer, SdkError::ServiceError(answer)) => {
            return Failed::Answer(answer.into_err());
        }
        (_, error) => chain(&error),
    };
    Failed::Error(match fault {
        Fault::NotMade => Error::backend("making a request to DynamoDB", error),
        Fault::Throttled if !doubtful => Error::Throttled,
        Fault::InProgress | Fault::Conflict if !doubtful => Error::Conflict,
        _ => Error::Unavailable(error),
    })
}

/// The text of an error and its causes, without repetitions.
fn chain(error: &dyn std::error::Error) -> String {
    let mut said: Vec<String> = Vec::new();
    for error in std::iter::successors(Some(error), |error| error.source()) {
        let text = error.to_string();
        if said.last().is_none_or(|last| !last.contains(&text)) {
            said.push(text);
        }
    }
    said.join(": ")
}

/// The error for a response about the request itself. `table` is the logical name.
pub(super) fn answered<E>(doing: &str, table: &str, error: E) -> Error
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let message = error.message().unwrap_or_default().to_owned();
    match error.code().unwrap_or_default() {
        "ResourceNotFoundException" => Error::NoSuchTable(table.to_owned()),
        "ValidationException" | "SerializationException" => invalid(message),
        "ItemCollectionSizeLimitExceededException" => Error::invalid("item", message),
        "IdempotentParameterMismatchException" => Error::TokenReused,
        "TrimmedDataAccessException" => Error::Trimmed,
        code => {
            let doing = format!("{doing}: DynamoDB returned {code}: {message}");
            Error::backend(doing, error)
        }
    }
}

/// Finds the field of a validation error. DynamoDB names it only in prose.
pub(super) fn invalid(message: String) -> Error {
    let says = |part: &str| message.contains(part);
    let field = if says("Item size") || says("item size") {
        "item"
    } else if says("UpdateExpression") || says("update expression") || says("operand") {
        "update"
    } else if says("ConditionExpression") {
        "condition"
    } else if says("FilterExpression") {
        "filter"
    } else if says("ProjectionExpression") || says("does not project") {
        "projection"
    } else if says("KeyConditionExpression") || says("key") || says("Key") {
        "key"
    } else if says("ExclusiveStartKey") || says("starting key") {
        "cursor"
    } else {
        "request"
    };
    Error::invalid(field, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_tell_what_became_of_the_request() {
        for (code, status, fault) in [
            ("ThrottlingException", 400, Fault::Throttled),
            ("ProvisionedThroughputExceededException", 400, Fault::Throttled),
            ("InternalServerError", 500, Fault::Lost),
            ("", 503, Fault::Lost),
            ("", 429, Fault::Throttled),
            ("TransactionConflictException", 400, Fault::Conflict),
            ("TransactionInProgressException", 400, Fault::InProgress),
            ("ValidationException", 400, Fault::Answer),
            ("ConditionalCheckFailedException", 400, Fault::Answer),
        ] {
            assert_eq!(by_code(Some(code), status), fault, "{code} {status}");
        }
    }

    #[test]
    fn a_lost_answer_is_tried_again_only_where_that_does_no_harm() {
        assert!(Fault::Lost.may_try_again(true));
        assert!(!Fault::Lost.may_try_again(false));
        assert!(Fault::Throttled.may_try_again(false));
        assert!(!Fault::Conflict.may_try_again(true));
    }

    #[test]
    fn validation_names_the_field() {
        for (message, field) in [
            ("Item size has exceeded the maximum allowed size", "item"),
            ("Invalid UpdateExpression: Syntax error", "update"),
            ("Invalid FilterExpression: x", "filter"),
            ("something else", "request"),
        ] {
            assert_eq!(invalid(message.into()).field(), Some(field), "{message}");
        }
    }
}
