//! Limits of plans: a number, or `unlimited`.

/// The number that stands for unlimited on the wire.
const UNLIMITED: i64 = -1;

/// Parses a limit.
///
/// # Errors
/// The text is neither a number nor `unlimited`.
pub(super) fn parse(text: &str) -> Result<i64, String> {
    match text {
        "unlimited" => Ok(UNLIMITED),
        text => text.parse().map_err(|_| format!("{text:?} is neither a number nor unlimited")),
    }
}

/// A limit for people.
pub(super) fn shown(limit: i64) -> String {
    match u64::try_from(limit) {
        Ok(limit) => crate::output::thousands(limit),
        Err(_) => "unlimited".to_owned(),
    }
}

/// What is left of a limit, for people.
pub(super) fn left(remaining: Option<u64>) -> String {
    remaining.map_or_else(|| "unlimited".to_owned(), crate::output::thousands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_numbers_or_unlimited() {
        for (text, limit) in [("0", 0), ("50", 50), ("-1", -1), ("unlimited", -1)] {
            assert_eq!(parse(text), Ok(limit));
        }
        assert!(parse("many").unwrap_err().contains("\"many\""));
        assert_eq!((shown(-1), shown(1_500)), ("unlimited".to_owned(), "1,500".to_owned()));
        assert_eq!((left(None), left(Some(3))), ("unlimited".to_owned(), "3".to_owned()));
    }
}
