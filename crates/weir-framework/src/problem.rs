//! Errors on the wire: `application/problem+json` (RFC 9457) one way, [`Error`] again the other way.
//!
//! Beside the members of the RFC there are `error message details timestamp request_id`, which
//! clients of the source systems read.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use weir_table::Error;
use weir_table::clock::Clock;

use crate::error::ApiError;
use crate::json::{put, put_plain, put_time};
use crate::request_id::{self, RequestId};
use crate::time;

/// The content type of every error.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// Room for an ordinary error.
const ORDINARY_LEN: usize = 1024;

/// An error as it is sent.
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
    /// What is wrong with this request.
    pub detail: String,
    /// The code, for programs.
    #[schema(example = "INVALID_REQUEST")]
    pub error: String,
    /// The same as `detail`.
    pub message: String,
    /// More about it, for programs; which members there are depends on the code.
    #[schema(value_type = Object)]
    pub details: Map<String, Value>,
    /// When it happened.
    #[schema(format = DateTime)]
    pub timestamp: String,
    /// The request's id, as in the header `X-Request-Id` and in the server's log.
    pub request_id: String,
}

impl Problem {
    /// What is told of an error. Causes are told to the socket only.
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
            timestamp: time::rfc3339(now_ms),
            request_id: request_id.to_owned(),
        }
    }
}

/// The members of `details`: a tree, or a value that is written when the answer is.
#[derive(Debug, Clone)]
pub(crate) enum Details {
    Members(Map<String, Value>),
    Told(Arc<dyn Told>),
}

impl Default for Details {
    fn default() -> Details {
        Details::Members(Map::new())
    }
}

impl Details {
    /// The members as a tree.
    pub(crate) fn members(&self) -> Map<String, Value> {
        match self {
            Details::Members(members) => members.clone(),
            Details::Told(value) => value.members(),
        }
    }
}

/// A value that can be the details of an error: it is written as an object.
pub trait Told: std::fmt::Debug + Send + Sync {
    /// Writes it.
    fn write(&self, to: &mut Vec<u8>);

    /// The members as a tree.
    fn members(&self) -> Map<String, Value> {
        let mut text = Vec::new();
        self.write(&mut text);
        serde_json::from_slice(&text).unwrap_or_default()
    }
}

/// Writes the members of [`Problem`], in the same order, without copies.
fn body(error: &ApiError, id: &RequestId, now_ms: u64) -> Vec<u8> {
    let mut body = Vec::with_capacity(ORDINARY_LEN);
    let to = &mut body;
    put_plain(to, r#"{"type":"#, error.code.urn());
    put_plain(to, r#","title":"#, error.code.title());
    put(to, r#","status":"#, &error.code.status().as_u16());
    to.extend_from_slice(br#","detail":"#);
    let from = to.len();
    put(to, "", &error.detail);
    let detail = from..to.len();
    put_plain(to, r#","error":"#, error.code.name());
    to.extend_from_slice(br#","message":"#);
    to.extend_from_within(detail);
    match &error.details {
        Details::Members(members) => put(to, r#","details":"#, members),
        Details::Told(value) => {
            to.extend_from_slice(br#","details":"#);
            value.write(to);
        }
    }
    put_time(to, r#","timestamp":"#, now_ms);
    put_plain(to, r#","request_id":"#, id.text());
    to.push(b'}');
    body
}

/// Writes an error into the answer that carries it.
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

/// The whole answer to a request that does not reach the edge.
pub(crate) fn early(error: &ApiError) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = error.code.status();
    let id = RequestId::of(&HeaderMap::new());
    write(&mut response, error, &id, Clock::System.now_ms(), false);
    response.headers_mut().insert(request_id::HEADER, id.value());
    response
}

/// What a client of the socket makes of a problem: the store's own error, where it was one.
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
        "read-only" => Error::ReadOnly { reason: text("reason") },
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

    fn there_and_back(error: Error) -> Error {
        let problem = Problem::of(&ApiError::from(error), "r", 0, true);
        let text = serde_json::to_string(&problem).unwrap();
        Error::from(serde_json::from_str::<Problem>(&text).unwrap())
    }

    #[test]
    fn errors_come_back_as_they_were() {
        let errors = [
            Error::invalid("PK", "the key is declared S, not N"),
            Error::NoSuchTable("orders".into()),
            Error::SpecMismatch {
                table: "orders".into(),
                differences: vec!["ttl: expected None, found Some".into(), "feed".into()],
            },
            Error::ReadOnly { reason: "the disk is full".into() },
            Error::Unavailable("no route".into()),
            Error::Conflict,
            Error::Throttled,
            Error::Closed,
        ];
        for error in errors {
            let text = error.to_string();
            assert_eq!(there_and_back(error).to_string(), text);
        }
    }

    #[test]
    fn a_problem_is_written_as_serde_writes_it() {
        let id = RequestId::of(&HeaderMap::new());
        for code in Code::ALL {
            let plain = ApiError::new(*code, "a \"detail\"\n\u{1} ü");
            for error in [plain.clone().with("a", 1).with("b\"", "c\\"), plain] {
                let whole = Problem::of(&error, id.text(), 0, false);
                let whole = serde_json::to_string(&whole).unwrap();
                assert_eq!(String::from_utf8(body(&error, &id, 0)).unwrap(), whole);
            }
        }
    }

    #[test]
    fn causes_are_for_the_socket_only() {
        let fault = || Error::io("writing the log", std::io::Error::other("disk on fire"));
        let back = there_and_back(fault());
        let cause = std::error::Error::source(&back).unwrap().to_string();
        assert_eq!(cause, "writing the log: disk on fire");
        let problem = Problem::of(&ApiError::from(fault()), "r", 0, false);
        let text = serde_json::to_string(&problem).unwrap();
        assert!(!text.contains("disk") && !text.contains("log:"), "{text}");
    }
}
