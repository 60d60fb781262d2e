//! Error codes: the part of an error that programs match on.
//!
//! The framework's own codes are associated constants, like those of `http::StatusCode`. A service declares its own with
//! [`codes!`](crate::codes) and lists them in [`Service::codes`](crate::Service::codes), which puts them into `docs/errors.md`.

use std::fmt;
use std::hash::{Hash, Hasher};

#[doc(hidden)]
pub use axum::http::StatusCode;

/// An error code, for programs. The names are part of the API and never change.
#[derive(Clone, Copy)]
pub struct Code(&'static CodeInfo);

/// The attributes that all errors of one code share.
#[doc(hidden)]
#[derive(Debug)]
pub struct CodeInfo {
    pub name: &'static str,
    pub urn: &'static str,
    pub status: StatusCode,
    pub title: &'static str,
    pub advice: &'static str,
}

impl Code {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(info: &'static CodeInfo) -> Code {
        Code(info)
    }

    /// The code on the wire: `INVALID_REQUEST`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The HTTP status of the response.
    #[must_use]
    pub fn status(self) -> StatusCode {
        self.0.status
    }

    /// The problem type of RFC 9457: `urn:weir:problem:invalid-request`.
    #[must_use]
    pub fn urn(self) -> &'static str {
        self.0.urn
    }

    /// One sentence that is the same for every error of this code.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.0.title
    }

    /// The advice to a client.
    #[must_use]
    pub fn advice(self) -> &'static str {
        self.0.advice
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name)
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Code {}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

#[doc(hidden)]
pub const URN_PREFIX: &str = "urn:weir:problem:";

/// A code's name as a URN, evaluated at compile time.
#[doc(hidden)]
#[must_use]
#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where it would be an error"
)]
pub const fn urn<const N: usize>(name: &str) -> [u8; N] {
    let (prefix, name) = (URN_PREFIX.as_bytes(), name.as_bytes());
    let mut urn = [0; N];
    let mut index = 0;
    while index < N {
        urn[index] = match index.checked_sub(prefix.len()) {
            None => prefix[index],
            Some(index) if name[index] == b'_' => b'-',
            Some(index) => name[index].to_ascii_lowercase(),
        };
        index += 1;
    }
    urn
}

#[doc(hidden)]
#[must_use]
pub const fn ascii(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

/// Declares error codes: name, HTTP status, title, and advice for the client. `ALL` lists them.
#[macro_export]
macro_rules! codes {
    ($($name:ident = $status:ident, $title:literal, $advice:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: $crate::Code = {
                const URN: [u8; $crate::code::URN_PREFIX.len() + stringify!($name).len()] =
                    $crate::code::urn(stringify!($name));
                static INFO: $crate::code::CodeInfo = $crate::code::CodeInfo {
                    name: stringify!($name),
                    urn: $crate::code::ascii(&URN),
                    status: $crate::code::StatusCode::$status,
                    title: $title,
                    advice: $advice,
                };
                $crate::Code::new(&INFO)
            };
        )*

        /// Every code declared here.
        pub const ALL: &[$crate::Code] = &[$($name,)*];
    };
}

/// The framework's own codes, which [`Code`] has as constants.
#[doc(hidden)]
pub mod own {
    crate::codes! {
        INVALID_REQUEST = BAD_REQUEST, "The request is not valid",
            "Correct the field in `details.field`. Retrying the same request does not help.";
        UNAUTHORIZED = UNAUTHORIZED, "Credentials are missing or not valid",
            "Send the admin key as `X-API-Key` or a token as `Authorization: Bearer`.";
        FORBIDDEN = FORBIDDEN, "The credentials lack the required scope",
            "Use a token whose scope includes this tenant.";
        CSRF_TOKEN_INVALID = FORBIDDEN, "The session's CSRF token is missing or wrong",
            "Send the `csrf_token` of `GET /v1/session` as `X-CSRF-Token`.";
        CROSS_SITE_REQUEST = FORBIDDEN, "Another site caused the request",
            "Open the console itself. Programs send a token instead of a cookie.";
        NOT_FOUND = NOT_FOUND, "Not found",
            "Check the path and the ids in it.";
        METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED, "The path does not support this method",
            "Use a method of the `Allow` header.";
        ALREADY_EXISTS = CONFLICT, "The resource already exists",
            "Choose another id, or update the existing one.";
        CONFLICT = CONFLICT, "A concurrent request changed the same item",
            "Read the item again, then retry.";
        STATE_CONFLICT = CONFLICT, "The request conflicts with the current state",
            "`detail` describes the state; change the request or the state.";
        SET_BY_CONFIGURATION = CONFLICT, "The setting is fixed by the configuration",
            "Change the configuration and restart the server.";
        GONE = GONE, "The resource no longer exists",
            "Start over with a new one.";
        PAYLOAD_TOO_LARGE = PAYLOAD_TOO_LARGE, "The request body is too large",
            "Send a smaller body; `detail` names the limit.";
        UNSUPPORTED_MEDIA_TYPE = UNSUPPORTED_MEDIA_TYPE, "The content type is not supported",
            "Send `Content-Type: application/json`.";
        REQUEST_TIMEOUT = REQUEST_TIMEOUT, "The request timed out",
            "Send the body faster or request less, then retry.";
        RATE_LIMIT_EXCEEDED = TOO_MANY_REQUESTS, "Rate limit exceeded",
            "Retry after the time in `Retry-After`.";
        INTERNAL_ERROR = INTERNAL_SERVER_ERROR, "Internal server error",
            "Look up the request id in the server's log.";
        SERVICE_UNAVAILABLE = SERVICE_UNAVAILABLE, "The service is unavailable",
            "Retry after the time in `Retry-After`; `/readyz` shows the state of the store.";
        INSUFFICIENT_STORAGE = INSUFFICIENT_STORAGE, "The disk of the store is nearly full",
            "Free some space or enlarge the disk; nothing was written. Deletions and settlements are still accepted.";
    }
}

impl Code {
    /// The request is not valid.
    pub const INVALID_REQUEST: Code = own::INVALID_REQUEST;
    /// Credentials are missing or not valid.
    pub const UNAUTHORIZED: Code = own::UNAUTHORIZED;
    /// The credentials lack the required scope.
    pub const FORBIDDEN: Code = own::FORBIDDEN;
    /// The session's CSRF token is missing or wrong.
    pub const CSRF_TOKEN_INVALID: Code = own::CSRF_TOKEN_INVALID;
    /// Another site caused the request.
    pub const CROSS_SITE_REQUEST: Code = own::CROSS_SITE_REQUEST;
    /// Not found.
    pub const NOT_FOUND: Code = own::NOT_FOUND;
    /// The path does not support this method.
    pub const METHOD_NOT_ALLOWED: Code = own::METHOD_NOT_ALLOWED;
    /// The resource already exists.
    pub const ALREADY_EXISTS: Code = own::ALREADY_EXISTS;
    /// A concurrent request changed the same item.
    pub const CONFLICT: Code = own::CONFLICT;
    /// The request conflicts with the current state.
    pub const STATE_CONFLICT: Code = own::STATE_CONFLICT;
    /// The setting is fixed by the configuration.
    pub const SET_BY_CONFIGURATION: Code = own::SET_BY_CONFIGURATION;
    /// The resource no longer exists.
    pub const GONE: Code = own::GONE;
    /// The request body is too large.
    pub const PAYLOAD_TOO_LARGE: Code = own::PAYLOAD_TOO_LARGE;
    /// The content type is not supported.
    pub const UNSUPPORTED_MEDIA_TYPE: Code = own::UNSUPPORTED_MEDIA_TYPE;
    /// The request timed out.
    pub const REQUEST_TIMEOUT: Code = own::REQUEST_TIMEOUT;
    /// Rate limit exceeded.
    pub const RATE_LIMIT_EXCEEDED: Code = own::RATE_LIMIT_EXCEEDED;
    /// Internal server error.
    pub const INTERNAL_ERROR: Code = own::INTERNAL_ERROR;
    /// The service is unavailable.
    pub const SERVICE_UNAVAILABLE: Code = own::SERVICE_UNAVAILABLE;
    /// The disk of the store is nearly full.
    pub const INSUFFICIENT_STORAGE: Code = own::INSUFFICIENT_STORAGE;
    /// Every code of the framework.
    pub const ALL: &'static [Code] = own::ALL;
}
