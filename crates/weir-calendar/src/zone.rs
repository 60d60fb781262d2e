//! Days of a time zone.
//!
//! A day starts at its first instant and ends at the first instant of a later day. Wall clocks are irregular: midnight
//! may not exist (Santiago), occur twice (Havana), or be undone minutes later (St. John's), and a whole day may be
//! missing (Apia). So the day of an instant is the latest date that a wall clock of the time zone has shown until then.
//! It never moves back, and every instant has exactly one.

use std::fmt;
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

use crate::day::Day;
use crate::time::timestamp;

/// A time zone of the IANA database in this binary. Cheap to clone.
#[derive(Clone)]
pub struct Zone {
    zone: TimeZone,
}

/// Start and end of a day, in milliseconds since 1970; the end is the start of the next day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DaySpan {
    /// The day.
    pub day: Day,
    /// The first instant of the day.
    pub start_ms: i64,
    /// The first instant after it.
    pub end_ms: i64,
}

impl Zone {
    /// The time zone of this name, in any case; `None` if it is unknown.
    #[must_use]
    pub fn new(name: &str) -> Option<Zone> {
        static DATABASE: OnceLock<TimeZoneDatabase> = OnceLock::new();
        let database = DATABASE.get_or_init(TimeZoneDatabase::bundled);
        let zone = database.get(name).ok().filter(|zone| zone.iana_name().is_some());
        zone.map(|zone| Zone { zone })
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
    pub fn day_of(&self, at_ms: i64) -> Day {
        let shown = Day(self.zone.to_datetime(timestamp(at_ms)).date());
        // The clock may have shown tomorrow and been set back since; never by more than a day.
        let tomorrow = shown.next().filter(|next| self.first_instant(*next) <= at_ms);
        tomorrow.unwrap_or(shown)
    }

    /// The first instant of this date or a later one. A date that the time zone skips starts with the next.
    #[must_use]
    pub fn first_instant(&self, day: Day) -> i64 {
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

    /// The first instant after a day.
    #[must_use]
    pub fn end_of(&self, day: Day) -> i64 {
        day.next().map_or(i64::MAX, |next| self.first_instant(next))
    }

    /// The start of the day after that of `at_ms`.
    #[must_use]
    pub fn next_midnight(&self, at_ms: i64) -> i64 {
        self.end_of(self.day_of(at_ms))
    }

    /// The day of an instant, with its start and end.
    #[must_use]
    pub fn span_of(&self, at_ms: i64) -> DaySpan {
        let day = self.day_of(at_ms);
        DaySpan { day, start_ms: self.first_instant(day), end_ms: self.end_of(day) }
    }

    /// Whether the time zone has this date and does not skip it.
    #[must_use]
    pub fn has(&self, day: Day) -> bool {
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
mod tests;
