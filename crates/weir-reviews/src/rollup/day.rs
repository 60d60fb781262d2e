//! Days in UTC. The day of a review is that of its `created_at`, whatever the clock of an instance says.

use std::fmt;

use jiff::civil::{Date, date};

use crate::bounds::COMPARE_DAYS_MAX;
use crate::error::{Error, Result};

const DAY_MS: i64 = 86_400_000;
const DAY_SECS: i64 = 86_400;
const EPOCH: Date = date(1970, 1, 1);
/// Days from 1970 to the first and the last date with a year of four digits, which sort as text.
const FIRST: i32 = -719_528;
const LAST: i32 = 2_932_896;

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

    /// Its first millisecond, since 1970.
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
            let shown = weir_table::id::shown(text);
            Error::invalid(field, format!("{shown} is not a date like 2026-01-23"))
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

/// Days from the first to the one before `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayRange {
    from: Day,
    to: Day,
}

impl DayRange {
    /// The days from `from` to the one before `to`.
    ///
    /// # Errors
    /// There is no day in between, or too many.
    pub fn new(from: Day, to: Day) -> Result<DayRange> {
        if to <= from {
            return Err(Error::invalid("to", format!("is not after from ({from})")));
        }
        let range = DayRange { from, to };
        if range.len() > COMPARE_DAYS_MAX {
            let problem = format!(
                "is {} days after from; at most {COMPARE_DAYS_MAX} are allowed",
                range.len()
            );
            return Err(Error::invalid("to", problem));
        }
        Ok(range)
    }

    /// One day.
    #[must_use]
    pub fn only(day: Day) -> DayRange {
        DayRange { from: day, to: Day(day.0.saturating_add(1)) }
    }

    /// The first day.
    #[must_use]
    pub fn from(self) -> Day {
        self.from
    }

    /// The day after the last one.
    #[must_use]
    pub fn to(self) -> Day {
        self.to
    }

    /// Number of days.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a range has at least one day")]
    pub fn len(self) -> u32 {
        self.to.0.abs_diff(self.from.0)
    }

    /// The days in order.
    pub fn iter(self) -> impl Iterator<Item = Day> {
        (self.from.0..self.to.0).map(Day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_range_ends_before_its_end() {
        let day = Day::of_ms(0);
        let days: Vec<String> =
            DayRange::new(day, day.plus(2)).unwrap().iter().map(|day| day.to_string()).collect();
        assert_eq!(days, ["1970-01-01", "1970-01-02"]);
        assert_eq!(DayRange::only(day).len(), 1);
        DayRange::new(day, day).unwrap_err();
        DayRange::new(day, day.minus(1)).unwrap_err();
        DayRange::new(day, day.plus(COMPARE_DAYS_MAX)).unwrap();
        DayRange::new(day, day.plus(COMPARE_DAYS_MAX + 1)).unwrap_err();
    }
}
