//! A secret value.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

/// The text that replaces a secret.
pub(crate) const DOTS: &str = "•••";

/// A value that prints as dots. It has no `PartialEq`, because secrets must be compared in constant time.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// The value.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The bytes of a key written as base64, of either alphabet, padded or not.
    pub(crate) fn key_bytes(&self) -> Option<Vec<u8>> {
        let lenient =
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        [STANDARD, URL_SAFE].iter().find_map(|alphabet| {
            let engine = GeneralPurpose::new(alphabet, lenient);
            engine.decode(self.0.trim()).ok()
        })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(DOTS)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(DOTS)
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        // The usual message of a failed deserialisation quotes the value; this one does not.
        deserializer
            .deserialize_str(Text)
            .map_err(|_| D::Error::custom("a secret is text in quotes"))
    }
}

struct Text;

impl Visitor<'_> for Text {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text in quotes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Secret, E> {
        Ok(Secret(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret(text.to_owned())
    }

    #[test]
    fn a_secret_is_seen_nowhere() {
        assert_eq!(format!("{:?}", Some(secret("hunter2"))), "Some(•••)");
        assert_eq!(serde_json::to_string(&secret("hunter2")).unwrap(), "\"•••\"");
        let problem = serde_json::from_str::<Secret>("4711").unwrap_err();
        assert!(!problem.to_string().contains("4711"), "{problem}");
    }

    #[test]
    fn keys_are_base64_of_any_kind() {
        let bytes = vec![0xfb, 0xff, 0x01, 0x02];
        for text in ["+/8BAg==", "+/8BAg", "-_8BAg==", "-_8BAg", " -_8BAg\n"] {
            assert_eq!(secret(text).key_bytes(), Some(bytes.clone()), "{text:?}");
        }
        assert_eq!(secret("not base64!").key_bytes(), None);
    }
}
