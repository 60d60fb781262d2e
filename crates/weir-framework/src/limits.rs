//! The headers of rate limits: what remains, and when to retry.
//!
//! `RateLimit` and `RateLimit-Policy` follow draft 11 of the IETF's "RateLimit header fields for
//! HTTP"; `X-RateLimit-*` are for older clients.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use weir_table::Name;

use crate::code::Code;
use crate::error::ApiError;
use crate::problem::RetryAfter;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const OLD_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const OLD_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const OLD_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The headers of a refusal.
const REFUSED: [HeaderName; REFUSED_LEN] =
    [header::RETRY_AFTER, RATE_LIMIT, RATE_LIMIT_POLICY, OLD_LIMIT, OLD_REMAINING, OLD_RESET];
pub(crate) const REFUSED_LEN: usize = 6;

/// The capacity for the values of all headers; most fit.
const VALUES_CAPACITY: usize = 128;

/// A rate limit as its headers show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimitHeader {
    /// The name, of letters, digits, `_`, `-` and `.`.
    pub name: Name,
    /// The quota of a window.
    pub quota: u64,
    /// The length of the window, in seconds.
    pub window_secs: u64,
    /// The remaining quota.
    pub remaining: u64,
    /// Seconds until more is available.
    pub reset_secs: u64,
}

/// When a refused request may be sent again. Boxed in its error, which travels by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The limit that was exceeded; sent in headers.
    pub(crate) limit: Option<RateLimitHeader>,
    pub(crate) retry_after: RetryAfter,
}

impl RateLimitHeader {
    /// Adds the headers of this limit to a refusal.
    #[must_use]
    pub fn refuse(self, error: ApiError) -> ApiError {
        let retry_after = RetryAfter::Secs(at_least_a_second(self.reset_secs));
        ApiError { wait: Some(Box::new(Wait { limit: Some(self), retry_after })), ..error }
    }

    /// Inserts the headers. All values share one allocation.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        let mut texts = Vec::with_capacity(VALUES_CAPACITY);
        let to = &mut texts;
        let ends = [
            number(to, at_least_a_second(self.reset_secs)),
            self.item(to, (";r=", self.remaining), (";t=", self.reset_secs)),
            self.item(to, (";q=", self.quota), (";w=", self.window_secs)),
            number(to, self.quota),
            number(to, self.remaining),
            number(to, self.reset_secs),
        ];
        let texts = Bytes::from(texts);
        let mut from = 0;
        for (name, end) in REFUSED.into_iter().zip(ends) {
            // The values are ASCII, so this does not fail.
            if let Ok(value) = HeaderValue::from_maybe_shared(texts.slice(from..end)) {
                headers.insert(name, value);
            }
            from = end;
        }
    }

    /// Appends the limit with two parameters; returns where the value ends.
    fn item(&self, to: &mut Vec<u8>, first: (&str, u64), second: (&str, u64)) -> usize {
        to.push(b'"');
        match self.name.bytes().all(is_plain) {
            true => to.extend_from_slice(self.name.as_bytes()),
            false => to.extend(self.name.bytes().filter(|byte| is_plain(*byte))),
        }
        to.push(b'"');
        for (name, value) in [first, second] {
            to.extend_from_slice(name.as_bytes());
            number(to, value);
        }
        to.len()
    }
}

/// Inserts `RateLimit` and `RateLimit-Policy` of a response that grants, with all `limits`. Both values share one
/// allocation.
pub fn granted<'a>(
    limits: impl Iterator<Item = &'a RateLimitHeader> + Clone,
    headers: &mut HeaderMap,
) {
    let mut texts = Vec::with_capacity(VALUES_CAPACITY);
    let mut list = |write: fn(&RateLimitHeader, &mut Vec<u8>)| {
        for (number, limit) in limits.clone().enumerate() {
            if number > 0 {
                texts.extend_from_slice(b", ");
            }
            write(limit, &mut texts);
        }
        texts.len()
    };
    let middle = list(|limit, to| {
        limit.item(to, (";r=", limit.remaining), (";t=", limit.reset_secs));
    });
    let end = list(|limit, to| {
        limit.item(to, (";q=", limit.quota), (";w=", limit.window_secs));
    });
    let texts = Bytes::from(texts);
    for (name, range) in [(RATE_LIMIT, 0..middle), (RATE_LIMIT_POLICY, middle..end)] {
        match HeaderValue::from_maybe_shared(texts.slice(range)) {
            Ok(value) if !value.is_empty() => drop(headers.insert(name, value)),
            // There are no limits; the values are ASCII, so this does not fail.
            _ => {}
        }
    }
}

/// Characters that need no escaping in a string of a structured header.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Appends a number; returns where it ends.
fn number(to: &mut Vec<u8>, number: u64) -> usize {
    // Writing to memory does not fail.
    serde_json::to_writer(&mut *to, &number).ok();
    to.len()
}

/// A request that lost too many races for the same item. It may succeed in a second.
#[must_use]
pub fn contended(detail: impl Into<String>) -> ApiError {
    retry_after(ApiError::new(Code::SERVICE_UNAVAILABLE, detail).with("kind", "contended"), 1)
}

/// Adds `Retry-After` to an error, and `retry_after` to its body unless that has a time.
#[must_use]
pub fn retry_after(mut error: ApiError, secs: u64) -> ApiError {
    let secs = at_least_a_second(secs);
    let wait = || Box::new(Wait { limit: None, retry_after: RetryAfter::Secs(secs) });
    error.wait.get_or_insert_with(wait);
    error.header(header::RETRY_AFTER, secs.into())
}

/// A client must not retry at once.
fn at_least_a_second(secs: u64) -> u64 {
    secs.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn a_grant_lists_all_limits_in_both_headers() {
        let limit = |name: &str, quota| RateLimitHeader {
            name: name.into(),
            quota,
            window_secs: 60,
            remaining: quota - 1,
            reset_secs: 6,
        };
        let limits = [limit("rpm", 10), limit("tpm", 500)];
        let mut headers = HeaderMap::new();
        granted(limits.iter(), &mut headers);
        assert_eq!(headers[RATE_LIMIT], "\"rpm\";r=9;t=6, \"tpm\";r=499;t=6");
        assert_eq!(headers[RATE_LIMIT_POLICY], "\"rpm\";q=10;w=60, \"tpm\";q=500;w=60");
        let mut none = HeaderMap::new();
        granted([].iter(), &mut none);
        assert!(none.is_empty());
    }

    #[test]
    fn a_refusal_has_both_forms_of_headers() {
        let limit = RateLimitHeader {
            name: "to\"ken".into(),
            quota: 10,
            window_secs: 60,
            remaining: 0,
            reset_secs: 0,
        };
        let mut error = limit.refuse(ApiError::new(Code::RATE_LIMIT_EXCEEDED, "too many"));
        let headers: Vec<String> = error
            .bare_response()
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(
            headers,
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
