//! Which day of an org a submission is metered in, and the days and times of requests.

use weir_calendar::{Day, Zone};

use crate::bounds::{LATE_MS, SKEW_MS};
use crate::error::{Error, Result};
use crate::ids::shown;

/// A date in an org's time zone.
pub type OrgDay = Day;

/// The day that a submission with this timestamp is metered in.
///
/// # Errors
/// The timestamp is more than [`SKEW_MS`] ahead of now, or more than [`LATE_MS`] before the start of the current day.
pub fn day_of_submission(zone: &Zone, at_ms: i64, now_ms: i64) -> Result<OrgDay> {
    if at_ms > now_ms.saturating_add(SKEW_MS) {
        let problem = format!("is in the future; the current time is {}", zone.local_time(now_ms));
        return Err(Error::invalid("timestamp", problem));
    }
    let oldest = zone.span_of(now_ms).start_ms.saturating_sub(LATE_MS);
    if at_ms < oldest {
        let problem =
            format!("is too old; the earliest accepted time is {}", zone.local_time(oldest));
        return Err(Error::invalid("timestamp", problem));
    }
    Ok(zone.day_of(at_ms))
}

/// Parses `2026-01-23`.
///
/// # Errors
/// The text is not a date of this form.
pub fn parse_day(text: &str) -> Result<OrgDay> {
    Day::from_dashed(text).ok_or_else(|| {
        Error::invalid("date", format!("{} is not a date like 2026-01-23", shown(text)))
    })
}

/// The time zone of this name, in any case.
///
/// # Errors
/// The time zone is unknown.
pub fn parse_zone(name: &str) -> Result<Zone> {
    Zone::new(name).ok_or_else(|| {
        let problem = format!("{} is not an IANA time zone like America/New_York", shown(name));
        Error::invalid("timezone", problem)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> i64 {
        parse_rfc3339("test", text).unwrap()
    }

    #[test]
    fn submissions_are_accepted_from_a_day_before_today_until_now() {
        let zone = Zone::new("America/New_York").unwrap();
        // 09:00 of the day on which the clock jumps forward; the day began at 05:00Z.
        let now = ms("2026-03-08T13:00:00Z");
        for (at, expected) in [
            ("2026-03-08T13:01:00Z", Some("2026-03-08")),
            ("2026-03-08T13:01:00.001Z", None),
            ("2026-03-08T05:00:00Z", Some("2026-03-08")),
            ("2026-03-08T04:59:59Z", Some("2026-03-07")),
            ("2026-03-07T05:00:00Z", Some("2026-03-07")),
            ("2026-03-07T04:59:59.999Z", None),
        ] {
            let found = day_of_submission(&zone, ms(at), now);
            let expected = expected.map(|text| parse_day(text).unwrap());
            assert_eq!(found.as_ref().ok(), expected.as_ref(), "{at} {found:?}");
        }
        let error = day_of_submission(&zone, now + 61_000, now).unwrap_err().to_string();
        assert_eq!(
            error,
            "timestamp: is in the future; the current time is 2026-03-08T09:00:00-04:00"
        );
    }

    #[test]
    fn the_ends_of_the_calendar_are_handled() {
        for zone in ["UTC", "Pacific/Apia", "America/New_York"] {
            let zone = Zone::new(zone).unwrap();
            for at in [i64::MIN, i64::MIN + 1, 0, i64::MAX - 1, i64::MAX] {
                let _ = day_of_submission(&zone, at, 0);
                let _ = day_of_submission(&zone, 0, at);
            }
        }
    }

    #[test]
    fn wrong_texts_are_refused_by_field() {
        for (error, text) in [
            (
                parse_day("20260123").unwrap_err(),
                "date: \"20260123\" is not a date like 2026-01-23",
            ),
            (
                parse_zone("+01:00").unwrap_err(),
                "timezone: \"+01:00\" is not an IANA time zone like America/New_York",
            ),
            (
                parse_rfc3339("at", "today").unwrap_err(),
                "at: \"today\" is not an RFC 3339 time like 2026-01-23T14:00:00Z",
            ),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }
}
