//! Intervals by block bootstrap: days are drawn with replacement, because the reviews of a day resemble each other.
//!
//! The days of every resample are drawn once, for all models and pairs. A model or a pair has a few columns, so its days fit
//! in the fastest cache and the sums of a resample in registers. The seed is fixed: the same days always have the same
//! intervals. Sums are in floating point, which is exact for counts below 2⁵³.

use std::array;

use crate::bounds::BOOTSTRAP_RESAMPLES;

const SEED: u64 = 0x5EED_0DA7;
/// Shares of the resamples below and above a 95 % interval, in thousandths.
const TAIL_PERMILLE: usize = 25;

/// The bounds of a 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

/// A figure computed from the sums of columns; `None` where it is undefined.
pub(super) type Statistic<const COLUMNS: usize> = fn(&[f64; COLUMNS]) -> Option<f64>;

/// The days that each resample draws.
pub(super) struct Resamples {
    days: usize,
    draws: Vec<usize>,
}

impl Resamples {
    /// Resamples of so many days; none of less than two.
    pub(super) fn new(days: usize) -> Resamples {
        let mut random = fastrand::Rng::with_seed(SEED);
        let count = if days < 2 { 0 } else { days * BOOTSTRAP_RESAMPLES };
        Resamples { days, draws: (0..count).map(|_| random.usize(..days)).collect() }
    }

    /// The interval of each statistic over the columns of the days. An interval takes half of the resamples in which its
    /// statistic is defined.
    pub(super) fn intervals<const COLUMNS: usize, const STATISTICS: usize>(
        &self,
        days: &[[f64; COLUMNS]],
        statistics: [Statistic<COLUMNS>; STATISTICS],
    ) -> [Option<Interval>; STATISTICS] {
        let mut samples: [Vec<f64>; STATISTICS] =
            array::from_fn(|_| Vec::with_capacity(BOOTSTRAP_RESAMPLES));
        for draw in self.draws.chunks_exact(self.days.max(1)) {
            let sums = sums(days, draw);
            for (statistic, sample) in statistics.iter().zip(&mut samples) {
                sample.extend(statistic(&sums));
            }
        }
        samples.map(interval)
    }
}

/// The sums of the drawn days. Inlined into its loop, the compiler has them in memory instead of registers, which takes three
/// times as long.
#[inline(never)]
fn sums<const COLUMNS: usize>(days: &[[f64; COLUMNS]], draw: &[usize]) -> [f64; COLUMNS] {
    let mut sums = [0.0; COLUMNS];
    for day in draw.iter().filter_map(|day| days.get(*day)) {
        for (sum, value) in sums.iter_mut().zip(day) {
            *sum += value;
        }
    }
    sums
}

fn interval(mut sample: Vec<f64>) -> Option<Interval> {
    if sample.len() * 2 < BOOTSTRAP_RESAMPLES {
        return None;
    }
    let tail = sample.len() * TAIL_PERMILLE / 1_000;
    let last = sample.len().checked_sub(1 + tail)?;
    let mut nth = |place: usize| *sample.select_nth_unstable_by(place, f64::total_cmp).1;
    Some(Interval { low: nth(tail), high: nth(last) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: Statistic<2> = |[over, under]| (*under > 0.0).then(|| over / under);

    fn interval_of(days: &[[f64; 2]]) -> Option<Interval> {
        let [interval] = Resamples::new(days.len()).intervals(days, [MEAN]);
        interval
    }

    #[test]
    fn the_interval_of_a_mean_is_close_to_the_normal_one() {
        // 100 days with 0 or 1, half of each: the standard error is 0.05.
        let days: Vec<[f64; 2]> = (0..100).map(|day| [f64::from(day % 2), 1.0]).collect();
        let Interval { low, high } = interval_of(&days).unwrap();
        assert!((low - 0.402).abs() < 0.02 && (high - 0.598).abs() < 0.02, "{low} {high}");
    }

    #[test]
    fn the_same_days_have_the_same_interval() {
        let days: Vec<[f64; 2]> = (0..30).map(|day| [f64::from(day * day % 7), 2.0]).collect();
        assert_eq!(interval_of(&days), interval_of(&days));
        assert!(interval_of(&days).is_some());
    }

    #[test]
    fn a_resample_sums_the_days_that_it_draws() {
        let days = [[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]];
        for (draw, sum) in [(vec![0, 2, 2], 9.0), (vec![1, 1], 4.0), (vec![2], 4.0), (vec![], 0.0)]
        {
            assert_eq!(sums(&days, &draw), [sum, 10.0 * sum], "{draw:?}");
        }
    }

    #[test]
    fn one_day_has_no_interval_and_equal_days_have_a_narrow_one() {
        let day = [3.0, 4.0];
        assert_eq!(interval_of(&[]), None);
        assert_eq!(interval_of(&[day]), None);
        let narrow = interval_of(&[day, day]).unwrap();
        assert_eq!((narrow.low, narrow.high), (0.75, 0.75));
    }

    #[test]
    fn what_is_mostly_undefined_has_no_interval() {
        let mut days = [[0.0, 0.0]; 10];
        assert_eq!(interval_of(&days), None);
        // A resample of ten has the one day with probability 0.65.
        days[9] = [1.0, 1.0];
        assert!(interval_of(&days).is_some());
    }
}
