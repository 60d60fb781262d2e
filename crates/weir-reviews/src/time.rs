//! Times and days, in UTC. The day of a review is that of its `created_at`, whatever the clock of an instance says.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use weir_table::id::shown;

use crate::error::{Error, Result};

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;
const DAY_SECS: i64 = 86_400;
const EPOCH: Date = date(1970, 1, 1);
/// Days from 1970 to the first and the last date with a year of four digits, which sort as text.
const FIRST: i32 = -719_528;
const LAST: i32 = 2_932_896;

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

/// A day in UTC, displayed as `2026-01-23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(i32);

impl Day {
    /// The day of a time in milliseconds since 1970. Times before the year 0 and after 9999 are of the nearest day.
    #[must_use]
    pub fn of_ms(ms: i64) -> Day {
        Day::of_number(ms.div_euclid(DAY_MS))
    }

    fn of_number(days: i64) -> Day {
        let days = days.clamp(i64::from(FIRST), i64::from(LAST));
        Day(i32::try_from(days).unwrap_or(LAST))
    }

    /// The day `days` later.
    #[must_use]
    pub fn plus(self, days: u32) -> Day {
        Day::of_number(i64::from(self.0) + i64::from(days))
    }

    /// The day `days` earlier.
    #[must_use]
    pub fn minus(self, days: u32) -> Day {
        Day::of_number(i64::from(self.0) - i64::from(days))
    }

    /// Days from an earlier day to this one.
    #[must_use]
    pub fn days_after(self, earlier: Day) -> u32 {
        self.0.abs_diff(earlier.0)
    }

    /// The first millisecond of the day, since 1970.
    #[must_use]
    pub fn start_ms(self) -> i64 {
        i64::from(self.0) * DAY_MS
    }

    /// When items of this day expire, in seconds since 1970: so many days after its end.
    #[must_use]
    pub fn expires_at(self, retention_days: u32) -> i64 {
        (i64::from(self.0) + 1 + i64::from(retention_days)) * DAY_SECS
    }

    /// Parses `2026-01-23`.
    ///
    /// # Errors
    /// The text is not a date of this form; `field` names it.
    pub fn parse(field: &str, text: &str) -> Result<Day> {
        let plain = text.len() == 10 && text.split('-').map(str::len).eq([4, 2, 2]);
        let read = || {
            let mut parts = text.split('-');
            let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
            Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
        };
        let digits = text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let date = (plain && digits).then(read).flatten().ok_or_else(|| {
            Error::invalid(field, format!("{} is not a date like 2026-01-23", shown(text)))
        })?;
        Ok(Day::of_number(i64::from((date - EPOCH).get_days())))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = jiff::Span::new().try_days(self.0);
        let date = span.and_then(|span| EPOCH.checked_add(span)).unwrap_or(EPOCH);
        write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
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
    fn a_day_is_that_of_its_time_in_utc() {
        for (ms, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (DAY_MS - 1, "1970-01-01"),
            (1_768_435_199_999, "2026-01-14"),
            (1_768_435_200_000, "2026-01-15"),
            (951_782_400_000, "2000-02-29"),
            (i64::MIN, "0000-01-01"),
            (i64::MAX, "9999-12-31"),
        ] {
            let day = Day::of_ms(ms);
            assert_eq!(day.to_string(), text);
            assert_eq!(Day::parse("from", text).unwrap(), day);
        }
        for bad in ["", "2026-1-15", "2026-02-30", "+026-01-01", "2026-01-15T00", "20260115--"] {
            Day::parse("from", bad).unwrap_err();
        }
    }

    #[test]
    fn items_of_a_day_expire_together_after_its_end() {
        let day = Day::of_ms(5 * DAY_MS + 1);
        assert_eq!(day.expires_at(400), (6 + 400) * DAY_SECS);
        assert_eq!(day.start_ms(), 5 * DAY_MS);
    }
}
