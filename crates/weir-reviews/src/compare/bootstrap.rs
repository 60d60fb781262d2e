//! Intervals by block bootstrap: days are drawn with replacement, because the reviews of a day resemble each other.
//!
//! Every resample draws days once and sums all columns of all models and pairs, so that 1 000 resamples are additions over
//! a small matrix. The seed is fixed: the same days always have the same intervals. Sums are in floating point, which is
//! exact for counts below 2⁵³.

use crate::bounds::BOOTSTRAP_RESAMPLES;

const SEED: u64 = 0x5EED_0DA7;
/// Shares of the resamples below and above a 95 % interval, in thousandths.
const TAIL_PERMILLE: usize = 25;

/// The bounds of a 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower bound.
    pub low: f64,
    /// Its upper bound.
    pub high: f64,
}

/// A figure computed from sums of columns.
#[derive(Debug, Clone, Copy)]
pub(super) enum Statistic {
    /// A column divided by another, times a factor.
    Ratio {
        /// Column above the line.
        over: usize,
        /// Column below the line.
        under: usize,
        /// The factor.
        scale: f64,
    },
    /// Positive agreement of the columns a, b, c from here on.
    PositiveAgreement(usize),
    /// Cohen's κ of the columns a, b, c, d from here on.
    Kappa(usize),
}

impl Statistic {
    fn of(self, sums: &[f64]) -> Option<f64> {
        let columns = |from: usize| sums.get(from..);
        let (numerator, denominator) = match self {
            Statistic::Ratio { over, under, scale } => (sums.get(over)? * scale, *sums.get(under)?),
            Statistic::PositiveAgreement(from) => match columns(from)? {
                [a, b, c, ..] => (2.0 * a, 2.0 * a + b + c),
                _ => return None,
            },
            Statistic::Kappa(from) => match columns(from)? {
                [a, b, c, d, ..] => (2.0 * (a * d - b * c), (a + b) * (b + d) + (a + c) * (c + d)),
                _ => return None,
            },
        };
        (denominator > 0.0).then(|| numerator / denominator)
    }
}

/// The interval of each statistic over days, each a row of as many columns. An interval takes at least two days, and half of
/// the resamples in which its statistic is defined.
pub(super) fn intervals(days: &[Vec<f64>], statistics: &[Statistic]) -> Vec<Option<Interval>> {
    if days.len() < 2 {
        return vec![None; statistics.len()];
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut samples = vec![Vec::with_capacity(BOOTSTRAP_RESAMPLES); statistics.len()];
    let mut sums = vec![0.0; days.first().map_or(0, Vec::len)];
    for _ in 0..BOOTSTRAP_RESAMPLES {
        sums.fill(0.0);
        for _ in 0..days.len() {
            if let Some(day) = days.get(random.usize(..days.len())) {
                sums.iter_mut().zip(day).for_each(|(sum, value)| *sum += value);
            }
        }
        for (statistic, sample) in statistics.iter().zip(&mut samples) {
            sample.extend(statistic.of(&sums));
        }
    }
    samples.into_iter().map(interval).collect()
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

    const MEAN: Statistic = Statistic::Ratio { over: 0, under: 1, scale: 1.0 };

    #[test]
    fn the_interval_of_a_mean_is_close_to_the_normal_one() {
        // 100 days with 0 or 1, half of each: the standard error is 0.05.
        let days: Vec<Vec<f64>> = (0..100).map(|day| vec![f64::from(day % 2), 1.0]).collect();
        let Interval { low, high } = intervals(&days, &[MEAN]).remove(0).unwrap();
        assert!((low - 0.402).abs() < 0.02 && (high - 0.598).abs() < 0.02, "{low} {high}");
    }

    #[test]
    fn the_same_days_have_the_same_interval() {
        let days: Vec<Vec<f64>> = (0..30).map(|day| vec![f64::from(day * day % 7), 2.0]).collect();
        assert_eq!(intervals(&days, &[MEAN]), intervals(&days, &[MEAN]));
    }

    #[test]
    fn one_day_has_no_interval_and_equal_days_have_a_narrow_one() {
        let day = vec![3.0, 4.0];
        assert_eq!(intervals(&[], &[MEAN]), [None]);
        assert_eq!(intervals(std::slice::from_ref(&day), &[MEAN]), [None]);
        let narrow = intervals(&[day.clone(), day], &[MEAN]).remove(0).unwrap();
        assert_eq!((narrow.low, narrow.high), (0.75, 0.75));
    }

    #[test]
    fn what_is_mostly_undefined_has_no_interval() {
        let mut days = vec![vec![0.0, 0.0]; 9];
        days.push(vec![1.0, 1.0]);
        // A resample of ten has the one day with probability 0.65, one of two hundred with 0.63; with fewer there is none.
        assert!(intervals(&days, &[MEAN]).remove(0).is_some());
        assert_eq!(intervals(&vec![vec![0.0, 0.0]; 9], &[MEAN]), [None]);
    }

    #[test]
    fn agreement_and_kappa_read_their_columns() {
        let columns = [9.0, 3.0, 2.0, 4.0, 20.0, 5.0, 10.0, 15.0];
        assert_eq!(Statistic::PositiveAgreement(1).of(&columns), Some(0.5));
        assert_eq!(Statistic::Kappa(4).of(&columns), Some(0.4));
        assert_eq!(Statistic::Kappa(5).of(&columns), None);
    }
}
