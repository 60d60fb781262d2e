//! How the limiter fails, as the API tells it.

use weir_limiter::Error;

use crate::error::{ApiError, Code};
use crate::limits::retry_after;

/// When to come back to a bucket that too many write at once.
const CONTENDED_SECS: u64 = 1;

impl From<Error> for ApiError {
    fn from(error: Error) -> ApiError {
        let text = error.to_string();
        match error {
            Error::Invalid { field, problem } => ApiError::invalid(field, problem),
            Error::NotFound { what, id } => {
                ApiError::new(Code::NotFound, text).with("what", what).with("id", id)
            }
            Error::NoLimits { entity, resource } => {
                let error = ApiError::new(Code::NoLimits, text);
                error.with("entity", entity).with("resource", resource)
            }
            Error::Conflict(_) => ApiError::new(Code::StateConflict, text),
            Error::LeaseExpired { ttl_secs } => {
                ApiError::new(Code::LeaseExpired, text).with("lease_ttl_secs", ttl_secs)
            }
            Error::NotALease => ApiError::new(Code::NotALease, text),
            Error::Contended => {
                let error = ApiError::new(Code::ServiceUnavailable, text).with("kind", "contended");
                retry_after(error, CONTENDED_SECS)
            }
            Error::Store(error) => error.into(),
            other => ApiError::new(
                Code::InternalError,
                "the server's log says why, under this request's id",
            )
            .because(other.to_string()),
        }
    }
}
