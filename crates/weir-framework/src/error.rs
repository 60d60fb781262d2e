//! Errors of the API, and the conversion of store errors.
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
use crate::limits::{REFUSED_LEN, Wait};
use crate::problem::{Details, RetryAfter};

/// Headers that the edge adds to an error.
const EDGE_HEADERS: usize = 5;

/// The error of a request.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub(crate) code: Code,
    /// Explanation of this error, for people.
    pub detail: String,
    pub(crate) details: Details,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// When to try again, and why.
    pub(crate) wait: Option<Box<Wait>>,
    /// The cause, for the log and for the operator's socket; never sent over the network.
    pub cause: Option<String>,
}

impl ApiError {
    /// An error with this code and explanation.
    pub fn new(code: Code, detail: impl Into<String>) -> ApiError {
        ApiError {
            code,
            detail: detail.into(),
            details: Details::default(),
            headers: Vec::new(),
            wait: None,
            cause: None,
        }
    }

    /// The error of an invalid field.
    pub fn invalid(field: impl Into<String>, problem: impl Into<String>) -> ApiError {
        let (field, problem) = (field.into(), problem.into());
        ApiError::new(Code::INVALID_REQUEST, format!("{field}: {problem}"))
            .with("field", field)
            .with("problem", problem)
    }

    /// The error of something that does not exist.
    pub fn not_found(what: impl AsRef<str>) -> ApiError {
        ApiError::new(Code::NOT_FOUND, format!("{} not found", what.as_ref()))
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

    /// Serializes a struct as `details`, and its fields as members of the problem itself: for a refusal that has the fields of
    /// the response.
    #[must_use]
    pub fn members(mut self, members: &impl Serialize) -> ApiError {
        if let Ok(Value::Object(members)) = serde_json::to_value(members) {
            self.details = Details::InProblem(members);
        }
        self
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> ApiError {
        self.headers.push((name, value));
        self
    }

    /// Says in the body when to try again, instead of the seconds in `Retry-After`.
    #[must_use]
    pub fn retry_at(mut self, time: impl Into<String>) -> ApiError {
        self.wait = Some(Box::new(Wait { limit: None, retry_after: RetryAfter::At(time.into()) }));
        self
    }

    /// Adds a cause for the log.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> ApiError {
        self.cause = Some(cause.into());
        self
    }

    /// The error code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }
}

/// `Retry-After` of a write that a full disk refused. Somebody has to make room first.
const DISK_FULL_RETRY_SECS: u64 = 10;

/// Converts an error of the store. `details.kind` lets [`crate::Client`] convert it back.
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
            // The reason has words of the operating system, which are for the log only.
            Error::ReadOnly { reason } => ApiError::new(
                Code::SERVICE_UNAVAILABLE,
                "the store takes no writes since its disk failed; the server's log says how",
            )
            .with("kind", "read-only")
            .because(reason),
            Error::DiskFull => {
                let error = ApiError::new(Code::INSUFFICIENT_STORAGE, text);
                crate::limits::retry_after(error.with("kind", "disk-full"), DISK_FULL_RETRY_SECS)
            }
            Error::Conflict => ApiError::new(Code::CONFLICT, text).with("kind", "conflict"),
            Error::Throttled => unavailable("throttled", text),
            Error::Closed => unavailable("closed", text),
            Error::Unavailable(ref what) => {
                let what = what.clone();
                unavailable("unavailable", "the store did not respond").because(what)
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

/// The error and its causes, in one line.
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
    /// The response with status and headers, which are taken from the error; the edge writes the body.
    pub(crate) fn bare_response(&mut self) -> Response {
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = self.code.status();
        let headers = response.headers_mut();
        let limit = self.wait.as_ref().and_then(|wait| wait.limit.as_ref());
        let of_limit = if limit.is_some() { REFUSED_LEN } else { 0 };
        headers.reserve(self.headers.len() + of_limit + EDGE_HEADERS);
        for (name, value) in self.headers.drain(..) {
            headers.insert(name, value);
        }
        if let Some(limit) = limit {
            limit.write(headers);
        }
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(mut self) -> Response {
        let mut response = self.bare_response();
        // Boxed, because an extension of this size would be moved with every response.
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}
