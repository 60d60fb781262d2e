//! Times and days, in UTC. The day of a review is that of its `created_at`, whatever the clock of an instance says.

use jiff::Timestamp;
use weir_calendar::Day;
use weir_table::id::shown;

use crate::error::{Error, Result};

const DAY_SECS: i64 = weir_calendar::DAY_MS / 1000;

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
    weir_calendar::parse_rfc3339(text).ok_or_else(|| {
        let problem = format!("{} is not an RFC 3339 time like 2026-01-23T14:00:00Z", shown(text));
        Error::invalid(field, problem)
    })
}

/// Parses `2026-01-23`.
///
/// # Errors
/// The text is not a date of this form; `field` names it.
pub fn parse_day(field: &str, text: &str) -> Result<Day> {
    Day::from_dashed(text).ok_or_else(|| {
        Error::invalid(field, format!("{} is not a date like 2026-01-23", shown(text)))
    })
}

/// When items of a day expire, in seconds since 1970: so many days after its end.
#[must_use]
pub fn expires_at(day: Day, retention_days: u32) -> i64 {
    (i64::from(Day::EPOCH.days_until(day)) + 1 + i64::from(retention_days)) * DAY_SECS
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
    fn wrong_days_are_refused_by_field() {
        assert_eq!(parse_day("from", "2026-01-15").unwrap(), Day::utc(1_768_435_200_000));
        let error = parse_day("from", "20260115").unwrap_err().to_string();
        assert_eq!(error, "from: \"20260115\" is not a date like 2026-01-23");
    }

    #[test]
    fn items_of_a_day_expire_together_after_its_end() {
        let day = Day::utc(5 * weir_calendar::DAY_MS + 1);
        assert_eq!(expires_at(day, 400), (6 + 400) * DAY_SECS);
        assert_eq!(expires_at(Day::utc(i64::MAX), 0), 253_402_300_800);
    }
}
