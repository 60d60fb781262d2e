//! A body that may be left out.

use crate::keeper::error::KeeperError;
use axum::body::HttpBody as _;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use weir_framework::extract::Body;

/// A JSON object as body, or what holds when there is none or it is `null`.
#[derive(Debug)]
pub(crate) struct Optional<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for Optional<T> {
    type Rejection = KeeperError;

    async fn from_request(request: Request, state: &S) -> Result<Self, KeeperError> {
        // Not by its headers: a request over HTTP/2 or in this process need not tell the length of its body.
        if request.body().is_end_stream() {
            return Ok(Optional(T::default()));
        }
        let Body(body) = Body::<Option<T>>::from_request(request, state).await?;
        Ok(Optional(body.unwrap_or_default()))
    }
}
