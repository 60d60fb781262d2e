//! Errors of the limiter as API errors.

use axum::Json;
use axum::response::{IntoResponse, Response};
use weir_limiter::Error;

use weir_framework::{ApiError, Code};

use super::codes;
use weir_framework::limits::retry_after;

/// `Retry-After` of a request that lost too many races for a bucket.
const CONTENDED_RETRY_SECS: u64 = 1;

/// An error of a limiter route.
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
        Error::Conflict(_) => ApiError::new(Code::STATE_CONFLICT, text),
        Error::LeaseExpired { ttl_secs } => {
            ApiError::new(codes::LEASE_EXPIRED, text).with("lease_ttl_secs", ttl_secs)
        }
        Error::NotALease => ApiError::new(codes::NOT_A_LEASE, text),
        Error::Contended => {
            let error = ApiError::new(Code::SERVICE_UNAVAILABLE, text).with("kind", "contended");
            retry_after(error, CONTENDED_RETRY_SECS)
        }
        Error::Store(error) => error.into(),
        other => ApiError::new(
            Code::INTERNAL_ERROR,
            "the server failed; its log has the cause under the id of this request",
        )
        .because(other.to_string()),
    }
}
