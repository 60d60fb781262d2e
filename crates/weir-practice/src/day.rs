//! Days in the time zone of the deployment, for times that keys have.

use weir_calendar::{Day, Zone};
use weir_table::id::shown;

use crate::error::{Error, Result};
use crate::keys::clamped_secs;

/// The day of an instant, clamped to the times of keys.
#[must_use]
pub fn day_of(zone: &Zone, at_ms: i64) -> Day {
    zone.day_of(clamped_secs(at_ms.div_euclid(1000)) * 1000)
}

/// The day of an instant in UTC, clamped to the times of keys.
#[must_use]
pub fn utc_day(at_ms: i64) -> Day {
    day_of(&Zone::utc(), at_ms)
}

/// The first instant after a day; that of the day itself at the end of the calendar.
#[must_use]
pub fn end_of(zone: &Zone, day: Day) -> i64 {
    zone.first_instant(day.plus_days(1))
}

/// Parses `2026-01-23` and `20260123`.
///
/// # Errors
/// The text is not a date of these forms; `field` names it.
pub fn parse_day(field: &str, text: &str) -> Result<Day> {
    Day::from_dashed(text).or_else(|| Day::from_compact(text)).ok_or_else(|| {
        Error::invalid(field, format!("{} is not a date like 2026-01-23", shown(text)))
    })
}

/// The time zone of this name, in any case.
///
/// # Errors
/// The time zone is unknown.
pub fn parse_zone(name: &str) -> Result<Zone> {
    Zone::new(name).ok_or_else(|| {
        let problem = format!("{} is not an IANA time zone like Asia/Seoul", shown(name));
        Error::invalid("timezone", problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_eight_digits_in_keys_at_any_time() {
        assert_eq!(utc_day(i64::MIN).compact(), "19700101");
        assert_eq!(utc_day(i64::MAX).compact(), "22861120");
        let seoul = parse_zone("asia/seoul").unwrap();
        assert_eq!(day_of(&seoul, 1_769_180_399_999).compact(), "20260123");
        assert_eq!(day_of(&seoul, 1_769_180_400_000).compact(), "20260124");
    }

    #[test]
    fn the_last_day_of_the_calendar_has_an_end() {
        let (utc, day) = (Zone::utc(), Day::from_compact("20260123").unwrap());
        assert_eq!(end_of(&utc, day), 1_769_212_800_000);
        let last = Day::from_compact("99991231").unwrap();
        assert_eq!(end_of(&utc, last), utc.first_instant(last));
    }

    #[test]
    fn wrong_texts_are_refused_by_field() {
        let day = Day::from_compact("20251008").unwrap();
        assert_eq!(parse_day("from", "2025-10-08").unwrap(), day);
        assert_eq!(parse_day("from", "20251008").unwrap(), day);
        let error = parse_day("from", "2025-1-8").unwrap_err().to_string();
        assert_eq!(error, "from: \"2025-1-8\" is not a date like 2026-01-23");
        let error = parse_zone("").unwrap_err().to_string();
        assert_eq!(error, "timezone: \"\" is not an IANA time zone like Asia/Seoul");
    }
}
