//! The header `Idempotency-Key`: repeated requests with the same key take effect once.
//!
//! Commands and routes validate the key by the same rule, so a command can reject a key before it sends the request.

use std::str::FromStr;

use axum::http::{HeaderName, HeaderValue};

/// The header.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const KEY_MAX: usize = 64;

/// A key: 1 to 64 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnceKey(HeaderValue);

/// The problem of an invalid key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have 1 to {KEY_MAX} visible ASCII characters")]
pub struct NotAKey;

impl OnceKey {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // The key is visible ASCII, which is always text.
        self.0.to_str().unwrap_or_default()
    }
}

impl TryFrom<&HeaderValue> for OnceKey {
    type Error = NotAKey;

    fn try_from(value: &HeaderValue) -> Result<OnceKey, NotAKey> {
        let key = value.as_bytes();
        let is_key = (1..=KEY_MAX).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
        if is_key { Ok(OnceKey(value.clone())) } else { Err(NotAKey) }
    }
}

impl FromStr for OnceKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<OnceKey, NotAKey> {
        let value = HeaderValue::from_str(text).map_err(|_| NotAKey)?;
        OnceKey::try_from(&value)
    }
}

impl From<&OnceKey> for HeaderValue {
    fn from(key: &OnceKey) -> HeaderValue {
        key.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_visible_and_not_long() {
        let longest = "k".repeat(KEY_MAX);
        for good in ["a", "request-1", "{~}", longest.as_str()] {
            assert_eq!(good.parse::<OnceKey>().unwrap().as_str(), good);
        }
        let long = "k".repeat(KEY_MAX + 1);
        for wrong in ["", "a b", "ä", "a\n", "\u{7f}", long.as_str()] {
            assert_eq!(wrong.parse::<OnceKey>(), Err(NotAKey), "{wrong:?}");
        }
    }
}
