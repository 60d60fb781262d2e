//! The headers that tell a caller how much it may still ask, and when to come back.
//!
//! `RateLimit` and `RateLimit-Policy` are written as draft 11 of the IETF's "RateLimit header fields
//! for HTTP" has them; `X-RateLimit-*` are what older clients read.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::error::ApiError;
use crate::json::put;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const OLD_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const OLD_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const OLD_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Room for the text of an ordinary header.
const ORDINARY_LEN: usize = 64;

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
    /// The headers that tell it.
    pub fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let text = &mut Vec::with_capacity(ORDINARY_LEN);
        [
            (RATE_LIMIT, self.named(text, (";r=", self.remaining), (";t=", self.reset_secs))),
            (RATE_LIMIT_POLICY, self.named(text, (";q=", self.quota), (";w=", self.window_secs))),
            (OLD_LIMIT, number(text, self.quota)),
            (OLD_REMAINING, number(text, self.remaining)),
            (OLD_RESET, number(text, self.reset_secs)),
        ]
        .into_iter()
    }

    /// Two numbers of the limit; written in `text`, as all are.
    fn named(&self, text: &mut Vec<u8>, one: (&str, u64), other: (&str, u64)) -> HeaderValue {
        text.clear();
        text.push(b'"');
        text.extend(self.name.bytes().filter(|byte| is_plain(*byte)));
        text.push(b'"');
        put(text, one.0, &one.1);
        put(text, other.0, &other.1);
        value(text)
    }

    /// Puts the headers into an answer.
    pub fn tell(&self, headers: &mut HeaderMap) {
        headers.extend(self.headers().map(|(name, value)| (Some(name), value)));
    }

    /// Puts the headers, and when to come back, into a refusal.
    #[must_use]
    pub fn refuse(&self, error: ApiError) -> ApiError {
        let mut refused = error;
        refused.headers.reserve(6);
        let mut refused = retry_after(refused, self.reset_secs);
        refused.headers.extend(self.headers());
        refused
    }
}

/// What may stand in a structured header's string without escaping.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn number(text: &mut Vec<u8>, number: u64) -> HeaderValue {
    text.clear();
    put(text, "", &number);
    value(text)
}

fn value(text: &[u8]) -> HeaderValue {
    // All of it is plain.
    HeaderValue::from_bytes(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Says when to come back: at least a second, so that nobody comes back at once.
#[must_use]
pub fn retry_after(error: ApiError, secs: u64) -> ApiError {
    error.header(header::RETRY_AFTER, secs.max(1).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn a_refusal_tells_the_limit_in_both_forms() {
        let limit = RateLimit {
            name: "to\"ken".into(),
            quota: 10,
            window_secs: 60,
            remaining: 0,
            reset_secs: 0,
        };
        let error = limit.refuse(ApiError::new(Code::RateLimitExceeded, "too many"));
        let told: Vec<String> = error
            .headers
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
