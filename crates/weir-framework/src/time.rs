//! Times on the wire: RFC 3339 in UTC, with milliseconds.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde::{Deserialize, Deserializer};

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// Milliseconds since 1970 as text; a time beyond the calendar becomes its last.
#[must_use]
pub fn rfc3339(ms: u64) -> String {
    PRINTER.timestamp_to_string(&timestamp(ms))
}

fn timestamp(ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

/// The text of a domain's time. A time before 1970 is shown as 1970.
#[must_use]
pub fn time(ms: i64) -> String {
    rfc3339(u64::try_from(ms).unwrap_or_default())
}

/// A time in a request: RFC 3339, converted to milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When(pub i64);

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<When, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        parse(&text).map(When).map_err(serde::de::Error::custom)
    }
}

/// Reads an RFC 3339 time as milliseconds since 1970.
///
/// # Errors
/// The text is not an RFC 3339 time; the error shows an example.
pub fn parse(text: &str) -> Result<i64, String> {
    let time = text.parse::<Timestamp>();
    let problem = |_| format!("{text:?} is not a time like 2026-01-15T12:00:00Z");
    time.map(Timestamp::as_millisecond).map_err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(1_794_000_000_120), "2026-11-06T21:20:00.120Z");
        assert!(rfc3339(u64::MAX).starts_with("9999-"));
    }
}
