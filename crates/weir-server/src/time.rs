//! Times on the wire: RFC 3339 in UTC, with milliseconds.

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// Milliseconds since 1970 as text; the last time there is for those beyond it.
#[must_use]
pub fn rfc3339(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    PRINTER.timestamp_to_string(&Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX))
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
