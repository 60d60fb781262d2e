//! A request body in JSON or as a form: OAuth clients send either.

use axum::extract::{FromRequest, Request};
use axum::http::header;
use serde::de::DeserializeOwned;

use crate::keeper::error::KeeperError;
use weir_framework::error::ApiError;
use weir_framework::extract::{Body, bytes};

const FORM: &str = "application/x-www-form-urlencoded";

/// A JSON object or a form.
#[derive(Debug)]
pub(crate) struct JsonOrForm<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonOrForm<T> {
    type Rejection = KeeperError;

    async fn from_request(request: Request, state: &S) -> Result<Self, KeeperError> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case(FORM) {
            let read = Body::from_request(request, state).await;
            return read
                .map(|Body(body)| JsonOrForm(body))
                .map_err(|error| without_name(error).into());
        }
        let bytes = bytes(request).await?;
        // The error has no values: one of them is a secret.
        let read = serde_urlencoded::from_bytes(&bytes);
        read.map(JsonOrForm).map_err(|error| match field_of(&error.to_string()) {
            Some((field, problem)) => ApiError::invalid(field, problem).into(),
            None => ApiError::invalid("body", "is not a form with the described fields").into(),
        })
    }
}

/// The field that an error of serde names, and what is wrong with it.
fn field_of(text: &str) -> Option<(String, &'static str)> {
    let name = text.split('`').nth(1)?.to_owned();
    if text.starts_with("missing field") {
        Some((name, "is missing"))
    } else if text.starts_with("duplicate field") {
        Some((name, "is present twice"))
    } else {
        None
    }
}

/// Hides the name of an unknown field: a client may have sent a secret as one.
fn without_name(error: ApiError) -> ApiError {
    match error.detail.contains("unknown field") {
        true => ApiError::invalid("body", "has a field that is not described"),
        false => error,
    }
}
