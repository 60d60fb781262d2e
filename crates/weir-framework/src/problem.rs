//! Errors on the wire: an [`ApiError`] becomes `application/problem+json` (RFC 9457), and a client of
//! the socket turns that into an [`Error`] again.
//!
//! Beside the members of the RFC a problem has `error message details retry_after timestamp request_id`,
//! which clients of the original services read.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use weir_table::Error;
use weir_table::clock::Clock;

use crate::error::ApiError;
use crate::request_id::{self, RequestId};
use crate::time;

/// The content type of every error.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// The capacity of a body; most errors fit.
const BODY_CAPACITY: usize = 1024;

/// An error on the wire.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A URN that is the same for every error of this code.
    #[serde(rename = "type")]
    #[schema(example = "urn:weir:problem:invalid-request")]
    pub kind: String,
    /// One sentence that is the same for every error of this code.
    pub title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// An explanation of this error, for people.
    pub detail: String,
    /// The error code, for programs.
    #[schema(example = "INVALID_REQUEST")]
    pub error: String,
    /// The same as `detail`.
    pub message: String,
    /// Further members, for programs; they depend on the code.
    #[schema(value_type = Object)]
    pub details: Map<String, Value>,
    /// The earliest time to try again: seconds from now, or a time. Present whenever the header `Retry-After` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<RetryAfter>,
    /// The time of the error.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The request's id, as in the header `X-Request-Id` and the server's log.
    pub request_id: String,
    /// Further members of some refusals: the fields of the response.
    #[serde(flatten)]
    #[schema(ignore)]
    pub members: Map<String, Value>,
}

/// The earliest time to try again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum RetryAfter {
    /// Seconds from now.
    Secs(u64),
    /// A time, as RFC 3339.
    At(String),
}

impl Problem {
    /// The problem of an error. Only the socket gets the cause.
    pub(crate) fn of(error: &ApiError, request_id: &str, now_ms: u64, local: bool) -> Problem {
        let mut details = error.details.members();
        if let Some(cause) = error.cause.as_ref().filter(|_| local) {
            details.insert("cause".to_owned(), cause.as_str().into());
        }
        Problem {
            kind: error.code.urn().to_owned(),
            title: error.code.title().to_owned(),
            status: error.code.status().as_u16(),
            detail: error.detail.clone(),
            error: error.code.name().to_owned(),
            message: error.detail.clone(),
            details,
            retry_after: error.wait.as_ref().map(|wait| wait.retry_after.clone()),
            timestamp: time::rfc3339(now_ms),
            request_id: request_id.to_owned(),
            members: error.details.in_problem().cloned().unwrap_or_default(),
        }
    }
}

/// The `details` of an error.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Details {
    Members(Map<String, Value>),
    /// Serialized when the error was made, without a tree of values in between.
    Serialized(Box<RawValue>),
    /// Members of the problem itself too.
    InProblem(Map<String, Value>),
}

impl Default for Details {
    fn default() -> Details {
        Details::Members(Map::new())
    }
}

impl Details {
    pub(crate) fn members(&self) -> Map<String, Value> {
        match self {
            Details::Members(members) | Details::InProblem(members) => members.clone(),
            Details::Serialized(text) => serde_json::from_str(text.get()).unwrap_or_default(),
        }
    }

    /// The members that the problem itself has too.
    fn in_problem(&self) -> Option<&Map<String, Value>> {
        match self {
            Details::InProblem(members) => Some(members),
            Details::Members(_) | Details::Serialized(_) => None,
        }
    }
}

/// A [`Problem`] that borrows from its error: a limiter may return tens of thousands a second.
#[derive(Serialize)]
struct ProblemBody<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    error: &'a str,
    message: &'a str,
    details: &'a Details,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<&'a RetryAfter>,
    timestamp: String,
    request_id: &'a str,
    #[serde(flatten)]
    members: Option<&'a Map<String, Value>>,
}

fn body(error: &ApiError, id: &RequestId, now_ms: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(BODY_CAPACITY);
    let problem = ProblemBody {
        kind: error.code.urn(),
        title: error.code.title(),
        status: error.code.status().as_u16(),
        detail: &error.detail,
        error: error.code.name(),
        message: &error.detail,
        details: &error.details,
        retry_after: error.wait.as_ref().map(|wait| &wait.retry_after),
        timestamp: time::rfc3339(now_ms),
        request_id: id.text(),
        members: error.details.in_problem(),
    };
    // Writing to memory does not fail.
    serde_json::to_writer(&mut body, &problem).ok();
    body
}

/// Writes the body of an error into its response.
pub(crate) fn write(
    response: &mut Response,
    error: &ApiError,
    id: &RequestId,
    now_ms: u64,
    local: bool,
) {
    let body = if local {
        serde_json::to_vec(&Problem::of(error, id.text(), now_ms, true)).unwrap_or_default()
    } else {
        body(error, id, now_ms)
    };
    *response.body_mut() = Body::from(body);
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
}

/// The response to a request that does not reach the edge.
pub(crate) fn early(error: &ApiError) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = error.code.status();
    let id = RequestId::of(&HeaderMap::new());
    write(&mut response, error, &id, Clock::System.now_ms(), false);
    response.headers_mut().insert(request_id::HEADER, id.value());
    response
}

/// A client of the socket gets the store's own error back, if it was one.
impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        from_details(&problem.details, &problem.detail)
    }
}

fn from_details(details: &Map<String, Value>, detail: &str) -> Error {
    let text =
        |name: &str| details.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match text("kind").as_str() {
        "invalid" => Error::invalid(text("field"), text("problem")),
        "no-such-table" => Error::NoSuchTable(text("table")),
        "spec-mismatch" => Error::SpecMismatch {
            table: text("table"),
            differences: texts(details.get("differences")),
        },
        "read-only" => Error::ReadOnly { reason: text("cause") },
        "disk-full" => Error::DiskFull,
        "conflict" => Error::Conflict,
        "throttled" => Error::Throttled,
        "unavailable" => Error::Unavailable(text("cause")),
        "closed" => Error::Closed,
        _ => match text("cause") {
            cause if cause.is_empty() => Error::backend("the server failed", detail.to_owned()),
            cause => Error::backend("the server failed", cause),
        },
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let texts = list.and_then(Value::as_array).into_iter().flatten();
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    fn round_trip(error: Error) -> Error {
        let problem = Problem::of(&ApiError::from(error), "r", 0, true);
        let text = serde_json::to_string(&problem).unwrap();
        Error::from(serde_json::from_str::<Problem>(&text).unwrap())
    }

    #[test]
    fn store_errors_survive_the_round_trip() {
        let errors = [
            Error::invalid("PK", "the key is declared S, not N"),
            Error::NoSuchTable("orders".into()),
            Error::SpecMismatch {
                table: "orders".into(),
                differences: vec!["ttl: expected None, found Some".into(), "feed".into()],
            },
            Error::ReadOnly { reason: "the disk is full".into() },
            Error::DiskFull,
            Error::Unavailable("no route".into()),
            Error::Conflict,
            Error::Throttled,
            Error::Closed,
        ];
        for error in errors {
            let text = error.to_string();
            assert_eq!(round_trip(error).to_string(), text);
        }
    }

    #[test]
    fn the_borrowed_problem_has_the_same_members() {
        let id = RequestId::of(&HeaderMap::new());
        for code in Code::ALL {
            let plain = ApiError::new(*code, "a \"detail\"\n\u{1} ü");
            let members = plain.clone().members(&serde_json::json!({"count": 5}));
            for error in [plain.clone().with("a", 1).with("b\"", "c\\"), members, plain] {
                let whole = Problem::of(&error, id.text(), 0, false);
                let whole = serde_json::to_string(&whole).unwrap();
                assert_eq!(String::from_utf8(body(&error, &id, 0)).unwrap(), whole);
            }
        }
    }

    #[test]
    fn only_the_socket_gets_causes() {
        let fault = || Error::io("writing the log", std::io::Error::other("disk on fire"));
        let back = round_trip(fault());
        let cause = std::error::Error::source(&back).unwrap().to_string();
        assert_eq!(cause, "writing the log: disk on fire");
        let problem = Problem::of(&ApiError::from(fault()), "r", 0, false);
        let text = serde_json::to_string(&problem).unwrap();
        assert!(!text.contains("disk") && !text.contains("log:"), "{text}");
        let reason = "writing the log failed (No space left on device (os error 28))".to_owned();
        let problem = Problem::of(&ApiError::from(Error::ReadOnly { reason }), "r", 0, false);
        let text = serde_json::to_string(&problem).unwrap();
        assert!(!text.contains("os error") && !text.contains("No space"), "{text}");
    }
}
