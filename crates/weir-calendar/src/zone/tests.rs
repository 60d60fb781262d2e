use super::*;
use crate::{parse_rfc3339, rfc3339};

fn ms(text: &str) -> i64 {
    parse_rfc3339(text).unwrap()
}

fn day(text: &str) -> Day {
    Day::from_dashed(text).unwrap()
}

/// Each day with its first instant and its length in minutes.
#[test]
fn days_begin_at_their_first_instant() {
    for (zone, date, first, minutes) in [
        ("UTC", "2026-01-23", "2026-01-23T00:00:00Z", 1440),
        ("America/New_York", "2026-01-23", "2026-01-23T05:00:00Z", 1440),
        ("Asia/Seoul", "2026-01-24", "2026-01-23T15:00:00Z", 1440),
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00Z", 1380),
        ("America/New_York", "2026-11-01", "2026-11-01T04:00:00Z", 1500),
        ("Asia/Kathmandu", "2026-01-23", "2026-01-22T18:15:00Z", 1440),
        // The clock jumps forward and back by half an hour.
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-04T13:00:00Z", 1470),
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-03T13:30:00Z", 1410),
        // Midnight does not exist: 23:59 is followed by 01:00.
        ("America/Santiago", "2026-09-06", "2026-09-06T04:00:00Z", 1380),
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00Z", 1380),
        // The last hour of the day comes twice.
        ("America/Santiago", "2026-04-04", "2026-04-04T03:00:00Z", 1500),
        // Midnight comes twice: 00:59 is followed by 00:00.
        ("America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", 1500),
        // A minute after midnight the clock went back to 23:01 of the day before.
        ("America/St_Johns", "2010-11-07", "2010-11-07T02:30:00Z", 1500),
        ("America/St_Johns", "2010-11-06", "2010-11-06T02:30:00Z", 1440),
        // 23:30 was followed by 00:30.
        ("America/Toronto", "1919-03-31", "1919-03-31T04:30:00Z", 1410),
        ("America/Toronto", "1919-03-30", "1919-03-30T05:00:00Z", 1410),
        // The day before was followed by the day after.
        ("Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", 1440),
        ("Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", 0),
        ("Pacific/Apia", "2011-12-31", "2011-12-30T10:00:00Z", 1440),
    ] {
        let (zone, date) = (Zone::new(zone).unwrap(), day(date));
        let first_ms = zone.first_instant(date);
        assert_eq!(rfc3339(first_ms), first, "{zone:?} {date}");
        let next = zone.first_instant(date.next().unwrap());
        assert_eq!((next - first_ms) / 60_000, minutes, "{zone:?} {date}");
        assert_eq!(zone.has(date), minutes > 0, "{zone:?} {date}");
        if minutes > 0 {
            let span = DaySpan { day: date, start_ms: first_ms, end_ms: next };
            for at in [first_ms, first_ms + 1, next - 1] {
                assert_eq!(zone.span_of(at), span, "{zone:?} {}", rfc3339(at));
                assert_eq!(zone.next_midnight(at), next);
            }
            let (before, after) = (zone.day_of(first_ms - 1), zone.day_of(next));
            assert!(before < date && after > date, "{zone:?} {before} {date} {after}");
        }
    }
}

#[test]
fn every_instant_belongs_to_one_day() {
    for (zone, at, expected) in [
        ("UTC", "2026-01-23T23:59:59.999Z", "2026-01-23"),
        ("America/Santiago", "2026-09-06T03:59:59Z", "2026-09-05"),
        ("America/Havana", "2026-11-01T03:59:59Z", "2026-10-31"),
        ("America/Havana", "2026-11-01T04:30:00Z", "2026-11-01"),
        ("America/Havana", "2026-11-01T05:30:00Z", "2026-11-01"),
        // The wall clock shows 23:30 of the day before, for the second time.
        ("America/St_Johns", "2010-11-07T03:00:00Z", "2010-11-07"),
        ("Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"),
        ("Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"),
        ("Asia/Kathmandu", "2026-01-22T18:14:59Z", "2026-01-22"),
    ] {
        assert_eq!(Zone::new(zone).unwrap().day_of(ms(at)), day(expected), "{zone} {at}");
    }
}

#[test]
fn a_time_zone_has_its_canonical_name() {
    assert_eq!(Zone::new("america/new_york").unwrap().name(), "America/New_York");
    assert_eq!(Zone::new("asia/seoul").unwrap().name(), "Asia/Seoul");
    assert_eq!(Zone::new("UTC").unwrap(), Zone::utc());
    for bad in
        ["", "EST5EDT,M3.2.0,M11.1.0", "America/Nowhere", "+01:00", "../etc/passwd", "Etc/Unknown"]
    {
        assert_eq!(Zone::new(bad), None, "{bad}");
    }
}

#[test]
fn the_ends_of_the_calendar_are_handled() {
    for zone in ["UTC", "Pacific/Apia", "America/New_York"] {
        let zone = Zone::new(zone).unwrap();
        for at in [i64::MIN, i64::MIN + 1, 0, i64::MAX - 1, i64::MAX] {
            let _ = (zone.span_of(at), zone.next_midnight(at), zone.local_time(at));
        }
    }
}
