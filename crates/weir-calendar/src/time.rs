//! Instants as RFC 3339 texts.

use jiff::Timestamp;

/// The second of an instant, clamped to the calendar. UTC offsets change at whole seconds, and rounding down keeps that
/// true before 1970.
pub(crate) fn timestamp(at_ms: i64) -> Timestamp {
    let end = if at_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(at_ms.div_euclid(1000)).unwrap_or(end)
}

/// Formats as RFC 3339 with whole seconds, in UTC: `2026-01-15T12:00:00Z`.
#[must_use]
pub fn rfc3339(at_ms: i64) -> String {
    format!("{:.0}", timestamp(at_ms))
}

/// Parses RFC 3339 into milliseconds since 1970.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_to_the_second_and_read_to_the_millisecond() {
        assert_eq!(rfc3339(1_736_937_000_999), "2025-01-15T10:30:00Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59Z");
        assert_eq!(parse_rfc3339("2025-01-15T11:30:00.500+01:00"), Some(1_736_937_000_500));
        for bad in ["", "2025-01-15", "2025-01-15T10:30:00", "yesterday"] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
    }
}
