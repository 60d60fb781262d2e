//! The one way to write a time or a day in a flag.
//!
//! `now`, `today`, `yesterday`, `tomorrow`; `2h` or `7d` for so long ago; a date; an RFC 3339 time. A flag that asks for a time
//! takes the first instant of a day, and a flag that asks for a day takes the day of an instant.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use weir_framework::time::time;

use super::now_ms;
use crate::failure::Failure;

const DAY_MS: i64 = 86_400_000;
/// So many years ago is further than any store goes back.
const AGO_MS_MAX: i64 = 100 * 366 * DAY_MS;
const UNITS: [(&str, i64); 6] = [
    ("s", 1_000),
    ("m", 60_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", DAY_MS),
    ("w", 7 * DAY_MS),
];

/// A time or a day, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GivenTime {
    /// The present moment.
    Now,
    /// So many days after today, or before if negative.
    Day(i64),
    /// So many milliseconds ago.
    Ago(i64),
    /// A date.
    Date(Date),
    /// An instant, in milliseconds since 1970.
    At(i64),
}

impl FromStr for GivenTime {
    type Err = String;

    fn from_str(text: &str) -> Result<GivenTime, String> {
        let given = match text {
            "now" => Some(GivenTime::Now),
            "today" => Some(GivenTime::Day(0)),
            "yesterday" => Some(GivenTime::Day(-1)),
            "tomorrow" => Some(GivenTime::Day(1)),
            text => ago(text).or_else(|| date(text)).or_else(|| instant(text)),
        };
        given.ok_or_else(|| {
            format!(
                "{text:?} is not a time: write 2026-01-31, 2026-01-31T12:00:00Z, 2h or 7d (ago), \
                 now, today, yesterday or tomorrow"
            )
        })
    }
}

impl GivenTime {
    /// The instant in milliseconds since 1970, with days in UTC.
    pub(crate) fn ms(&self, now_ms: i64) -> i64 {
        match self {
            GivenTime::Now => now_ms,
            GivenTime::Ago(ms) => now_ms.saturating_sub(*ms),
            GivenTime::At(ms) => *ms,
            GivenTime::Day(days) => {
                let today_ms = now_ms - now_ms.rem_euclid(DAY_MS);
                today_ms.saturating_add(days.saturating_mul(DAY_MS))
            }
            GivenTime::Date(date) => start_ms(*date),
        }
    }

    /// The instant as the API takes it, with days in UTC.
    pub(crate) fn rfc3339(&self) -> String {
        time(self.ms(now_ms()))
    }

    /// The day, like `2026-01-31`. `day_of` is the day of an instant, in the time zone of whoever counts days.
    pub(crate) fn day(
        &self,
        now_ms: i64,
        day_of: impl Fn(i64) -> Result<String, Failure>,
    ) -> Result<String, Failure> {
        match self {
            GivenTime::Date(date) => Ok(date.to_string()),
            GivenTime::Now => day_of(now_ms),
            GivenTime::Day(days) => Ok(moved(&day_of(now_ms)?, *days)),
            // Whole days are dates apart, however long the days of the zone are.
            GivenTime::Ago(ms) if ms % DAY_MS == 0 => Ok(moved(&day_of(now_ms)?, -(ms / DAY_MS))),
            GivenTime::Ago(_) | GivenTime::At(_) => day_of(self.ms(now_ms)),
        }
    }

    /// The day in UTC.
    pub(crate) fn utc_day(&self) -> Result<String, Failure> {
        self.day(now_ms(), |at_ms| Ok(time(at_ms).get(..10).unwrap_or_default().to_owned()))
    }
}

/// A date so many days later.
fn moved(day: &str, days: i64) -> String {
    let date = day.parse::<Date>().unwrap_or(Date::MAX);
    date.saturating_add(SignedDuration::from_hours(days.saturating_mul(24))).to_string()
}

fn start_ms(date: Date) -> i64 {
    date.to_zoned(jiff::tz::TimeZone::UTC).map_or(i64::MAX, |at| at.timestamp().as_millisecond())
}

/// `2h`, `7d`.
fn ago(text: &str) -> Option<GivenTime> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let number: i64 = number.parse().ok()?;
    let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*unit_ms).filter(|ms| *ms <= AGO_MS_MAX).map(GivenTime::Ago)
}

/// `2026-01-31`.
fn date(text: &str) -> Option<GivenTime> {
    let is_plain = text.len() == 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let date = is_plain.then(|| text.parse::<Date>().ok()).flatten()?;
    Some(GivenTime::Date(date))
}

/// `2026-01-31T12:00:00Z`.
fn instant(text: &str) -> Option<GivenTime> {
    text.parse::<Timestamp>().ok().map(|at| GivenTime::At(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-29T00:30:00Z: in Berlin, the night in which clocks go forward.
    const NOW_MS: i64 = 1_774_744_200_000;

    fn given(text: &str) -> GivenTime {
        text.parse().unwrap()
    }

    #[test]
    fn a_time_is_written_in_many_ways() {
        for (text, expected) in [
            ("now", "2026-03-29T00:30:00.000Z"),
            ("today", "2026-03-29T00:00:00.000Z"),
            ("yesterday", "2026-03-28T00:00:00.000Z"),
            ("tomorrow", "2026-03-30T00:00:00.000Z"),
            ("90s", "2026-03-29T00:28:30.000Z"),
            ("45m", "2026-03-28T23:45:00.000Z"),
            ("45min", "2026-03-28T23:45:00.000Z"),
            ("2h", "2026-03-28T22:30:00.000Z"),
            ("7d", "2026-03-22T00:30:00.000Z"),
            ("2w", "2026-03-15T00:30:00.000Z"),
            ("2026-01-31", "2026-01-31T00:00:00.000Z"),
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000Z"),
            ("2026-01-31T12:00:00.250+01:00", "2026-01-31T11:00:00.250Z"),
        ] {
            assert_eq!(time(given(text).ms(NOW_MS)), expected, "{text}");
        }
    }

    #[test]
    fn a_day_is_one_of_its_time_zone() {
        let berlin = weir_calendar::Zone::new("Europe/Berlin").unwrap();
        let honolulu = weir_calendar::Zone::new("Pacific/Honolulu").unwrap();
        for (text, in_berlin, in_honolulu) in [
            ("now", "2026-03-29", "2026-03-28"),
            ("today", "2026-03-29", "2026-03-28"),
            ("yesterday", "2026-03-28", "2026-03-27"),
            ("tomorrow", "2026-03-30", "2026-03-29"),
            ("2h", "2026-03-28", "2026-03-28"),
            ("7d", "2026-03-22", "2026-03-21"),
            ("1w", "2026-03-22", "2026-03-21"),
            ("2026-01-31", "2026-01-31", "2026-01-31"),
            ("2026-01-31T23:30:00Z", "2026-02-01", "2026-01-31"),
        ] {
            for (zone, expected) in [(&berlin, in_berlin), (&honolulu, in_honolulu)] {
                let day = given(text).day(NOW_MS, |at_ms| Ok(zone.day_of(at_ms).to_string()));
                assert_eq!(day.unwrap(), expected, "{text} in {}", zone.name());
            }
        }
    }

    #[test]
    fn mistakes_are_named() {
        for text in [
            "",
            "yestreday",
            "Today",
            "2h30m",
            "-2h",
            "2 h",
            "7y",
            "d",
            "2026-1-31",
            "2026-02-30",
            "2026-01-31T12:00:00",
            "20260131",
            "99999999999999999999d",
            "40000d",
        ] {
            let problem = text.parse::<GivenTime>().unwrap_err();
            assert!(problem.starts_with(&format!("{text:?} is not a time: write ")), "{problem}");
        }
    }
}
