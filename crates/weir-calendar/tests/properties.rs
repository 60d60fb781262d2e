//! Properties of days in every time zone.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use weir_calendar::{DAY_MS, Day, DaySpan, Zone};

fn zones() -> Vec<Zone> {
    let database = jiff::tz::TimeZoneDatabase::bundled();
    database.available().filter_map(|name| Zone::new(name.as_str())).collect()
}

fn check_instant(zone: &Zone, at: i64) -> Result<(), TestCaseError> {
    let (day, next) = (zone.day_of(at), zone.next_midnight(at));
    let first = zone.first_instant(day);
    prop_assert!(first <= at && at < next, "{zone:?} {at}: {first} {next}");
    prop_assert!(zone.has(day));
    // The next midnight is the first instant of the next existing day, with nothing in between.
    let following = zone.day_of(next);
    prop_assert!(following > day, "{zone:?} {at}");
    prop_assert_eq!(zone.first_instant(following), next);
    prop_assert_eq!((zone.day_of(next - 1), zone.day_of(first)), (day, day));
    let mut skipped = day.next().unwrap();
    while skipped < following {
        prop_assert!(!zone.has(skipped));
        prop_assert_eq!(zone.first_instant(skipped), next);
        skipped = skipped.next().unwrap();
    }
    prop_assert!(zone.day_of(first - 1) < day);
    prop_assert_eq!(zone.span_of(at), DaySpan { day, start_ms: first, end_ms: next });
    Ok(())
}

fn instant() -> impl Strategy<Value = i64> {
    // From 1900 on, and more from the present.
    prop_oneof![-2_208_988_800_000i64..4_102_444_800_000, 1_700_000_000_000i64..1_900_000_000_000]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_instant_is_in_one_day(zone in prop::sample::select(zones()), at in instant()) {
        check_instant(&zone, at)?;
    }

    #[test]
    fn days_never_go_back(zone in prop::sample::select(zones()), at in instant(), later in 0..3 * DAY_MS) {
        prop_assert!(zone.day_of(at) <= zone.day_of(at + later));
    }

    #[test]
    fn days_round_trip(at in instant()) {
        let day = Zone::utc().day_of(at);
        prop_assert_eq!(Day::from_dashed(&day.to_string()), Some(day));
        prop_assert_eq!(Day::from_compact(&day.compact()), Some(day));
    }
}

/// Around every change of every time zone's clock since 1960, where days are irregular.
#[test]
fn clock_changes_leave_no_gap_between_days() {
    let database = jiff::tz::TimeZoneDatabase::bundled();
    let from = "1960-01-01T00:00:00Z".parse().unwrap();
    let until = "2040-01-01T00:00:00Z".parse().unwrap();
    for zone in zones() {
        let clock = database.get(zone.name()).unwrap();
        let changes = clock.following(from).map(|change| change.timestamp());
        for change in changes.take_while(|change| *change < until) {
            let at = change.as_millisecond();
            for near in [at - 1, at] {
                check_instant(&zone, near).unwrap();
            }
        }
    }
}
