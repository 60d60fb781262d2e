//! A secret value.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};

use crate::failure::Failure;

/// The text that replaces a secret.
pub(crate) const DOTS: &str = "•••";

/// The end of the variable with the path of a secret's file: `WEIR_ADMIN_KEY_FILE` for `WEIR_ADMIN_KEY`.
pub(super) const SECRET_FILE: &str = "_FILE";

/// A value that prints as dots. It has no `PartialEq`, because secrets must be compared in constant time.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// The value.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Reads the secret in `file`, without the line breaks at its end. `name` is the setting of the file in errors.
    ///
    /// # Errors
    /// The file cannot be read, or is empty.
    pub(crate) fn read(name: &str, file: &Path) -> Result<Secret, Failure> {
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::usage(format!("{name} cannot be read: {}", file.display())).because(error)
        })?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(Failure::usage(format!("{name} is empty: {}", file.display())));
        }
        Ok(Secret(text.to_owned()))
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

/// The secret of a command: in `file` if the caller names one, else in the variable `name`, else in the file that the
/// variable `{name}_FILE` names.
///
/// # Errors
/// Two of them are set, or the file cannot be read or is empty.
pub(crate) fn secret_variable(name: &str, file: Option<&Path>) -> Result<Option<String>, Failure> {
    if let Some(file) = file {
        return Secret::read("the file", file).map(|secret| Some(secret.0));
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let file_name = format!("{name}{SECRET_FILE}");
    match (variable(name), variable(&file_name)) {
        (Some(_), Some(_)) => {
            Err(Failure::usage(format!("{name} and {file_name} are both set; set only one")))
        }
        (Some(value), None) => {
            let text = value.into_string();
            text.map(Some).map_err(|_| Failure::usage(format!("{name} is not UTF-8")))
        }
        (None, Some(file)) => {
            Secret::read(&file_name, &PathBuf::from(file)).map(|secret| Some(secret.0))
        }
        (None, None) => Ok(None),
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
    fn a_file_has_one_secret_and_line_breaks_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let read = || Secret::read("auth.admin_key_file", &file);
        let missing = format!("{:?}", read().unwrap_err());
        assert!(missing.contains("auth.admin_key_file cannot be read: "), "{missing}");
        std::fs::write(&file, " open sesame \r\n\n").unwrap();
        assert_eq!(read().unwrap().expose(), " open sesame ");
        std::fs::write(&file, "\n").unwrap();
        let empty = format!("{:?}", read().unwrap_err());
        assert!(empty.contains("auth.admin_key_file is empty: "), "{empty}");
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
