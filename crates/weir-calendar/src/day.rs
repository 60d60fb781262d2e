//! Dates, and their texts in keys and on the wire.

use std::fmt::{self, Write as _};

use jiff::SignedDuration;
use jiff::civil::{Date, date};

use crate::DAY_MS;

/// More days than the calendar has.
const DAYS_MAX: i64 = 10_000_000;

/// A date, displayed as `2026-01-23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(pub(crate) Date);

impl Day {
    /// The first day of 1970.
    pub const EPOCH: Day = Day(date(1970, 1, 1));

    /// A calendar date.
    #[must_use]
    pub fn new(year: i16, month: i8, day: i8) -> Option<Day> {
        Date::new(year, month, day).ok().filter(|date| date.year() >= 0).map(Day)
    }

    /// The day of an instant in UTC. Instants before the year 0 and after 9999 are of the nearest day.
    #[must_use]
    pub fn utc(at_ms: i64) -> Day {
        Day::EPOCH.plus_days(at_ms.div_euclid(DAY_MS))
    }

    /// The form used in keys: `20260123`. Texts sort by time.
    #[must_use]
    pub fn compact(self) -> String {
        let mut text = String::with_capacity(8);
        self.put_compact(&mut text);
        text
    }

    /// Appends the form used in keys.
    pub fn put_compact(self, text: &mut String) {
        // Writing to a `String` cannot fail.
        write!(text, "{:04}{:02}{:02}", self.0.year(), self.0.month(), self.0.day()).ok();
    }

    /// Parses `20260123`.
    #[must_use]
    pub fn from_compact(text: &str) -> Option<Day> {
        if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse().ok();
        Day::new(text.get(0..4)?.parse().ok()?, number(4..6)?, number(6..8)?)
    }

    /// Parses `2026-01-23`.
    #[must_use]
    pub fn from_dashed(text: &str) -> Option<Day> {
        let is_dashed = text.len() == 10 && text.split('-').map(str::len).eq([4, 2, 2]);
        is_dashed.then(|| Day::from_compact(&text.replace('-', ""))).flatten()
    }

    /// The next date; `None` at the end of the calendar.
    #[must_use]
    pub fn next(self) -> Option<Day> {
        self.0.tomorrow().ok().map(Day)
    }

    /// The previous date.
    #[must_use]
    pub fn previous(self) -> Option<Day> {
        self.0.yesterday().ok().map(Day)
    }

    /// The date after so many days, or before if negative; it stops at the years 0 and 9999.
    #[must_use]
    pub fn plus_days(self, days: i64) -> Day {
        let hours = days.clamp(-DAYS_MAX, DAYS_MAX) * 24;
        Day(self.0.saturating_add(SignedDuration::from_hours(hours)).max(Date::ZERO))
    }

    /// Days from this date to `later`; negative when `later` is earlier.
    #[must_use]
    pub fn days_until(self, later: Day) -> i32 {
        (later.0 - self.0).get_days()
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year(), self.0.month(), self.0.day())
    }
}

impl serde::Serialize for Day {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_one_text_in_keys_and_one_on_the_wire() {
        let day = Day::new(2025, 10, 8).unwrap();
        assert_eq!((day.compact().as_str(), day.to_string().as_str()), ("20251008", "2025-10-08"));
        assert_eq!(Day::from_compact("20251008"), Some(day));
        assert_eq!(Day::from_dashed("2025-10-08"), Some(day));
        for bad in ["", "2025-10-08", "2025100", "202510081", "20250230", "٢٠٢٥"] {
            assert_eq!(Day::from_compact(bad), None, "{bad}");
        }
        for bad in [
            "",
            "2026-1-23",
            "20260123",
            "20260115--",
            "2026-02-29",
            "2026-02-30",
            "2026-01-15T00",
            "2026-01-23T00:00:00Z",
            "+026-01-01",
            "２026-01-1",
        ] {
            assert_eq!(Day::from_dashed(bad), None, "{bad}");
        }
    }

    #[test]
    fn days_are_counted_within_the_calendar() {
        let day = Day::new(2025, 10, 8).unwrap();
        assert_eq!(day.plus_days(-8).compact(), "20250930");
        assert_eq!(day.days_until(day.plus_days(30)), 30);
        assert_eq!(day.plus_days(-1).days_until(day), 1);
        assert_eq!((day.next(), day.previous()), (Some(day.plus_days(1)), Some(day.plus_days(-1))));
        assert_eq!(day.plus_days(i64::MAX).to_string(), "9999-12-31");
        assert_eq!(day.plus_days(i64::MIN).to_string(), "0000-01-01");
        assert_eq!(day.plus_days(i64::MAX).next(), None);
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
            assert_eq!(Day::utc(ms).to_string(), text);
            assert_eq!(Day::from_dashed(text), Some(Day::utc(ms)));
        }
    }
}
