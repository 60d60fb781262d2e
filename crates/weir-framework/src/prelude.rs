//! What a file of handlers uses: `use weir_framework::prelude::*;`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub use axum::Json;
pub use axum::extract::State;
pub use utoipa::ToSchema;
pub use utoipa_axum::routes;

pub use crate::api::Api;
pub use crate::app::{App, Service};
pub use crate::extract::{Body, Path, Query};
pub use crate::page::{Page, PageLimit, PageParams};
pub use crate::required_scope::RequiredScope;
pub use crate::{ApiError, Code};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a handler answers.
pub type Reply<T> = Result<Json<T>, ApiError>;

/// Room for the headers of an ordinary answer.
const ORDINARY_HEADERS: usize = 5;

/// An answer that was written as JSON.
pub fn written(bytes: Vec<u8>) -> Response {
    let mut response = Response::new(bytes.into());
    let headers = response.headers_mut();
    headers.reserve(ORDINARY_HEADERS);
    headers.insert(header::CONTENT_TYPE, JSON);
    response
}

/// The answer to a creation: 201 with the thing.
#[derive(Debug)]
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}
