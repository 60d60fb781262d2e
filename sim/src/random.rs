//! The one source of chance of a run: everything it decides follows from the seed.

use std::ops::RangeInclusive;

/// A seeded generator.
#[derive(Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(fastrand::Rng::with_seed(seed))
    }

    /// True `percent` times out of a hundred.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.0.u32(0..100) < percent
    }

    /// A number of the range.
    pub fn number(&mut self, range: RangeInclusive<i64>) -> i64 {
        self.0.i64(range)
    }

    /// An index below `len`, which must not be zero.
    pub fn index(&mut self, len: usize) -> usize {
        self.0.usize(..len)
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.index(of.len())]
    }

    /// One of several, by weight.
    pub fn weighted<T: Copy>(&mut self, of: &[(u32, T)]) -> T {
        let mut left = self.0.u32(..of.iter().map(|(weight, _)| *weight).sum::<u32>());
        for (weight, one) in of {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *one,
            }
        }
        of[0].1
    }

    /// A duration in milliseconds from 1 to `max`: short ones are as likely as long ones.
    pub fn duration_ms(&mut self, max: i64) -> i64 {
        let bits = 64 - max.leading_zeros();
        let bound = 1_i64 << self.0.u32(1..=bits);
        self.0.i64(1..=bound.min(max))
    }

    /// 128 random bits.
    pub fn bits(&mut self) -> u128 {
        self.0.u128(..)
    }
}
