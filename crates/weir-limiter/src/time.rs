//! Times as people read them.

/// Milliseconds since 1970 as RFC 3339 with milliseconds: `2026-01-15T12:00:00.000Z`.
#[must_use]
pub(crate) fn rfc3339(ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    format!("{at:.3}")
}

/// The milliseconds since 1970 of an RFC 3339 text.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Milliseconds since 1970 as RFC 3339 with whole seconds: `2026-01-15T12:00:00Z`, as zae-limiter writes them.
#[must_use]
pub(crate) fn rfc3339_seconds(ms: i64) -> String {
    let at = jiff::Timestamp::from_second(ms.div_euclid(1000)).unwrap_or_default();
    format!("{at:.0}")
}
