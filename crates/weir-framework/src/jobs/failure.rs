//! The reason why a run failed, as bounded text on one line. It is stored, shown and logged.

use std::error::Error;
use std::fmt;

use super::settings::ERROR_TEXT_MAX;

/// The result of a job's work.
pub type Result<T> = std::result::Result<T, Failure>;

/// The reason why a run failed.
///
/// `?` converts any error. The text is stored and shown to operators, so an error that a job returns must not contain a
/// secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure {
    text: String,
}

impl Failure {
    /// A failure with this text, cut to its bound and without line breaks.
    pub fn new(text: impl AsRef<str>) -> Failure {
        let mut kept = String::new();
        for c in text.as_ref().chars() {
            let c = if c.is_control() { ' ' } else { c };
            if kept.len() + c.len_utf8() > ERROR_TEXT_MAX {
                break;
            }
            kept.push(c);
        }
        Failure { text: kept }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        let mut text = error.to_string();
        let mut cause = error.source();
        // A chain of causes that is longer than the bound would be cut anyway.
        while let Some(source) = cause
            && text.len() < ERROR_TEXT_MAX
        {
            text.push_str(": ");
            text.push_str(&source.to_string());
            cause = source.source();
        }
        Failure::new(text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_and_on_one_line() {
        let long = Failure::new("ä\n".repeat(ERROR_TEXT_MAX));
        assert!(long.text().len() <= ERROR_TEXT_MAX);
        assert!(long.text().starts_with("ä ä "));
    }

    #[test]
    fn causes_are_told_too() {
        let error = weir_table::Error::backend("reading prices", "no route to the host");
        assert_eq!(Failure::from(error).text(), "reading prices: no route to the host");
    }
}
