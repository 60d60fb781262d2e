//! Times and days, in UTC.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use weir_table::id::shown;

use crate::error::{Error, Result};

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// A time as RFC 3339 to the millisecond, so that texts sort by time: `2026-01-15T12:00:00.000Z`.
#[must_use]
pub fn rfc3339(at_ms: i64) -> String {
    format!("{:.3}", timestamp(at_ms))
}

/// Parses RFC 3339 into milliseconds since 1970.
///
/// # Errors
/// The text is not RFC 3339.
pub fn parse_rfc3339(field: &str, text: &str) -> Result<i64> {
    text.parse::<Timestamp>().map(Timestamp::as_millisecond).map_err(|_| {
        let problem = format!("{} is not an RFC 3339 time like 2026-01-23T14:00:00Z", shown(text));
        Error::invalid(field, problem)
    })
}

/// A day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(Date);

impl Day {
    /// The day of a time.
    #[must_use]
    pub fn of(at_ms: i64) -> Day {
        Day(timestamp(at_ms).to_zoned(TimeZone::UTC).date())
    }

    /// Parses `YYYY-MM-DD`.
    ///
    /// # Errors
    /// The text is not a day.
    pub fn parse(text: &str) -> Result<Day> {
        let is_plain = text.len() == 10;
        text.parse().ok().filter(|_| is_plain).map(Day).ok_or_else(|| {
            Error::invalid("date", format!("{} is not a day like 2026-01-23", shown(text)))
        })
    }

    /// The day after so many, or before if negative; it stops at the ends of the calendar.
    #[must_use]
    pub fn plus_days(self, days: i64) -> Day {
        Day(self.0.saturating_add(jiff::SignedDuration::from_hours(days.saturating_mul(24))))
    }
}

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An instant, clamped to the years whose texts have one width.
fn timestamp(at_ms: i64) -> Timestamp {
    /// The last millisecond of the year 9998, of which every time zone has a date.
    const LAST_MS: i64 = 253_370_764_799_999;
    Timestamp::from_millisecond(at_ms.clamp(0, LAST_MS)).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_sort_by_time() {
        let times = [0, 1, 999, 1_000, 1_736_937_000_500, 1_736_937_001_000, i64::MAX];
        let texts = times.map(rfc3339);
        assert!(texts.is_sorted(), "{texts:?}");
        assert!(texts.iter().all(|text| text.len() == 24), "{texts:?}");
        assert_eq!(texts[4], "2025-01-15T10:30:00.500Z");
        assert_eq!(parse_rfc3339("t", &texts[4]).unwrap(), 1_736_937_000_500);
        assert_eq!(parse_rfc3339("t", "2025-01-15T11:30:00+01:00").unwrap(), 1_736_937_000_000);
        for bad in ["", "2025-01-15", "2025-01-15T10:30:00", "yesterday"] {
            assert!(parse_rfc3339("t", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn days_are_those_of_utc() {
        let day = Day::of(1_736_937_000_500);
        assert_eq!(day.to_string(), "2025-01-15");
        assert_eq!(Day::parse("2025-01-15").unwrap(), day);
        assert_eq!(day.plus_days(-15).to_string(), "2024-12-31");
        for bad in ["", "2025-1-5", "2025-02-30", "20250115", "2025-01-15T00:00:00Z"] {
            assert!(Day::parse(bad).is_err(), "{bad}");
        }
    }
}
