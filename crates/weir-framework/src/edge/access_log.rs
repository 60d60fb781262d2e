//! The access log: one line per request.

use std::borrow::Cow;
use std::time::Duration;

use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use tokio::time::Instant;

use super::request_context::RequestContext;
use crate::authorize::Authorized;
use crate::error::ApiError;

/// Longest part of a path that the log shows. The ids of ours are shorter, lease tokens and other credentials are longer.
const PART_MAX: usize = 48;
const HIDDEN: &str = "•••";

/// The parts of a request that its log line shows. They are formatted only if the line is written.
#[derive(Debug)]
pub(super) struct AccessLog {
    pub(super) started: Instant,
    method: Method,
    uri: Uri,
}

impl AccessLog {
    pub(super) fn start(request: &Request) -> AccessLog {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        AccessLog { started: Instant::now(), method, uri }
    }

    /// The method as a label of metrics, which must be bounded.
    pub(super) fn method_label(&self) -> &'static str {
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

    /// Server errors are warnings and client errors are logged at `info`. Successes are logged at
    /// `debug`, and so are 429s: a limiter may return tens of thousands of them a second.
    pub(super) fn log(
        &self,
        context: &RequestContext,
        status: StatusCode,
        duration: Duration,
        error: Option<&ApiError>,
    ) {
        macro_rules! line {
            ($level:ident, $text:literal) => {
                tracing::$level!(
                    request_id = context.id().text(),
                    method = self.method.as_str(),
                    path = &*shown(self.uri.path()),
                    status = status.as_u16(),
                    duration_ms = (duration.as_secs_f64() * 1e6).round() / 1e3,
                    client = context.client_address().map(tracing::field::display),
                    subject = context.authorized().and_then(Authorized::subject).unwrap_or("-"),
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
            line!(debug, "request completed");
        }
    }
}

/// A path without the parts that may be credentials: a lease token is in the path of the request that settles it.
fn shown(path: &str) -> Cow<'_, str> {
    if path.split('/').all(|part| part.len() <= PART_MAX) {
        return Cow::Borrowed(path);
    }
    let parts = path.split('/').map(|part| if part.len() <= PART_MAX { part } else { HIDDEN });
    Cow::Owned(parts.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_parts_of_a_path_are_hidden() {
        assert_eq!(shown("/v1/namespaces/default/acquire"), "/v1/namespaces/default/acquire");
        let token = "A".repeat(PART_MAX + 1);
        let path = format!("/v1/namespaces/default/leases/{token}/commit");
        assert_eq!(shown(&path), "/v1/namespaces/default/leases/•••/commit");
        let id = "550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(shown(id), id);
    }
}
