//! The pattern of a day and of a week: people work, sleep and have weekends.

/// Activity of each local hour, in percent of the busiest.
const DAY: [u64; 24] =
    [6, 4, 3, 2, 3, 6, 14, 30, 58, 82, 96, 100, 78, 84, 98, 100, 94, 80, 58, 42, 34, 26, 18, 10];
/// Activity of a weekend, in percent of a working day.
const WEEKEND: u64 = 32;
const HOUR_MS: i64 = 3_600_000;
const DAY_HOURS: i64 = 24;

/// Activity at an instant, in percent of the busiest hour, where clocks are `offset_hours` ahead of UTC.
pub(super) fn activity(at_ms: i64, offset_hours: i64) -> u64 {
    let hour = at_ms.div_euclid(HOUR_MS) + offset_hours;
    let of_day = usize::try_from(hour.rem_euclid(DAY_HOURS)).unwrap_or_default();
    let activity = DAY.get(of_day).copied().unwrap_or_default();
    match is_weekend(hour.div_euclid(DAY_HOURS)) {
        true => activity * WEEKEND / 100,
        false => activity,
    }
}

/// The sum of [`activity`] over a working day.
pub(super) fn activity_of_day() -> u64 {
    DAY.iter().sum()
}

/// Whether a day, counted from 1970-01-01, which was a Thursday, is a Saturday or a Sunday.
fn is_weekend(day: i64) -> bool {
    matches!((day + 4).rem_euclid(7), 0 | 6)
}

/// A number of events with this average, in thousandths: the fraction decides by chance.
pub(super) fn count(average_milli: u64, random: &mut fastrand::Rng) -> u64 {
    let rest = average_milli % 1_000;
    average_milli / 1_000 + u64::from(random.u64(0..1_000) < rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weekends_and_nights_are_quiet() {
        // 2026-01-15T12:00:00Z, a Thursday.
        let noon = 1_768_478_400_000;
        let day = DAY_HOURS * HOUR_MS;
        assert_eq!(activity(noon, 0), 78);
        assert_eq!(activity(noon, 9), DAY[21]);
        assert_eq!(activity(noon - 9 * HOUR_MS, 0), 2);
        assert_eq!([1, 2, 3, 4].map(|days| activity(noon + days * day, 0)), [78, 24, 24, 78]);
    }

    #[test]
    fn counts_have_their_average() {
        let mut random = fastrand::Rng::with_seed(1);
        let sum: u64 = (0..10_000).map(|_| count(2_250, &mut random)).sum();
        assert!((22_000..23_000).contains(&sum), "{sum}");
    }
}
