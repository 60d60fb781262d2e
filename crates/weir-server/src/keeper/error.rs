//! Errors of the keeper as errors of the API.

use weir_keeper::Error;

use weir_framework::{ApiError, Code, domain_error};

use super::codes;
use weir_framework::limits::contended;

domain_error!(KeeperError, Error, api_error);

/// The mapping of the domain's errors to codes of the API.
pub(crate) fn api_error(error: Error) -> ApiError {
    let text = error.to_string();
    let named = |code, field: String, problem: String| {
        ApiError::new(code, text.clone()).with("field", field).with("problem", problem)
    };
    match error {
        Error::Invalid { field, problem } => named(Code::INVALID_REQUEST, field, problem),
        Error::Config { field, problem } => named(codes::INVALID_CONFIG, field, problem),
        Error::Label { field, problem } => named(codes::INVALID_MODEL_LABEL, field, problem),
        Error::UnknownPrice { model } => {
            let error = ApiError::new(codes::UNKNOWN_PRICE, text);
            error.with("model_id", model.clone()).with("bedrock_model_id", model)
        }
        Error::NotFound { what, id } => {
            ApiError::new(Code::NOT_FOUND, text).with("what", what).with("id", id)
        }
        Error::AlreadyExists(_) => ApiError::new(Code::ALREADY_EXISTS, text),
        Error::Overflow(_) => ApiError::new(Code::INVALID_REQUEST, text),
        Error::Unauthorized(_) => ApiError::new(Code::UNAUTHORIZED, text),
        Error::Forbidden(_) => ApiError::new(Code::FORBIDDEN, text),
        Error::Contended | Error::Busy(_) => contended(text),
        // The same request can succeed later.
        Error::Store(weir_table::Error::Conflict) => api_error(Error::Contended),
        Error::Store(error) => error.into(),
        other => ApiError::new(
            Code::INTERNAL_ERROR,
            "the server's log says why, under this request's id",
        )
        .because(weir_framework::error::with_causes(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_code() {
        for (error, code) in [
            (Error::invalid("timestamp", "is in the future"), "INVALID_REQUEST"),
            (Error::Overflow("the cost"), "INVALID_REQUEST"),
            (Error::config("timezone", "is unknown"), "INVALID_CONFIG"),
            (Error::invalid("app", "is unknown").into_config("quotas"), "INVALID_CONFIG"),
            (Error::label("model_label", "is unknown"), "INVALID_MODEL_LABEL"),
            (Error::UnknownPrice { model: "m".into() }, "UNKNOWN_PRICE"),
            (Error::not_found("org", "o"), "NOT_FOUND"),
            (Error::AlreadyExists("it exists".into()), "ALREADY_EXISTS"),
            (Error::Unauthorized("the secret is wrong"), "UNAUTHORIZED"),
            (Error::Forbidden("another org"), "FORBIDDEN"),
            (Error::Contended, "SERVICE_UNAVAILABLE"),
            (Error::Busy("permits"), "SERVICE_UNAVAILABLE"),
            (Error::Store(weir_table::Error::Throttled), "SERVICE_UNAVAILABLE"),
            (Error::Store(weir_table::Error::Conflict), "SERVICE_UNAVAILABLE"),
            (Error::Store(weir_table::Error::TokenReused), "INTERNAL_ERROR"),
            (Error::damaged("item", "no name"), "INTERNAL_ERROR"),
        ] {
            let text = error.to_string();
            assert_eq!(api_error(error).code().name(), code, "{text}");
        }
    }

    #[test]
    fn details_of_corrupt_items_go_to_the_log_only() {
        let error = api_error(Error::damaged("ORG#1", "the hash is $2b$"));
        assert!(!error.detail.contains("$2b$") && error.cause.is_some());
    }
}
