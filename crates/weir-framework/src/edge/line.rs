//! A request's line in the log.

use std::time::Duration;

use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use tokio::time::Instant;

use crate::authorize::Authorized;
use crate::error::ApiError;
use crate::request_id::RequestId;

/// What is told of a request. Its path is copied only if it is told.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) started: Instant,
    method: Method,
    uri: Uri,
}

impl Line {
    pub(super) fn of(request: &Request) -> Line {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        Line { started: Instant::now(), method, uri }
    }

    /// A method that this server knows; labels are bounded.
    pub(super) fn method_name(&self) -> &'static str {
        match self.method.as_str() {
            "GET" => "GET",
            "HEAD" => "HEAD",
            "POST" => "POST",
            "PUT" => "PUT",
            "PATCH" => "PATCH",
            "DELETE" => "DELETE",
            "OPTIONS" => "OPTIONS",
            _ => "other",
        }
    }

    /// Faults are warnings, refusals are told, and what went well is for whoever asks for `debug`. So is a limit that is
    /// reached: to a limiter that is an answer like any other, and there may be tens of thousands a second.
    pub(super) fn log(
        &self,
        id: &RequestId,
        status: StatusCode,
        took: Duration,
        passed: Option<&Authorized>,
        error: Option<&ApiError>,
    ) {
        macro_rules! line {
            ($level:ident, $text:literal) => {
                tracing::$level!(
                    request_id = id.text(),
                    method = self.method.as_str(),
                    path = self.uri.path(),
                    status = status.as_u16(),
                    duration_ms = (took.as_secs_f64() * 1e6).round() / 1e3,
                    subject = passed.and_then(Authorized::subject).unwrap_or("-"),
                    code = error.map_or("-", |error| error.code.name()),
                    cause = error.and_then(|error| error.cause.as_deref()).unwrap_or("-"),
                    $text
                )
            };
        }
        if status.is_server_error() {
            line!(warn, "request failed");
        } else if status == StatusCode::TOO_MANY_REQUESTS {
            line!(debug, "request limited");
        } else if status.is_client_error() {
            line!(info, "request refused");
        } else {
            line!(debug, "request answered");
        }
    }
}
