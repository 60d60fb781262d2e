//! Errors of the API, in one place: every code with its status and meaning, and how the faults of a
//! store become one.
//!
//! A handler fails with an [`ApiError`]. It travels inside the response and is written out as
//! `application/problem+json` by the edge (`problem.rs`), which knows the request's id and time.

use std::sync::Arc;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use weir_table::Error;

use crate::limits::{REFUSED_LEN, RateLimit};
use crate::problem::{Details, Told};

/// Headers that the edge adds to an error.
const EDGE_HEADERS: usize = 5;

const URN_PREFIX: &str = "urn:weir:problem:";

/// A code as the end of a URN: `urn:weir:problem:invalid-request`.
#[expect(clippy::indexing_slicing, reason = "done by the compiler, which would refuse it")]
const fn urn<const N: usize>(code: &str) -> [u8; N] {
    let (prefix, code) = (URN_PREFIX.as_bytes(), code.as_bytes());
    let mut urn = [0; N];
    let mut place = 0;
    while place < N {
        urn[place] = match place.checked_sub(prefix.len()) {
            None => prefix[place],
            Some(place) if code[place] == b'_' => b'-',
            Some(place) => code[place].to_ascii_lowercase(),
        };
        place += 1;
    }
    urn
}

const fn text_of(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// Declares the codes: name, text on the wire, status, title, and what a caller does about it.
macro_rules! codes {
    ($($name:ident = $text:literal, $status:ident, $title:literal, $advice:literal;)*) => {
        /// What went wrong, for programs. The texts are part of the API, so they stay.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code on the wire.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The status it is answered with.
            #[must_use]
            pub fn status(self) -> StatusCode {
                match self { $(Code::$name => StatusCode::$status,)* }
            }

            /// The URN that is the same for every such error.
            pub(crate) fn kind(self) -> &'static str {
                match self {
                    $(Code::$name => {
                        const URN: [u8; URN_PREFIX.len() + $text.len()] = urn($text);
                        const { text_of(&URN) }
                    })*
                }
            }

            /// One sentence that is the same for every such error.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// What a caller does about it.
            #[must_use]
            pub fn advice(self) -> &'static str {
                match self { $(Code::$name => $advice,)* }
            }
        }
    };
}

codes! {
    InvalidRequest = "INVALID_REQUEST", BAD_REQUEST, "The request is wrong",
        "Correct the field that `details` names; repeating the request does not help.";
    InvalidConfig = "INVALID_CONFIG", BAD_REQUEST, "The configuration is wrong",
        "Correct the field that `details` names.";
    InvalidModelLabel = "INVALID_MODEL_LABEL", BAD_REQUEST, "There is no such model label",
        "Use a label of the catalogue, or register an inference profile.";
    UnknownPrice = "UNKNOWN_PRICE", BAD_REQUEST, "The model has no price",
        "Import a price, or let the org count unpriced models as zero.";
    Unauthorized = "UNAUTHORIZED", UNAUTHORIZED, "Credentials are missing or not valid",
        "Send the admin key as `X-API-Key` or a token as `Authorization: Bearer`.";
    Forbidden = "FORBIDDEN", FORBIDDEN, "The credentials do not reach this",
        "Ask for a token whose scope names this tenant.";
    NotFound = "NOT_FOUND", NOT_FOUND, "There is no such thing",
        "Check the path and the ids in it.";
    NoLimits = "NO_LIMITS", NOT_FOUND, "No limits are set for this",
        "Set limits for the system, the resource or the entity, or send `limits` along.";
    NotALease = "NOT_A_LEASE", NOT_FOUND, "This is not a lease of this namespace",
        "Send the `lease` that acquire answered, to the namespace that it is of.";
    MethodNotAllowed = "METHOD_NOT_ALLOWED", METHOD_NOT_ALLOWED, "The path has no such method",
        "Use a method that the `Allow` header names.";
    AlreadyExists = "ALREADY_EXISTS", CONFLICT, "There is one already",
        "Choose another id, or change the one there is.";
    Conflict = "CONFLICT", CONFLICT, "Somebody else is changing the same thing",
        "Read it again, then repeat the request.";
    StateConflict = "STATE_CONFLICT", CONFLICT, "It contradicts what is there",
        "`detail` says what is there; change the request, or that.";
    SetByConfiguration = "SET_BY_CONFIGURATION", CONFLICT, "Configuration decides this",
        "Change the configuration, then restart the server.";
    Gone = "GONE", GONE, "It was there, and is no more",
        "Begin anew; what the request refers to has ended.";
    LeaseExpired = "LEASE_EXPIRED", GONE, "The lease can no longer be settled",
        "Settle leases before `expires_at`, or ask for a longer `lease_ttl_secs`.";
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", PAYLOAD_TOO_LARGE, "The body is too large",
        "Send less at a time; `server.body_bytes_max` is the bound.";
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", UNSUPPORTED_MEDIA_TYPE, "The body has another type",
        "Send `Content-Type: application/json`.";
    RequestTimeout = "REQUEST_TIMEOUT", REQUEST_TIMEOUT, "The request took too long",
        "Send the body faster, or ask for less; then repeat the request.";
    QuotaExceeded = "QUOTA_EXCEEDED", TOO_MANY_REQUESTS, "The budget of the day is spent",
        "Wait as long as `Retry-After` says, or raise the quota.";
    RateLimitExceeded = "RATE_LIMIT_EXCEEDED", TOO_MANY_REQUESTS, "Too many requests",
        "Wait as long as `Retry-After` says.";
    InternalError = "INTERNAL_ERROR", INTERNAL_SERVER_ERROR, "The server failed",
        "The server's log says why, under the request id.";
    ServiceUnavailable = "SERVICE_UNAVAILABLE", SERVICE_UNAVAILABLE, "The server cannot do this now",
        "Repeat the request after `Retry-After`; `/readyz` tells how the store is.";
}

/// How a request failed.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub(crate) code: Code,
    pub(crate) detail: String,
    pub(crate) details: Details,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// The limit that was reached; told in headers too.
    pub(crate) limit: Option<Box<RateLimit>>,
    /// For the log and for the operator's own socket; never for the network.
    pub(crate) cause: Option<String>,
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
        ApiError::new(Code::InvalidRequest, format!("{field}: {problem}"))
            .with("field", field)
            .with("problem", problem)
    }

    /// There is no `what`.
    pub fn not_found(what: impl AsRef<str>) -> ApiError {
        ApiError::new(Code::NotFound, format!("there is no {}", what.as_ref()))
    }

    /// Adds a member to `details`.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> ApiError {
        let mut members = self.details.members();
        members.insert(name.to_owned(), value.into());
        self.details = Details::Members(members);
        self
    }

    /// Has `details` written from a value, without a tree of its members in between.
    #[must_use]
    pub(crate) fn telling(mut self, details: impl Told + 'static) -> ApiError {
        self.details = Details::Told(Arc::new(details));
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
            Error::SpecMismatch { table, differences } => ApiError::new(Code::Conflict, text)
                .with("kind", "spec-mismatch")
                .with("table", table)
                .with("differences", differences),
            Error::ReadOnly { reason } => ApiError::new(Code::ServiceUnavailable, text)
                .with("kind", "read-only")
                .with("reason", reason),
            Error::Conflict => ApiError::new(Code::Conflict, text).with("kind", "conflict"),
            Error::Throttled => unavailable("throttled", text),
            Error::Closed => unavailable("closed", text),
            Error::Unavailable(ref what) => {
                let what = what.clone();
                unavailable("unavailable", "the store did not answer").because(what)
            }
            other => ApiError::new(
                Code::InternalError,
                "the server's log says why, under this request's id",
            )
            .because(with_causes(&other)),
        }
    }
}

fn unavailable(kind: &str, detail: impl Into<String>) -> ApiError {
    let error = ApiError::new(Code::ServiceUnavailable, detail).with("kind", kind);
    crate::limits::retry_after(error, 1)
}

/// The error and what caused it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
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
            limit.tell(headers);
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
