//! Costs, in micro-USD. Requests and responses have them as decimal dollars.

use std::fmt;
use std::str::FromStr as _;

use weir_table::number::Number;

use crate::bounds::{COST_MICROS_MAX, COST_SUM_MICROS_MAX};
use crate::error::{Error, Result};

/// Decimal places of a micro-USD.
const PLACES: i32 = 6;

/// An amount of money, in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Zero.
    pub const ZERO: MicroUsd = MicroUsd(0);

    /// Parses the cost of a response in dollars. What is smaller than a micro-USD is rounded up.
    ///
    /// # Errors
    /// The text is not a decimal number from 0 to a million.
    pub fn parse(text: &str) -> Result<MicroUsd> {
        let wrong = || {
            let shown = weir_table::id::shown(text);
            let dollars = COST_MICROS_MAX / 1_000_000;
            Error::invalid(
                "cost_usd",
                format!("{shown} is not a decimal number from 0 to {dollars}"),
            )
        };
        let number = Number::from_str(text).map_err(|_| wrong())?;
        let micros = micros_up(number).ok_or_else(wrong)?;
        Some(MicroUsd(micros)).filter(|cost| cost.0 <= COST_MICROS_MAX).ok_or_else(wrong)
    }

    /// The amount as an exact decimal number of dollars, as it is stored.
    #[must_use]
    pub fn to_number(self) -> Number {
        Number::new(i128::from(self.0), -PLACES).unwrap_or(Number::ZERO)
    }

    /// Reads a stored number of dollars.
    #[must_use]
    pub fn from_number(number: Number) -> Option<MicroUsd> {
        micros_up(number).map(MicroUsd)
    }

    /// The sum of both; it stops at a bound.
    #[must_use]
    pub fn saturating_add(self, other: MicroUsd) -> MicroUsd {
        MicroUsd(self.0.saturating_add(other.0).min(COST_SUM_MICROS_MAX))
    }

    /// Whether this is a sum that stopped at its bound.
    #[must_use]
    pub fn is_saturated(self) -> bool {
        self.0 >= COST_SUM_MICROS_MAX
    }
}

/// Decimal dollars with six places: `0.012345`.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

fn micros_up(dollars: Number) -> Option<u64> {
    let power = i32::from(dollars.exponent()) + PLACES;
    let mantissa = u128::try_from(dollars.mantissa()).ok()?;
    let ten = 10_u128.checked_pow(power.unsigned_abs());
    let micros = match (power >= 0, ten) {
        (true, Some(ten)) => mantissa.checked_mul(ten)?,
        (true, None) => (mantissa == 0).then_some(0)?,
        (false, Some(ten)) => mantissa.div_ceil(ten),
        (false, None) => u128::from(mantissa > 0),
    };
    u64::try_from(micros).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_exact_to_the_micro() {
        for (text, micros) in [
            ("0", 0),
            ("0.0089", 8_900),
            ("1", 1_000_000),
            ("1e-3", 1_000),
            ("0.0000001", 1),
            ("0.0000010000001", 2),
            ("1e-130", 1),
            ("1000000", COST_MICROS_MAX),
        ] {
            let cost = MicroUsd::parse(text).unwrap();
            assert_eq!(cost.0, micros, "{text}");
            assert_eq!(MicroUsd::from_number(cost.to_number()), Some(cost));
        }
        for bad in ["", "-0.1", "1000000.000001", "1e125", "NaN", "0x1", "1,5"] {
            MicroUsd::parse(bad).unwrap_err();
        }
        assert_eq!(MicroUsd(1_234_567).to_string(), "1.234567");
        let most = MicroUsd(u64::MAX).saturating_add(MicroUsd(1));
        assert!(most.is_saturated());
    }
}
