//! A request body that may be omitted.

use axum::body::HttpBody as _;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use super::error::KeeperError;
use weir_framework::extract::Body;

/// A JSON object as body, or the default when the body is absent or `null`.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for OptionalBody<T> {
    type Rejection = KeeperError;

    async fn from_request(request: Request, state: &S) -> Result<Self, KeeperError> {
        // Not by its headers: a request over HTTP/2 or inside this process need not have `Content-Length`.
        if request.body().is_end_stream() {
            return Ok(OptionalBody(T::default()));
        }
        let Body(body) = Body::<Option<T>>::from_request(request, state).await?;
        Ok(OptionalBody(body.unwrap_or_default()))
    }
}
