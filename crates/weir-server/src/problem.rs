//! Errors on the wire: `application/problem+json` one way, [`Error`] again the other way.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use weir_table::Error;

const TYPE_PREFIX: &str = "urn:weir:problem:";

/// An error as RFC 9457 writes it, with members that let the client rebuild it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Problem {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    status: u16,
    detail: String,
    /// What an invalid request is wrong about, or the table that is missing or differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// How a field is wrong, how a table differs, why a store is read-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let detail = with_causes(&error);
        let (status, kind, title, field, reasons) = match error {
            Error::Invalid { field, problem } => (
                StatusCode::BAD_REQUEST,
                "invalid",
                "The request is wrong",
                Some(field),
                vec![problem],
            ),
            Error::NoSuchTable(table) => (
                StatusCode::NOT_FOUND,
                "no-such-table",
                "There is no such table",
                Some(table),
                Vec::new(),
            ),
            Error::SpecMismatch { table, differences } => (
                StatusCode::CONFLICT,
                "spec-mismatch",
                "The table has another shape",
                Some(table),
                differences,
            ),
            Error::ReadOnly { reason } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "read-only",
                "The store takes no writes",
                None,
                vec![reason],
            ),
            other => {
                let (status, kind, title) = plain(&other);
                (status, kind, title, None, Vec::new())
            }
        };
        Problem {
            kind: format!("{TYPE_PREFIX}{kind}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail,
            field,
            reasons,
        }
    }
}

/// Errors that need no members of their own.
fn plain(error: &Error) -> (StatusCode, &'static str, &'static str) {
    match error {
        Error::Conflict => (
            StatusCode::CONFLICT,
            "conflict",
            "Another write is at the same item",
        ),
        Error::Throttled => (
            StatusCode::TOO_MANY_REQUESTS,
            "throttled",
            "The store asks for fewer requests",
        ),
        Error::Unavailable(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "The store did not answer",
        ),
        Error::Closed => (
            StatusCode::SERVICE_UNAVAILABLE,
            "closed",
            "The store is closed",
        ),
        _ => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "failed",
            "The store failed",
        ),
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        let Problem {
            kind,
            detail,
            field,
            mut reasons,
            ..
        } = problem;
        let field = field.unwrap_or_default();
        match kind.strip_prefix(TYPE_PREFIX).unwrap_or_default() {
            "invalid" => Error::invalid(field, reasons.pop().unwrap_or(detail)),
            "no-such-table" => Error::NoSuchTable(field),
            "spec-mismatch" => Error::SpecMismatch {
                table: field,
                differences: reasons,
            },
            "read-only" => Error::ReadOnly {
                reason: reasons.pop().unwrap_or(detail),
            },
            "conflict" => Error::Conflict,
            "throttled" => Error::Throttled,
            "unavailable" => Error::Unavailable(detail),
            "closed" => Error::Closed,
            _ => Error::backend("the server failed", detail),
        }
    }
}

/// The error and what caused it, in one line.
fn with_causes(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// What a handler fails with.
#[derive(Debug)]
pub(crate) struct Failed(Error);

impl From<Error> for Failed {
    fn from(error: Error) -> Failed {
        Failed(error)
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let problem = Problem::from(self.0);
        let status =
            StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        (status, kind, body).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_back_as_they_were() {
        let errors = [
            Error::invalid("PK", "the key is declared S, not N"),
            Error::NoSuchTable("orders".into()),
            Error::SpecMismatch {
                table: "orders".into(),
                differences: vec!["ttl: expected None, found Some".into(), "feed".into()],
            },
            Error::ReadOnly {
                reason: "the disk is full".into(),
            },
            Error::Conflict,
            Error::Throttled,
            Error::Closed,
        ];
        for error in errors {
            let text = error.to_string();
            let json = serde_json::to_string(&Problem::from(error)).unwrap();
            let back = Error::from(serde_json::from_str::<Problem>(&json).unwrap());
            assert_eq!(back.to_string(), text);
        }
    }

    #[test]
    fn a_fault_of_the_server_keeps_its_causes() {
        let fault = Error::io("writing the log", std::io::Error::other("disk on fire"));
        let back = Error::from(Problem::from(fault));
        let cause = std::error::Error::source(&back).unwrap().to_string();
        assert_eq!(cause, "writing the log: disk on fire");
    }
}
