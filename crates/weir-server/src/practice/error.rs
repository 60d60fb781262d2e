//! Errors of practice as errors of the API.

use weir_framework::limits::contended;
use weir_framework::{ApiError, Code, domain_error};
use weir_practice::Error;

use super::codes;

domain_error!(PracticeError, Error, api_error);

/// Explains a failure whose cause only the log has.
const LOGGED: &str = "the server's log says why, under this request's id";

/// The mapping of the domain's errors to codes of the API.
fn api_error(error: Error) -> ApiError {
    let text = error.to_string();
    match error {
        Error::Invalid { field, problem } => ApiError::invalid(field, problem),
        Error::TooLarge { field, problem } => ApiError::new(Code::PAYLOAD_TOO_LARGE, text)
            .with("field", field)
            .with("problem", problem),
        Error::NotFound { what, id } => {
            ApiError::new(Code::NOT_FOUND, text).with("what", what).with("id", id)
        }
        Error::Forbidden(_) => ApiError::new(codes::NOT_ALLOWED, text),
        Error::Conflict(_) => ApiError::new(Code::STATE_CONFLICT, text),
        Error::LeaseLost { job, problem } => {
            ApiError::new(codes::LEASE_LOST, text).with("job", job).with("problem", problem)
        }
        Error::Contended | Error::Store(weir_table::Error::Conflict) => {
            contended(Error::Contended.to_string())
        }
        Error::Objects(_) => {
            let detail = format!("the object storage failed; {LOGGED}");
            let error = ApiError::new(Code::SERVICE_UNAVAILABLE, detail).because(text);
            weir_framework::limits::retry_after(error, 1)
        }
        Error::Store(error) => error.into(),
        other => ApiError::new(Code::INTERNAL_ERROR, LOGGED)
            .because(weir_framework::error::with_causes(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_code() {
        let lost = Error::LeaseLost { job: "j".into(), problem: "it has ended".into() };
        for (error, code) in [
            (Error::invalid("action", "is unknown"), "INVALID_REQUEST"),
            (Error::too_large("title", "is long"), "PAYLOAD_TOO_LARGE"),
            (Error::not_found("user", "u"), "NOT_FOUND"),
            (Error::forbidden("the user is inactive"), "NOT_ALLOWED"),
            (Error::conflict("another user has it"), "STATE_CONFLICT"),
            (lost, "LEASE_LOST"),
            (Error::Contended, "SERVICE_UNAVAILABLE"),
            (Error::Objects("bucket x".into()), "SERVICE_UNAVAILABLE"),
            (Error::Store(weir_table::Error::Throttled), "SERVICE_UNAVAILABLE"),
            (Error::Store(weir_table::Error::Conflict), "SERVICE_UNAVAILABLE"),
            (Error::damaged("item", "no name"), "INTERNAL_ERROR"),
        ] {
            let text = error.to_string();
            assert_eq!(api_error(error).code().name(), code, "{text}");
        }
    }

    #[test]
    fn details_of_stores_go_to_the_log_only() {
        for error in [Error::damaged("USR#1", "a secret"), Error::Objects("a secret".into())] {
            let error = api_error(error);
            assert!(!error.detail.contains("a secret") && error.cause.is_some());
        }
    }
}
