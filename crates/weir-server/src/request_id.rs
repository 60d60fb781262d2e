//! The id of a request: the caller's own when it is usable, a new one otherwise. It is in every
//! answer, every problem and every line of the log.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header that carries it, both ways.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const LENGTH_MAX: usize = 128;

/// A request's id; handlers find it among the request's extensions.
#[derive(Debug, Clone)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The caller's id, or a new one.
    pub(crate) fn of(headers: &HeaderMap) -> RequestId {
        let sent = headers.get(HEADER).and_then(|id| id.to_str().ok());
        match sent.filter(|id| is_usable(id)) {
            Some(id) => RequestId(id.into()),
            None => RequestId(format!("{:032x}", fastrand::u128(..)).into()),
        }
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn value(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).unwrap_or_else(|_| HeaderValue::from_static("-"))
    }
}

/// Plain text only: an id goes into logs and must not break a line or a terminal.
fn is_usable(id: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (1..=LENGTH_MAX).contains(&id.len()) && id.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_usable_id_is_kept_and_another_replaced() {
        let id = |sent: &str| {
            let headers = HeaderMap::from_iter([(HEADER, HeaderValue::from_str(sent).unwrap())]);
            RequestId::of(&headers).text().to_owned()
        };
        assert_eq!(id("abc-1.2_3:4"), "abc-1.2_3:4");
        for bad in ["", "a b", "a\"b", &"x".repeat(129)] {
            assert_eq!(id(bad).len(), 32, "{bad:?}");
        }
        assert_ne!(
            RequestId::of(&HeaderMap::new()).text(),
            RequestId::of(&HeaderMap::new()).text()
        );
    }
}
