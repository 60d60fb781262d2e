//! Errors of the limiter as API errors.

use weir_limiter::Error;

use weir_framework::{ApiError, Code, domain_error};

use super::codes;
use weir_framework::limits::contended;

domain_error!(LimiterError, Error, api_error);

/// The API error, with its code, of each error of the domain.
fn api_error(error: Error) -> ApiError {
    let text = error.to_string();
    match error {
        Error::Invalid { field, problem } => ApiError::invalid(field, problem),
        Error::NotFound { kind, id } => {
            ApiError::new(Code::NOT_FOUND, text).with("what", kind).with("id", id)
        }
        Error::NoLimits { entity, resource } => {
            let error = ApiError::new(codes::NO_LIMITS, text);
            error.with("entity", entity).with("resource", resource)
        }
        Error::UnknownAttribute { item, attribute } => {
            let error = ApiError::new(codes::UNKNOWN_ATTRIBUTE, text);
            error.with("item", item).with("attribute", attribute)
        }
        Error::Conflict(_) => ApiError::new(Code::STATE_CONFLICT, text),
        Error::LeaseExpired { ttl_secs } => {
            ApiError::new(codes::LEASE_EXPIRED, text).with("lease_ttl_secs", ttl_secs)
        }
        Error::NotALease => ApiError::new(codes::NOT_A_LEASE, text),
        Error::Contended => contended(text),
        Error::Store(error) => error.into(),
        other => ApiError::new(
            Code::INTERNAL_ERROR,
            "the server failed; its log has the cause under the id of this request",
        )
        .because(other.to_string()),
    }
}
