//! Waiting times of jobs. Pure, except for the randomness of [`spread`].

use std::time::Duration;

use super::settings::{JITTER_PART, Settings};

/// The wait after `in_row` failed runs in a row. It doubles with each, up to a bound.
pub(super) fn backoff(in_row: u64, settings: &Settings) -> Duration {
    let doublings = u32::try_from(in_row.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
    settings.backoff_first.saturating_mul(factor).min(settings.backoff_max)
}

/// `wait` plus up to a tenth of it, so that instances do not run in step.
pub(super) fn spread(wait: Duration) -> Duration {
    wait.saturating_add((wait / JITTER_PART).mul_f64(fastrand::f64()))
}

/// The longest duration that is stored; added to the current time it still fits a signed number.
const MILLIS_MAX: u64 = i64::MAX as u64 / 2;

/// A duration as it is stored.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).map_or(MILLIS_MAX, |ms| ms.min(MILLIS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_to_its_bound() {
        let settings = Settings {
            backoff_first: Duration::from_secs(1),
            backoff_max: Duration::from_secs(5),
            ..Settings::default()
        };
        let secs: Vec<u64> = [0, 1, 2, 3, 4, 200, u64::MAX]
            .map(|in_row| backoff(in_row, &settings).as_secs())
            .into();
        assert_eq!(secs, [1, 1, 2, 4, 5, 5, 5]);
    }

    #[test]
    fn a_spread_wait_is_never_shorter_and_at_most_a_tenth_longer() {
        let wait = Duration::from_millis(1000);
        for _ in 0..1000 {
            let spread = spread(wait);
            assert!((wait..=Duration::from_millis(1100)).contains(&spread));
        }
        assert_eq!(spread(Duration::ZERO), Duration::ZERO);
    }
}
