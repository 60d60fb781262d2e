//! Ratios of whole numbers. They become floating point only when they leave the domain.

use crate::rollup::PairCounts;

/// A ratio of whole numbers; undefined when the denominator is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    /// Above the line. Only κ is ever negative.
    pub numerator: i128,
    /// Below the line.
    pub denominator: u128,
}

impl Ratio {
    /// The ratio of two counts.
    #[must_use]
    pub fn new(numerator: u64, denominator: u64) -> Ratio {
        Ratio { numerator: numerator.into(), denominator: denominator.into() }
    }

    /// The value of the ratio, if it is defined.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "this is the end of exact numbers")]
    pub fn value(self) -> Option<f64> {
        (self.denominator > 0).then(|| self.numerator as f64 / self.denominator as f64)
    }

    /// Positive agreement of two models over their findings: 2a / (2a + b + c).
    #[must_use]
    pub fn positive_agreement(counts: &PairCounts) -> Ratio {
        let both = 2 * u128::from(counts.shared);
        let others = u128::from(counts.only_first) + u128::from(counts.only_second);
        Ratio { numerator: both.cast_signed(), denominator: both + others }
    }

    /// Cohen's κ of two models over units: how much more often they agree than by chance. Undefined without units, and if
    /// both always say the same thing.
    #[must_use]
    pub fn kappa(counts: &PairCounts) -> Ratio {
        kappa(counts).unwrap_or(Ratio { numerator: 0, denominator: 0 })
    }
}

/// κ = 2 (ad − bc) / ((a + b)(b + d) + (a + c)(c + d)); `None` if the counts are too large.
fn kappa(counts: &PairCounts) -> Option<Ratio> {
    let [a, b, c, d] =
        [counts.units_both, counts.units_first, counts.units_second, counts.units_neither]
            .map(u128::from);
    let left = (a + b).checked_mul(b + d)?;
    let right = (a + c).checked_mul(c + d)?;
    let numerator = (a * d).cast_signed().checked_sub((b * c).cast_signed())?.checked_mul(2)?;
    Some(Ratio { numerator, denominator: left.checked_add(right)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(both: u64, first: u64, second: u64, neither: u64) -> PairCounts {
        PairCounts::from([1, 0, 0, 0, both, first, second, neither])
    }

    #[test]
    fn kappa_equals_examples_computed_by_hand() {
        // The textbook example: observed 0.7, by chance 0.5.
        assert_eq!(Ratio::kappa(&units(20, 5, 10, 15)).value(), Some(0.4));
        // Agreement by chance only: each says yes to half, independently.
        assert_eq!(Ratio::kappa(&units(25, 25, 25, 25)).value(), Some(0.0));
        assert_eq!(Ratio::kappa(&units(10, 0, 0, 10)).value(), Some(1.0));
        assert_eq!(Ratio::kappa(&units(0, 10, 10, 0)).value(), Some(-1.0));
        // Observed 60/100, by chance 0.54: 0.06 / 0.46.
        let skewed = Ratio::kappa(&units(45, 15, 25, 15)).value().unwrap();
        assert!((skewed - 0.06 / 0.46).abs() < 1e-12, "{skewed}");
    }

    #[test]
    fn kappa_is_undefined_without_units_and_without_variation() {
        assert_eq!(Ratio::kappa(&units(0, 0, 0, 0)).value(), None);
        assert_eq!(Ratio::kappa(&units(0, 0, 0, 9)).value(), None);
        assert_eq!(Ratio::kappa(&units(9, 0, 0, 0)).value(), None);
        assert_eq!(Ratio::kappa(&units(0, 3, 0, 6)).value(), Some(0.0));
        assert_eq!(Ratio::kappa(&units(u64::MAX, u64::MAX, u64::MAX, u64::MAX)).value(), None);
    }

    #[test]
    fn positive_agreement_ignores_what_neither_found() {
        let counts = PairCounts::from([9, 3, 2, 4, 0, 0, 0, 0]);
        assert_eq!(Ratio::positive_agreement(&counts), Ratio { numerator: 6, denominator: 12 });
        assert_eq!(Ratio::positive_agreement(&PairCounts::default()).value(), None);
    }
}
