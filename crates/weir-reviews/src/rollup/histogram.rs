//! A histogram of latencies that can be merged without loss.
//!
//! Values below 128 have a bucket each. Above, every power of two is cut into 64 buckets of equal width, so the middle of a
//! bucket is less than 1/128 away from each of its values. All in integers: every machine counts alike.

use serde::{Deserialize, Serialize};

use crate::bounds::SUM_MAX;

/// A power of two has `2^SHIFT` buckets.
const SHIFT: u32 = 6;

/// Counts of values by bucket, and their exact sum.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// Sum of the values; it stops at a bound.
    #[serde(rename = "s")]
    sum: u64,
    /// Buckets with values, sorted, and how many each has.
    #[serde(rename = "n")]
    buckets: Vec<(u16, u64)>,
}

impl Histogram {
    /// A histogram of one value.
    #[must_use]
    pub fn of(value: u64) -> Histogram {
        Histogram { sum: value.min(SUM_MAX), buckets: vec![(bucket_of(value), 1)] }
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.sum = self.sum.saturating_add(other.sum).min(SUM_MAX);
        for (bucket, count) in &other.buckets {
            match self.buckets.binary_search_by_key(bucket, |(bucket, _)| *bucket) {
                Ok(place) => {
                    if let Some((_, known)) = self.buckets.get_mut(place) {
                        *known = known.saturating_add(*count);
                    }
                }
                Err(place) => self.buckets.insert(place, (*bucket, *count)),
            }
        }
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Sum of the values.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Whether the sum stopped at its bound.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.sum >= SUM_MAX
    }

    /// The value that `percent` of the values do not exceed, within 1 %. `None` if there are no values.
    #[must_use]
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        let count = u128::from(self.count());
        let rank = (count * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        self.buckets.iter().find_map(|(bucket, count)| {
            seen += u128::from(*count);
            (seen >= rank).then(|| middle_of(*bucket))
        })
    }
}

fn bucket_of(value: u64) -> u16 {
    let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(SHIFT);
    u16::try_from((u64::from(shift) << SHIFT) + (value >> shift)).unwrap_or(u16::MAX)
}

fn middle_of(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    // Two rows of the first power of two have buckets of width 1.
    let shift = (bucket >> SHIFT).saturating_sub(1).min(u64::from(u64::BITS - SHIFT - 1));
    let first = (bucket - (shift << SHIFT)).wrapping_shl(u32::try_from(shift).unwrap_or(0));
    first.saturating_add(((1 << shift) - 1) / 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_all(values: &[u64]) -> Histogram {
        let mut all = Histogram::default();
        values.iter().for_each(|value| all.merge(&Histogram::of(*value)));
        all
    }

    fn nearest_rank(values: &[u64], percent: u8) -> u64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        sorted[(values.len() * usize::from(percent)).div_ceil(100).max(1) - 1]
    }

    #[test]
    fn small_values_are_exact() {
        for value in 0..128 {
            assert_eq!(middle_of(bucket_of(value)), value);
        }
        assert_eq!(Histogram::default().percentile(50), None);
    }

    #[test]
    fn buckets_grow_with_their_values_up_to_the_largest() {
        let mut last = 0;
        for power in 0..64 {
            for value in [1 << power, (1_u64 << power) + (1 << power >> 1)] {
                assert!(bucket_of(value) >= last);
                last = bucket_of(value);
                assert!(middle_of(last).abs_diff(value) <= value / 128, "{value}");
            }
        }
        assert!(middle_of(bucket_of(u64::MAX)).abs_diff(u64::MAX) <= u64::MAX / 128);
        assert!(middle_of(u16::MAX) > 0);
    }

    #[test]
    fn a_sum_that_stops_says_so() {
        let mut all = Histogram::of(u64::MAX);
        assert!(all.is_saturated());
        all.merge(&Histogram::of(u64::MAX));
        assert_eq!((all.sum(), all.count()), (SUM_MAX, 2));
    }

    proptest! {
        #[test]
        fn percentiles_are_within_one_percent(
            values in prop::collection::vec(prop_oneof![0_u64..300, 0_u64..86_400_000], 1..200),
            percent in 0_u8..=100,
        ) {
            let exact = nearest_rank(&values, percent);
            let found = of_all(&values).percentile(percent).unwrap();
            prop_assert!(found.abs_diff(exact) * 100 < exact.max(1), "{found} {exact}");
        }

        #[test]
        fn the_order_of_merging_does_not_matter(
            values in prop::collection::vec(0_u64..1_000_000, 0..40),
            cut in 0_usize..40,
        ) {
            let (left, right) = values.split_at(cut.min(values.len()));
            let (mut one_way, mut other_way) = (of_all(left), of_all(right));
            one_way.merge(&of_all(right));
            other_way.merge(&of_all(left));
            prop_assert_eq!(&one_way, &other_way);
            prop_assert_eq!(&one_way, &of_all(&values));
            prop_assert_eq!(one_way.sum(), values.iter().sum::<u64>());
        }
    }
}
