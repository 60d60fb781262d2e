//! The headers that tell a caller how much it may still ask, and when to come back.
//!
//! `RateLimit` and `RateLimit-Policy` are written as draft 11 of the IETF's "RateLimit header fields
//! for HTTP" has them; `X-RateLimit-*` are what older clients read.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::error::ApiError;
use crate::json::put;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const OLD_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const OLD_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const OLD_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The headers of a refusal.
const REFUSED: [HeaderName; REFUSED_LEN] =
    [header::RETRY_AFTER, RATE_LIMIT, RATE_LIMIT_POLICY, OLD_LIMIT, OLD_REMAINING, OLD_RESET];
pub(crate) const REFUSED_LEN: usize = 6;

/// Room for the texts of ordinary headers.
const ORDINARY_LEN: usize = 128;

/// A limit as a caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// Its name, in letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// How much a window allows.
    pub quota: u64,
    /// How long a window is.
    pub window_secs: u64,
    /// How much is left.
    pub remaining: u64,
    /// In how many seconds more is there.
    pub reset_secs: u64,
}

impl RateLimit {
    /// Has a refusal tell it in its headers, and when to come back.
    #[must_use]
    pub fn refuse(self, error: ApiError) -> ApiError {
        ApiError { limit: Some(Box::new(self)), ..error }
    }

    /// Puts the headers into the answer to whoever was refused. One piece of memory holds their texts.
    pub fn tell(&self, headers: &mut HeaderMap) {
        let mut texts = Vec::with_capacity(ORDINARY_LEN);
        let to = &mut texts;
        let ends = [
            number(to, at_least_a_second(self.reset_secs)),
            self.named(to, (";r=", self.remaining), (";t=", self.reset_secs)),
            self.named(to, (";q=", self.quota), (";w=", self.window_secs)),
            number(to, self.quota),
            number(to, self.remaining),
            number(to, self.reset_secs),
        ];
        let texts = Bytes::from(texts);
        let mut from = 0;
        for (name, end) in REFUSED.into_iter().zip(ends) {
            // All of it is plain, so it is a value.
            if let Ok(value) = HeaderValue::from_maybe_shared(texts.slice(from..end)) {
                headers.insert(name, value);
            }
            from = end;
        }
    }

    /// Appends two numbers of the limit; tells where they end.
    fn named(&self, to: &mut Vec<u8>, one: (&str, u64), other: (&str, u64)) -> usize {
        to.push(b'"');
        to.extend(self.name.bytes().filter(|byte| is_plain(*byte)));
        to.push(b'"');
        put(to, one.0, &one.1);
        put(to, other.0, &other.1);
        to.len()
    }
}

/// What may stand in a structured header's string without escaping.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Appends a number; tells where it ends.
fn number(to: &mut Vec<u8>, number: u64) -> usize {
    put(to, "", &number);
    to.len()
}

/// Says when to come back.
#[must_use]
pub fn retry_after(error: ApiError, secs: u64) -> ApiError {
    error.header(header::RETRY_AFTER, at_least_a_second(secs).into())
}

/// So that nobody comes back at once.
fn at_least_a_second(secs: u64) -> u64 {
    secs.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn a_refusal_tells_the_limit_in_both_forms() {
        let limit = RateLimit {
            name: "to\"ken".into(),
            quota: 10,
            window_secs: 60,
            remaining: 0,
            reset_secs: 0,
        };
        let mut error = limit.refuse(ApiError::new(Code::RATE_LIMIT_EXCEEDED, "too many"));
        let told: Vec<String> = error
            .bare_response()
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(
            told,
            [
                "retry-after: 1",
                "ratelimit: \"token\";r=0;t=0",
                "ratelimit-policy: \"token\";q=10;w=60",
                "x-ratelimit-limit: 10",
                "x-ratelimit-remaining: 0",
                "x-ratelimit-reset: 0",
            ]
        );
    }
}
