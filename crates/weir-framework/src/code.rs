//! Error codes: the part of an error that programs match on.
//!
//! The framework's own codes are associated constants, like those of `http::StatusCode`. A service declares its own with
//! [`codes!`](crate::codes) and lists them in [`Service::codes`](crate::Service::codes), which puts them into `docs/errors.md`.

use std::fmt;
use std::hash::{Hash, Hasher};

#[doc(hidden)]
pub use axum::http::StatusCode;

/// What went wrong, for programs. The names are part of the API and never change.
#[derive(Clone, Copy)]
pub struct Code(&'static CodeInfo);

/// Everything that every error of one code has in common.
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

    /// What a caller does about it.
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

/// A code's name as a URN, made by the compiler.
#[doc(hidden)]
#[must_use]
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which would refuse it")]
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

/// Declares error codes: name, HTTP status, title, and what a caller does about it. `ALL` lists them.
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
        INVALID_REQUEST = BAD_REQUEST, "The request is wrong",
            "Correct the field that `details` names; repeating the request does not help.";
        UNAUTHORIZED = UNAUTHORIZED, "Credentials are missing or not valid",
            "Send the admin key as `X-API-Key` or a token as `Authorization: Bearer`.";
        FORBIDDEN = FORBIDDEN, "The credentials do not reach this",
            "Ask for a token whose scope names this tenant.";
        NOT_FOUND = NOT_FOUND, "There is no such thing",
            "Check the path and the ids in it.";
        METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED, "The path has no such method",
            "Use a method that the `Allow` header names.";
        ALREADY_EXISTS = CONFLICT, "There is one already",
            "Choose another id, or change the one there is.";
        CONFLICT = CONFLICT, "Somebody else is changing the same thing",
            "Read it again, then repeat the request.";
        STATE_CONFLICT = CONFLICT, "It contradicts what is there",
            "`detail` says what is there; change the request, or that.";
        SET_BY_CONFIGURATION = CONFLICT, "Configuration decides this",
            "Change the configuration, then restart the server.";
        GONE = GONE, "It was there, and is no more",
            "Begin anew; what the request refers to has ended.";
        PAYLOAD_TOO_LARGE = PAYLOAD_TOO_LARGE, "The body is too large",
            "Send less at a time; `server.body_bytes_max` is the bound.";
        UNSUPPORTED_MEDIA_TYPE = UNSUPPORTED_MEDIA_TYPE, "The body has another type",
            "Send `Content-Type: application/json`.";
        REQUEST_TIMEOUT = REQUEST_TIMEOUT, "The request took too long",
            "Send the body faster, or ask for less; then repeat the request.";
        RATE_LIMIT_EXCEEDED = TOO_MANY_REQUESTS, "Too many requests",
            "Wait as long as `Retry-After` says.";
        INTERNAL_ERROR = INTERNAL_SERVER_ERROR, "The server failed",
            "The server's log says why, under the request id.";
        SERVICE_UNAVAILABLE = SERVICE_UNAVAILABLE, "The server cannot do this now",
            "Repeat the request after `Retry-After`; `/readyz` tells how the store is.";
    }
}

impl Code {
    /// The request is wrong.
    pub const INVALID_REQUEST: Code = own::INVALID_REQUEST;
    /// Credentials are missing or not valid.
    pub const UNAUTHORIZED: Code = own::UNAUTHORIZED;
    /// The credentials do not reach this.
    pub const FORBIDDEN: Code = own::FORBIDDEN;
    /// There is no such thing.
    pub const NOT_FOUND: Code = own::NOT_FOUND;
    /// The path has no such method.
    pub const METHOD_NOT_ALLOWED: Code = own::METHOD_NOT_ALLOWED;
    /// There is one already.
    pub const ALREADY_EXISTS: Code = own::ALREADY_EXISTS;
    /// Somebody else is changing the same thing.
    pub const CONFLICT: Code = own::CONFLICT;
    /// It contradicts what is there.
    pub const STATE_CONFLICT: Code = own::STATE_CONFLICT;
    /// Configuration decides this.
    pub const SET_BY_CONFIGURATION: Code = own::SET_BY_CONFIGURATION;
    /// It was there, and is no more.
    pub const GONE: Code = own::GONE;
    /// The body is too large.
    pub const PAYLOAD_TOO_LARGE: Code = own::PAYLOAD_TOO_LARGE;
    /// The body has another type.
    pub const UNSUPPORTED_MEDIA_TYPE: Code = own::UNSUPPORTED_MEDIA_TYPE;
    /// The request took too long.
    pub const REQUEST_TIMEOUT: Code = own::REQUEST_TIMEOUT;
    /// Too many requests.
    pub const RATE_LIMIT_EXCEEDED: Code = own::RATE_LIMIT_EXCEEDED;
    /// The server failed.
    pub const INTERNAL_ERROR: Code = own::INTERNAL_ERROR;
    /// The server cannot do this now.
    pub const SERVICE_UNAVAILABLE: Code = own::SERVICE_UNAVAILABLE;
    /// Every code of the framework.
    pub const ALL: &'static [Code] = own::ALL;
}
