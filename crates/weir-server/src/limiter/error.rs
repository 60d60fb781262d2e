//! How the limiter fails, as the API tells it.

use axum::Json;
use axum::response::{IntoResponse, Response};
use weir_limiter::Error;

use weir_framework::{ApiError, Code};

use super::codes;
use weir_framework::limits::retry_after;

/// When to come back to a bucket that too many write at once.
const CONTENDED_SECS: u64 = 1;

/// An error of the limiter on its way to the client.
///
/// Handlers return it instead of [`ApiError`] so that `?` works on the domain's results.
#[derive(Debug)]
pub(crate) struct LimiterError(ApiError);

/// The JSON response of a handler, or its error.
pub(crate) type Reply<T> = Result<Json<T>, LimiterError>;

impl From<ApiError> for LimiterError {
    fn from(error: ApiError) -> LimiterError {
        LimiterError(error)
    }
}

impl From<LimiterError> for ApiError {
    fn from(error: LimiterError) -> ApiError {
        error.0
    }
}

impl From<weir_table::Error> for LimiterError {
    fn from(error: weir_table::Error) -> LimiterError {
        LimiterError(error.into())
    }
}

impl IntoResponse for LimiterError {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

impl From<Error> for LimiterError {
    fn from(error: Error) -> LimiterError {
        LimiterError(api_error(error))
    }
}

/// The mapping of the domain's errors to codes of the API.
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
        Error::Conflict(_) => ApiError::new(Code::STATE_CONFLICT, text),
        Error::LeaseExpired { ttl_secs } => {
            ApiError::new(codes::LEASE_EXPIRED, text).with("lease_ttl_secs", ttl_secs)
        }
        Error::NotALease => ApiError::new(codes::NOT_A_LEASE, text),
        Error::Contended => {
            let error = ApiError::new(Code::SERVICE_UNAVAILABLE, text).with("kind", "contended");
            retry_after(error, CONTENDED_SECS)
        }
        Error::Store(error) => error.into(),
        other => ApiError::new(
            Code::INTERNAL_ERROR,
            "the server's log says why, under this request's id",
        )
        .because(other.to_string()),
    }
}
