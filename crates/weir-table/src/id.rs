//! Ids that become parts of keys, validated on input.
//!
//! Keys join their parts with separators, so an id that contained one could address another item. A domain declares its ids
//! and their formats with [`ids!`](crate::ids).

use crate::value::Name;

/// Characters of an invalid text that an error shows.
const SHOWN_MAX: usize = 80;

/// A text for an error message: quoted and truncated.
#[must_use]
pub fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// The text, if `is_good` accepts it.
#[must_use]
pub fn as_is(text: &str, is_good: impl Fn(&str) -> bool) -> Option<Name> {
    is_good(text).then(|| text.into())
}

/// The text, if it has at most `max` bytes, begins with a `first` byte and has only `rest` bytes.
#[must_use]
pub fn shaped(text: &str, max: usize, first: fn(u8) -> bool, rest: fn(u8) -> bool) -> Option<Name> {
    let is_good = |text: &str| {
        text.len() <= max && text.bytes().next().is_some_and(first) && text.bytes().all(rest)
    };
    as_is(text, is_good)
}

/// Declares id types: the name of each, its field in requests, how it is parsed, and its format for error messages. The crate
/// must have an `error::Error` with `Invalid` and `invalid(field, problem)`.
#[macro_export]
#[expect(
    clippy::crate_in_macro_def,
    reason = "the error is that of the crate that declares the ids"
)]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident, $field:literal, $read:expr, $rule:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "weir_table::Name", into = "weir_table::Name")]
        pub struct $name($crate::Name);

        impl $name {
            /// The format of an id of this kind.
            pub const RULE: &str = $rule;

            /// Checks `text`.
            ///
            /// # Errors
            /// The text is not an id of this kind.
            pub fn new(text: impl AsRef<str>) -> Result<$name, crate::error::Error> {
                let text = text.as_ref();
                let read: fn(&str) -> Option<$crate::Name> = $read;
                read(text).map($name).ok_or_else(|| {
                    let problem = format!("{} is not {}", $crate::id::shown(text), Self::RULE);
                    crate::error::Error::invalid($field, problem)
                })
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self.as_str(), f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::error::Error;

            fn from_str(text: &str) -> Result<$name, crate::error::Error> {
                $name::new(text)
            }
        }

        impl TryFrom<$crate::Name> for $name {
            /// Returns only the problem; the caller knows the field.
            type Error = String;

            fn try_from(text: $crate::Name) -> Result<$name, String> {
                $name::new(text).map_err(|error| match error {
                    crate::error::Error::Invalid { problem, .. } => problem,
                    other => other.to_string(),
                })
            }
        }

        impl From<$name> for $crate::Name {
            fn from(id: $name) -> $crate::Name {
                id.0
            }
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_in_part() {
        assert_eq!(shown("a\"b"), "\"a\\\"b\"");
        assert_eq!(shown(&"x".repeat(100)), format!("\"{}\"…", "x".repeat(80)));
    }

    #[test]
    fn a_shape_has_a_first_byte_and_a_length() {
        let read =
            |text| shaped(text, 3, |b| b.is_ascii_alphabetic(), |b| b.is_ascii_alphanumeric());
        assert_eq!(read("a1b").as_deref(), Some("a1b"));
        assert_eq!([read(""), read("1a"), read("a#"), read("abcd")], [None, None, None, None]);
    }
}
