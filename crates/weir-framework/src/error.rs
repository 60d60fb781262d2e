//! Errors of the API, in one place: every code with its status and meaning, and how the faults of a
//! store become one.
//!
//! A handler fails with an [`ApiError`]. It travels inside the response and is written out as
//! `application/problem+json` by the edge (`problem.rs`), which knows the request's id and time.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use weir_table::Error;

use crate::code::Code;
use crate::limits::{REFUSED_LEN, RateLimit};
use crate::problem::Details;

/// Headers that the edge adds to an error.
const EDGE_HEADERS: usize = 5;

/// How a request failed.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub(crate) code: Code,
    /// What is wrong with this request, for people.
    pub detail: String,
    pub(crate) details: Details,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The limit that was reached; also sent in headers.
    pub(crate) limit: Option<Box<RateLimit>>,
    /// For the log and for the operator's own socket; never for the network.
    pub cause: Option<String>,
}

impl ApiError {
    /// An error that says `detail`.
    pub fn new(code: Code, detail: impl Into<String>) -> ApiError {
        ApiError {
            code,
            detail: detail.into(),
            details: Details::default(),
            headers: Vec::new(),
            limit: None,
            cause: None,
        }
    }

    /// A field of the request is wrong.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> ApiError {
        let (field, problem) = (field.into(), problem.into());
        ApiError::new(Code::INVALID_REQUEST, format!("{field}: {problem}"))
            .with("field", field)
            .with("problem", problem)
    }

    /// There is no `what`.
    pub fn not_found(what: impl AsRef<str>) -> ApiError {
        ApiError::new(Code::NOT_FOUND, format!("there is no {}", what.as_ref()))
    }

    /// Adds a member to `details`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> ApiError {
        let mut members = self.details.members();
        members.insert(name.to_owned(), value.into());
        self.details = Details::Members(members);
        self
    }

    /// Serializes a struct as `details`.
    #[must_use]
    pub fn details(mut self, details: &impl Serialize) -> ApiError {
        if let Ok(serialized) = serde_json::value::to_raw_value(details) {
            self.details = Details::Serialized(serialized);
        }
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> ApiError {
        self.headers.push((name, value));
        self
    }

    /// Keeps a cause for the log.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> ApiError {
        self.cause = Some(cause.into());
        self
    }

    /// Which error it is.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }
}

/// How a store fails, as the API tells it. `details.kind` lets [`crate::Client`] tell them apart.
impl From<Error> for ApiError {
    fn from(error: Error) -> ApiError {
        let text = error.to_string();
        match error {
            Error::Invalid { field, problem } => {
                ApiError::invalid(field, problem).with("kind", "invalid")
            }
            Error::NoSuchTable(table) => ApiError::not_found(format!("table {table:?}"))
                .with("kind", "no-such-table")
                .with("table", table),
            Error::SpecMismatch { table, differences } => ApiError::new(Code::CONFLICT, text)
                .with("kind", "spec-mismatch")
                .with("table", table)
                .with("differences", differences),
            Error::ReadOnly { reason } => ApiError::new(Code::SERVICE_UNAVAILABLE, text)
                .with("kind", "read-only")
                .with("reason", reason),
            Error::Conflict => ApiError::new(Code::CONFLICT, text).with("kind", "conflict"),
            Error::Throttled => unavailable("throttled", text),
            Error::Closed => unavailable("closed", text),
            Error::Unavailable(ref what) => {
                let what = what.clone();
                unavailable("unavailable", "the store did not answer").because(what)
            }
            other => ApiError::new(
                Code::INTERNAL_ERROR,
                "the server's log says why, under this request's id",
            )
            .because(with_causes(&other)),
        }
    }
}

fn unavailable(kind: &str, detail: impl Into<String>) -> ApiError {
    let error = ApiError::new(Code::SERVICE_UNAVAILABLE, detail).with("kind", kind);
    crate::limits::retry_after(error, 1)
}

/// The error and what caused it, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl ApiError {
    /// The answer with the status and the headers of this error, which it then has no more; the edge writes the rest.
    pub(crate) fn bare_response(&mut self) -> Response {
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        let of_limit = if self.limit.is_some() { REFUSED_LEN } else { 0 };
        headers.reserve(self.headers.len() + of_limit + EDGE_HEADERS);
        for (name, value) in self.headers.drain(..) {
            headers.insert(name, value);
        }
        if let Some(limit) = self.limit.take() {
            limit.write(headers);
        }
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(mut self) -> Response {
        let mut response = self.bare_response();
        // Boxed: an extension of this size would be moved about on every answer's way out.
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}
