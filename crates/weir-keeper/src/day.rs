//! Days in an org's time zone.
//!
//! A day starts at its first instant and ends at the first instant of a later day. Wall clocks are irregular: midnight
//! may not exist (Santiago), occur twice (Havana), or be undone minutes later (St. John's), and a whole day may be
//! missing (Apia). So the day of an instant is the latest date that a wall clock of the time zone has shown until then.
//! It never moves back, and every instant has exactly one.

use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use crate::bounds::{LATE_MS, SKEW_MS};
use crate::error::{Error, Result};
use crate::ids::shown;

/// A date in an org's time zone, displayed as `2026-01-23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OrgDay(Date);

impl OrgDay {
    /// A calendar date.
    #[must_use]
    pub fn new(year: i16, month: i8, day: i8) -> Option<OrgDay> {
        Date::new(year, month, day).ok().filter(|date| date.year() >= 0).map(OrgDay)
    }

    /// The form used in keys: `20260123`.
    #[must_use]
    pub fn compact(self) -> String {
        let mut text = String::with_capacity(8);
        self.put_compact(&mut text);
        text
    }

    /// Appends the form used in keys.
    pub(crate) fn put_compact(self, text: &mut String) {
        // Writing to a `String` cannot fail.
        write!(text, "{:04}{:02}{:02}", self.0.year(), self.0.month(), self.0.day()).ok();
    }

    /// Parses `20260123`.
    #[must_use]
    pub fn from_compact(text: &str) -> Option<OrgDay> {
        if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse().ok();
        OrgDay::new(text.get(0..4)?.parse().ok()?, number(4..6)?, number(6..8)?)
    }

    /// The next date; `None` at the end of the calendar.
    #[must_use]
    pub fn next(self) -> Option<OrgDay> {
        self.0.tomorrow().ok().map(OrgDay)
    }

    /// The previous date.
    #[must_use]
    pub fn previous(self) -> Option<OrgDay> {
        self.0.yesterday().ok().map(OrgDay)
    }

    /// Days from this date to `later`; negative when `later` is earlier.
    #[must_use]
    pub fn days_until(self, later: OrgDay) -> i32 {
        (later.0 - self.0).get_days()
    }
}

impl fmt::Display for OrgDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0.year(), self.0.month(), self.0.day())
    }
}

impl std::str::FromStr for OrgDay {
    type Err = Error;

    /// Parses `2026-01-23`.
    fn from_str(text: &str) -> Result<OrgDay> {
        let plain = text.len() == 10 && text.split('-').map(str::len).eq([4, 2, 2]);
        let day = plain.then(|| OrgDay::from_compact(&text.replace('-', ""))).flatten();
        day.ok_or_else(|| {
            Error::invalid("date", format!("{} is not a date like 2026-01-23", shown(text)))
        })
    }
}

impl serde::Serialize for OrgDay {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A time zone of the IANA database in this binary. Cheap to clone.
#[derive(Clone)]
pub struct Zone {
    zone: TimeZone,
}

/// Start and end of a day, in milliseconds since 1970; the end is the start of the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpan {
    /// The day.
    pub day: OrgDay,
    /// The first instant of the day.
    pub start_ms: i64,
    /// The first instant after it.
    pub end_ms: i64,
}

impl Zone {
    /// The time zone of this name, in any case.
    ///
    /// # Errors
    /// The time zone is unknown.
    pub fn new(name: &str) -> Result<Zone> {
        static DATABASE: OnceLock<TimeZoneDatabase> = OnceLock::new();
        let database = DATABASE.get_or_init(TimeZoneDatabase::bundled);
        let zone = database.get(name).ok().filter(|zone| zone.iana_name().is_some());
        zone.map(|zone| Zone { zone }).ok_or_else(|| {
            let problem = format!("{} is not an IANA time zone like America/New_York", shown(name));
            Error::invalid("timezone", problem)
        })
    }

    /// Coordinated universal time.
    #[must_use]
    pub fn utc() -> Zone {
        Zone { zone: TimeZone::UTC }
    }

    /// The IANA name: `America/New_York`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The day of an instant.
    #[must_use]
    pub fn day_of(&self, at_ms: i64) -> OrgDay {
        let shown = OrgDay(self.zone.to_datetime(timestamp(at_ms)).date());
        // The clock may have shown tomorrow and been set back since; never by more than a day.
        let tomorrow = shown.next().filter(|next| self.first_instant(*next) <= at_ms);
        tomorrow.unwrap_or(shown)
    }

    /// The first instant of this date or a later one. A date that the time zone skips starts with the next.
    #[must_use]
    pub fn first_instant(&self, day: OrgDay) -> i64 {
        let midnight = day.0.to_datetime(Time::midnight());
        let at = match self.zone.to_ambiguous_timestamp(midnight).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(midnight),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(midnight),
            AmbiguousOffset::Gap { before, .. } => {
                // The clock jumps over midnight; the day starts where it lands.
                before.to_timestamp(midnight).map(|late| self.last_change(late).unwrap_or(late))
            }
        };
        at.unwrap_or(Timestamp::MAX).as_millisecond()
    }

    /// The last change of the UTC offset, at `at` or before.
    fn last_change(&self, at: Timestamp) -> Option<Timestamp> {
        let after = at.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
        self.zone.preceding(after).next().map(|change| change.timestamp())
    }

    /// The start of the day after that of `at_ms`.
    #[must_use]
    pub fn next_midnight(&self, at_ms: i64) -> i64 {
        let next = self.day_of(at_ms).next();
        next.map_or(i64::MAX, |next| self.first_instant(next))
    }

    /// The day of an instant, with its start and end.
    #[must_use]
    pub fn span_of(&self, at_ms: i64) -> DaySpan {
        let day = self.day_of(at_ms);
        let end_ms = day.next().map_or(i64::MAX, |next| self.first_instant(next));
        DaySpan { day, start_ms: self.first_instant(day), end_ms }
    }

    /// Whether the time zone has this date and does not skip it.
    #[must_use]
    pub fn has(&self, day: OrgDay) -> bool {
        day.next().is_none_or(|next| self.first_instant(day) < self.first_instant(next))
    }

    /// Local time as RFC 3339: `2026-01-23T09:00:00-05:00`.
    #[must_use]
    pub fn local_time(&self, at_ms: i64) -> String {
        let at = timestamp(at_ms);
        format!("{:.0}", at.display_with_offset(self.zone.to_offset(at)))
    }

    /// The local hour.
    #[must_use]
    pub fn hour_of(&self, at_ms: i64) -> u8 {
        u8::try_from(self.zone.to_datetime(timestamp(at_ms)).hour()).unwrap_or_default()
    }

    /// The day that a submission with this timestamp is metered in.
    ///
    /// # Errors
    /// The timestamp is more than [`SKEW_MS`] ahead of now, or more than [`LATE_MS`] before the start of the current
    /// day.
    pub fn day_of_submission(&self, at_ms: i64, now_ms: i64) -> Result<OrgDay> {
        if at_ms > now_ms.saturating_add(SKEW_MS) {
            let problem =
                format!("is in the future; the current time is {}", self.local_time(now_ms));
            return Err(Error::invalid("timestamp", problem));
        }
        let oldest = self.span_of(now_ms).start_ms.saturating_sub(LATE_MS);
        if at_ms < oldest {
            let problem =
                format!("is too old; the earliest accepted time is {}", self.local_time(oldest));
            return Err(Error::invalid("timestamp", problem));
        }
        Ok(self.day_of(at_ms))
    }
}

/// The second of an instant, clamped to the calendar. UTC offsets change at whole seconds, and rounding down keeps that
/// true before 1970.
fn timestamp(at_ms: i64) -> Timestamp {
    let end = if at_ms < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(at_ms.div_euclid(1000)).unwrap_or(end)
}

/// Formats as RFC 3339 with whole seconds, in UTC: `2026-01-15T12:00:00Z`.
#[must_use]
pub fn rfc3339(at_ms: i64) -> String {
    format!("{:.0}", timestamp(at_ms))
}

/// Parses RFC 3339 into milliseconds since 1970.
///
/// # Errors
/// The text is not RFC 3339.
pub fn parse_rfc3339(field: &str, text: &str) -> Result<i64> {
    let at = text.parse::<Timestamp>().map(Timestamp::as_millisecond);
    at.map_err(|_| {
        let problem = format!("{} is not an RFC 3339 time like 2026-01-23T14:00:00Z", shown(text));
        Error::invalid(field, problem)
    })
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.name(), f)
    }
}

impl serde::Serialize for Zone {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
#[path = "day_tests.rs"]
mod tests;
