//! Partial updates: a field that is absent stays as it is, and a field that is `null` is cleared.

use serde::{Deserialize, Deserializer};

/// Reads a field that is present: `Some(None)` for `null`. Used with `#[serde(default)]`, so an absent one is `None`.
///
/// # Errors
/// The field has another type.
pub fn present<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Patch {
        #[serde(default, deserialize_with = "present")]
        url: Option<Option<String>>,
    }

    #[test]
    fn absent_and_null_differ() {
        for (text, url) in [
            ("{}", None),
            (r#"{"url": null}"#, Some(None)),
            (r#"{"url": "x"}"#, Some(Some("x".to_owned()))),
        ] {
            assert_eq!(serde_json::from_str::<Patch>(text).unwrap(), Patch { url });
        }
    }
}
