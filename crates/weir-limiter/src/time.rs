//! Conversions between milliseconds since 1970 and RFC 3339.

/// Formats with milliseconds: `2026-01-15T12:00:00.000Z`.
#[must_use]
pub(crate) fn rfc3339(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    format!("{at:.3}")
}

/// Parses RFC 3339.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Formats with whole seconds, as zae-limiter does: `2026-01-15T12:00:00Z`.
#[must_use]
pub(crate) fn rfc3339_seconds(ms: i64) -> String {
    let at = jiff::Timestamp::from_second(ms.div_euclid(1000)).unwrap_or_default();
    format!("{at:.0}")
}
