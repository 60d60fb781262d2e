//! How the keeper fails, as the API tells it.

use weir_keeper::Error;

use crate::error::{ApiError, Code};
use crate::limits::retry_after;

/// When to come back to what too many write at once.
const CONTENDED_SECS: u64 = 1;

impl From<Error> for ApiError {
    fn from(error: Error) -> ApiError {
        let text = error.to_string();
        let named = |code, field: String, problem: String| {
            ApiError::new(code, text.clone()).with("field", field).with("problem", problem)
        };
        match error {
            Error::Invalid { field, problem } => named(Code::InvalidRequest, field, problem),
            Error::Config { field, problem } => named(Code::InvalidConfig, field, problem),
            Error::Label { field, problem } => named(Code::InvalidModelLabel, field, problem),
            Error::UnknownPrice { model } => {
                ApiError::new(Code::UnknownPrice, text).with("bedrock_model_id", model)
            }
            Error::NotFound { what, id } => {
                ApiError::new(Code::NotFound, text).with("what", what).with("id", id)
            }
            Error::AlreadyExists(_) => ApiError::new(Code::AlreadyExists, text),
            Error::Overflow(_) => ApiError::new(Code::InvalidRequest, text),
            Error::Unauthorized(_) => ApiError::new(Code::Unauthorized, text),
            Error::Forbidden(_) => ApiError::new(Code::Forbidden, text),
            Error::Contended | Error::Busy(_) => {
                let error = ApiError::new(Code::ServiceUnavailable, text).with("kind", "contended");
                retry_after(error, CONTENDED_SECS)
            }
            // A write that lost all its races: the same request does better later.
            Error::Store(weir_table::Error::Conflict) => ApiError::from(Error::Contended),
            Error::Store(error) => error.into(),
            other => ApiError::new(
                Code::InternalError,
                "the server's log says why, under this request's id",
            )
            .because(crate::error::with_causes(&other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_keeps_its_code() {
        for error in [
            Error::invalid("timestamp", "is in the future"),
            Error::Overflow("the cost"),
            Error::config("timezone", "is none"),
            Error::label("model_label", "is none"),
            Error::UnknownPrice { model: "m".into() },
            Error::not_found("org", "o"),
            Error::AlreadyExists("it is there".into()),
            Error::Unauthorized("it is not yours"),
            Error::Forbidden("it is not for you"),
            Error::Contended,
            Error::Busy("seats"),
            Error::Store(weir_table::Error::Throttled),
            Error::Store(weir_table::Error::Conflict),
            Error::damaged("item", "no name"),
        ] {
            let (code, text) = (error.code(), error.to_string());
            assert_eq!(ApiError::from(error).code().text(), code, "{text}");
        }
    }

    #[test]
    fn what_is_stored_wrongly_is_told_to_the_log_alone() {
        let error = ApiError::from(Error::damaged("ORG#1", "the hash is $2b$"));
        assert!(!error.detail.contains("$2b$") && error.cause.is_some());
    }
}
