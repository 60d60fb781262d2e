//! Imports for files with handlers: `use weir_framework::prelude::*;`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

pub use axum::Json;
pub use axum::extract::State;
pub use utoipa::ToSchema;
pub use utoipa_axum::routes;

pub use crate::api::Api;
pub use crate::app::{App, Service};
pub use crate::auth::scope_kind::{Level, ScopeKind};
pub use crate::extract::{Body, Path, Query};
pub use crate::page::{Page, PageLimit, PageParams};
pub use crate::required_scope::RequiredScope;
pub use crate::{ApiError, Code};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The result of a handler.
pub type Reply<T> = Result<Json<T>, ApiError>;

/// The capacity of a response; most of the hot routes' fit, so the buffer does not grow.
const BODY_CAPACITY: usize = 1024;
const HEADERS_CAPACITY: usize = 5;

/// The JSON response of a hot route.
pub fn json(value: &impl Serialize) -> Response {
    let mut body = Vec::with_capacity(BODY_CAPACITY);
    if let Err(error) = serde_json::to_writer(&mut body, value) {
        return ApiError::from(weir_table::Error::backend("serializing a response", error))
            .into_response();
    }
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.reserve(HEADERS_CAPACITY);
    headers.insert(header::CONTENT_TYPE, JSON);
    response
}

/// The response to a creation: 201 with the new resource.
#[derive(Debug)]
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}
