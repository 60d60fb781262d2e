//! A secret text that no log shows.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// A secret text: hidden in `Debug`, without `Display`, and wiped from memory when dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a secret text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Zeroizing::new(text.into()))
    }

    /// The text in clear, for the one place that needs it: never for a log or an error.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("•••")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

/// A secret that can be serialized in clear.
///
/// [`Secret`] itself cannot be serialized, so that only fields that name [`in_clear`] ever are.
pub trait InClear {
    /// The secret text, if there is one.
    fn in_clear(&self) -> Option<&str>;
}

impl InClear for Secret {
    fn in_clear(&self) -> Option<&str> {
        Some(self.expose())
    }
}

impl InClear for Option<Secret> {
    fn in_clear(&self) -> Option<&str> {
        self.as_ref().map(Secret::expose)
    }
}

/// Serializes a secret in clear: `#[serde(serialize_with = "in_clear")]` on the fields of a request.
///
/// # Errors
/// The serializer fails.
pub fn in_clear<S: Serializer>(secret: &impl InClear, serializer: S) -> Result<S::Ok, S::Error> {
    match secret.in_clear() {
        Some(text) => serializer.serialize_str(text),
        None => ().serialize(serializer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_a_secret() {
        let secret = Secret::new("tide");
        assert_eq!(format!("{secret:?} {:#?}", Some(&secret)), "••• Some(\n    •••,\n)");
        assert_eq!(secret.expose(), "tide");
        let parsed: Secret = serde_json::from_str("\"tide\"").unwrap();
        assert_eq!(parsed.expose(), "tide");
    }
}
