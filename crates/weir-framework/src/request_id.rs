//! The id of a request: the caller's own if it is usable, otherwise a new one. Every response, problem and log
//! line contains it.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header of the id, in requests and responses.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const LENGTH_MAX: usize = 128;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// A request's id; handlers take it like any other part of the request.
#[derive(Debug, Clone)]
pub struct RequestId(Text);

#[derive(Debug, Clone)]
enum Text {
    Sent(HeaderValue),
    Made([u8; 32]),
}

impl RequestId {
    /// The caller's id, or a new one.
    pub(crate) fn of(headers: &HeaderMap) -> RequestId {
        match headers.get(HEADER).filter(|id| is_usable(id.as_bytes())) {
            Some(id) => RequestId(Text::Sent(id.clone())),
            None => RequestId(Text::Made(hexadecimal(fastrand::u128(..)))),
        }
    }

    /// The text of the id.
    #[must_use]
    pub fn text(&self) -> &str {
        let text = match &self.0 {
            Text::Sent(id) => id.to_str().ok(),
            Text::Made(id) => std::str::from_utf8(id).ok(),
        };
        // Both are plain text.
        text.unwrap_or("-")
    }

    pub(crate) fn value(&self) -> HeaderValue {
        match &self.0 {
            Text::Sent(id) => id.clone(),
            Text::Made(id) => {
                HeaderValue::from_bytes(id).unwrap_or_else(|_| HeaderValue::from_static("-"))
            }
        }
    }
}

/// Plain text only: an id goes into logs and must not break a line or a terminal.
fn is_usable(id: &[u8]) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    (1..=LENGTH_MAX).contains(&id.len()) && id.iter().copied().all(plain)
}

/// All 32 digits of a number.
fn hexadecimal(number: u128) -> [u8; 32] {
    let mut digits = [b'0'; 32];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(number.to_be_bytes()) {
        for (digit, half) in pair.iter_mut().zip([byte >> 4, byte & 0xf]) {
            *digit = HEX.get(usize::from(half)).copied().unwrap_or(b'0');
        }
    }
    digits
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
        assert_eq!(&hexadecimal(0xa0f), format!("{:032x}", 0xa0f).as_bytes());
        assert_eq!(&hexadecimal(u128::MAX), format!("{:032x}", u128::MAX).as_bytes());
        assert_ne!(
            RequestId::of(&HeaderMap::new()).text(),
            RequestId::of(&HeaderMap::new()).text()
        );
    }
}
