//! Days in the time zone of the deployment.
//!
//! A day starts at its first instant and ends at the first instant of a later day. Wall clocks are irregular: midnight may
//! not exist (Santiago), occur twice (Havana), or be undone minutes later (St. John's), and a whole day may be missing
//! (Apia). So the day of an instant is the latest date that a wall clock of the time zone has shown until then. It never
//! moves back, and every instant has exactly one.

use std::fmt;
use std::sync::OnceLock;

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use weir_table::id::shown;

use crate::error::{Error, Result};

/// A date, displayed as `2026-01-23`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Day(Date);

impl Day {
    /// The day of an instant in UTC.
    #[must_use]
    pub fn utc(at_ms: i64) -> Day {
        Zone::utc().day_of(at_ms)
    }

    /// The form used in keys: `20260123`. Texts sort by time.
    #[must_use]
    pub fn compact(self) -> String {
        format!("{:04}{:02}{:02}", self.0.year(), self.0.month(), self.0.day())
    }

    /// Parses `20260123`.
    #[must_use]
    pub fn from_compact(text: &str) -> Option<Day> {
        if text.len() != 8 || !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let (year, month, day) = (text.get(0..4)?, text.get(4..6)?, text.get(6..8)?);
        let date = Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
        date.ok().map(Day)
    }

    /// The day after so many, or before if negative; it stops at the ends of the calendar.
    #[must_use]
    pub fn plus_days(self, days: i64) -> Day {
        let moved =
            self.0.saturating_add(jiff::SignedDuration::from_hours(days.saturating_mul(24)));
        Day(moved.max(Date::ZERO))
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

impl std::str::FromStr for Day {
    type Err = Error;

    /// Parses `2026-01-23` and `20260123`.
    fn from_str(text: &str) -> Result<Day> {
        let is_dashed = text.len() == 10 && text.split('-').map(str::len).eq([4, 2, 2]);
        let compact = if is_dashed { text.replace('-', "") } else { text.to_owned() };
        Day::from_compact(&compact).ok_or_else(|| {
            Error::invalid("date", format!("{} is not a date like 2026-01-23", shown(text)))
        })
    }
}

/// A time zone of the IANA database in this binary. Cheap to clone.
#[derive(Clone)]
pub struct Zone {
    zone: TimeZone,
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
            let problem = format!("{} is not an IANA time zone like Asia/Seoul", shown(name));
            Error::invalid("timezone", problem)
        })
    }

    /// Coordinated universal time.
    #[must_use]
    pub fn utc() -> Zone {
        Zone { zone: TimeZone::UTC }
    }

    /// The IANA name: `Asia/Seoul`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The day of an instant.
    #[must_use]
    pub fn day_of(&self, at_ms: i64) -> Day {
        let at = timestamp(at_ms);
        let shown = Day(self.zone.to_datetime(at).date());
        // The clock may have shown tomorrow and been set back since; never by more than a day.
        let tomorrow = shown.plus_days(1);
        let is_tomorrow = tomorrow > shown && self.first_instant(tomorrow) <= at.as_millisecond();
        if is_tomorrow { tomorrow } else { shown }
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

    /// The start of the day after that of `at_ms`: when daily limits reset.
    #[must_use]
    pub fn next_midnight(&self, at_ms: i64) -> i64 {
        self.end_of(self.day_of(at_ms))
    }

    /// The first instant after a day.
    #[must_use]
    pub fn end_of(&self, day: Day) -> i64 {
        self.first_instant(day.plus_days(1))
    }

    /// The last change of the UTC offset, at `at` or before.
    fn last_change(&self, at: Timestamp) -> Option<Timestamp> {
        let after = at.checked_add(jiff::SignedDuration::from_nanos(1)).ok()?;
        self.zone.preceding(after).next().map(|change| change.timestamp())
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

/// The second of an instant, clamped to the times of keys. UTC offsets change at whole seconds.
fn timestamp(at_ms: i64) -> Timestamp {
    Timestamp::from_second(crate::keys::clamped_secs(at_ms.div_euclid(1000)))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn the_day_of_an_instant_follows_the_wall_clock() {
        for (zone, at, day, next) in [
            ("UTC", "2026-01-23T23:59:59.999Z", "2026-01-23", "2026-01-24T00:00:00Z"),
            ("UTC", "2026-01-24T00:00:00Z", "2026-01-24", "2026-01-25T00:00:00Z"),
            ("Asia/Seoul", "2026-01-23T14:59:59Z", "2026-01-23", "2026-01-23T15:00:00Z"),
            ("Asia/Seoul", "2026-01-23T15:00:00Z", "2026-01-24", "2026-01-24T15:00:00Z"),
            // Midnight does not exist: 23:59 is followed by 01:00.
            ("America/Santiago", "2026-09-06T03:59:59Z", "2026-09-05", "2026-09-06T04:00:00Z"),
            // Midnight comes twice: 00:59 is followed by 00:00.
            ("America/Havana", "2026-11-01T05:30:00Z", "2026-11-01", "2026-11-02T05:00:00Z"),
            // The wall clock shows 23:30 of the day before, for the second time.
            ("America/St_Johns", "2010-11-07T03:00:00Z", "2010-11-07", "2010-11-08T03:30:00Z"),
            // The day before was followed by the day after.
            ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29", "2011-12-30T10:00:00Z"),
        ] {
            let zone = Zone::new(zone).unwrap();
            assert_eq!(zone.day_of(ms(at)).to_string(), day, "{zone:?} {at}");
            assert_eq!(zone.next_midnight(ms(at)), ms(next), "{zone:?} {at}");
        }
    }

    #[test]
    fn days_have_one_text_in_keys() {
        let day = Day::utc(ms("2025-10-08T12:00:00Z"));
        assert_eq!((day.compact().as_str(), day.to_string().as_str()), ("20251008", "2025-10-08"));
        assert_eq!(Day::from_compact("20251008"), Some(day));
        assert_eq!("2025-10-08".parse::<Day>().unwrap(), day);
        assert_eq!("20251008".parse::<Day>().unwrap(), day);
        assert_eq!(day.plus_days(-8).compact(), "20250930");
        assert_eq!(day.days_until(day.plus_days(30)), 30);
        for bad in ["", "2025-1-8", "2025-02-30", "2025100", "202510081", "2025-10-08T00", "٢٠٢٥"]
        {
            bad.parse::<Day>().unwrap_err();
        }
        assert_eq!(Day::utc(i64::MIN).compact(), "19700101");
        assert_eq!(Day::utc(i64::MAX).compact(), "22861120");
    }

    #[test]
    fn a_time_zone_has_its_canonical_name() {
        assert_eq!(Zone::new("asia/seoul").unwrap().name(), "Asia/Seoul");
        assert_eq!(Zone::new("UTC").unwrap(), Zone::utc());
        for bad in ["", "EST5EDT,M3.2.0,M11.1.0", "Asia/Nowhere", "+01:00", "Etc/Unknown"] {
            assert!(Zone::new(bad).is_err(), "{bad}");
        }
    }
}
