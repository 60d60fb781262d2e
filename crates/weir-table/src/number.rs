//! Exact decimal numbers: 38 significant digits, magnitudes from 1e-130 to 9.99e125, as on DynamoDB.
//!
//! A number is `mantissa × 10^exponent`, without trailing zeros in the mantissa, so equal numbers are equal bit for bit and can
//! be hashed. Arithmetic is exact or an error: a result that needs a 39th digit is refused, never rounded.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Maximum of significant digits.
pub const MAX_DIGITS: u32 = 38;
/// The largest power of ten of a number's first digit.
pub const MAX_MAGNITUDE: i32 = 125;
/// The smallest power of ten of a number's first digit.
pub const MIN_MAGNITUDE: i32 = -130;
/// Length of the text of [`Number::to_ordered_bytes`].
pub const ORDERED_LEN: usize = 19;

/// The powers of ten that fit an `i64`.
#[expect(clippy::indexing_slicing, reason = "done by the compiler, which would refuse it")]
const SMALL_POWERS: [i64; 19] = {
    let mut powers = [1; 19];
    let mut place = 1;
    while place < powers.len() {
        powers[place] = powers[place - 1] * 10;
        place += 1;
    }
    powers
};

/// Why a text or a result is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a decimal number.
    #[error("is not a decimal number")]
    Syntax,
    /// More than 38 significant digits.
    #[error("needs more than {MAX_DIGITS} significant digits")]
    Precision,
    /// Too large or too small.
    #[error("is outside ±1e{MIN_MAGNITUDE}..±9.99e{MAX_MAGNITUDE}")]
    Range,
}

/// An exact decimal number. Its mantissa is stored in halves: an `i128` would double the size of every value and align it to
/// 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Number {
    high: i64,
    low: u64,
    exponent: i16,
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number::raw(0, 0);

    const fn raw(mantissa: i128, exponent: i16) -> Number {
        Number { high: (mantissa >> 64) as i64, low: mantissa as u64, exponent }
    }

    /// Builds `mantissa × 10^exponent`.
    ///
    /// # Errors
    /// The value needs more than 38 digits or is out of range.
    pub fn new(mantissa: i128, exponent: i32) -> Result<Number, NumberError> {
        Self::from_parts(mantissa < 0, mantissa.unsigned_abs(), exponent)
    }

    fn from_parts(
        negative: bool,
        mut magnitude: u128,
        mut exp: i32,
    ) -> Result<Number, NumberError> {
        if magnitude == 0 {
            return Ok(Number::ZERO);
        }
        // Nearly all mantissas fit an `i64`, whose division is much cheaper.
        if let Ok(mut small) = u64::try_from(magnitude) {
            while small.is_multiple_of(10) {
                small /= 10;
                exp += 1;
            }
            magnitude = u128::from(small);
        } else {
            while magnitude.is_multiple_of(10) {
                magnitude /= 10;
                exp += 1;
            }
        }
        let digits = digits_of(magnitude);
        if digits > MAX_DIGITS {
            return Err(NumberError::Precision);
        }
        let top = exp + digits as i32 - 1;
        if !(MIN_MAGNITUDE..=MAX_MAGNITUDE).contains(&top) {
            return Err(NumberError::Range);
        }
        let mantissa = i128::try_from(magnitude).map_err(|_| NumberError::Precision)?;
        let exponent = i16::try_from(exp).map_err(|_| NumberError::Range)?;
        Ok(Number::raw(if negative { -mantissa } else { mantissa }, exponent))
    }

    /// The digits, as an integer without trailing zeros.
    #[must_use]
    pub fn mantissa(&self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    /// The number, if it is whole and small, as nearly all are.
    fn small(self) -> Option<i64> {
        let mantissa = i64::try_from(self.mantissa()).ok()?;
        let power = usize::try_from(self.exponent).ok()?;
        SMALL_POWERS.get(power)?.checked_mul(mantissa)
    }

    fn is_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// The power of ten of the last digit of the mantissa.
    #[must_use]
    pub fn exponent(&self) -> i16 {
        self.exponent
    }

    /// Number of significant digits; zero has none.
    #[must_use]
    pub fn digits(&self) -> u32 {
        if self.is_zero() { 0 } else { digits_of(self.mantissa().unsigned_abs()) }
    }

    /// Power of ten of the first digit; zero for zero.
    #[must_use]
    pub fn magnitude(&self) -> i32 {
        if self.is_zero() { 0 } else { i32::from(self.exponent) + self.digits() as i32 - 1 }
    }

    /// The number as an `i64`, if it is whole and fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        self.small().or_else(|| i64::try_from(self.to_i128()?).ok())
    }

    /// The number as an `i128`, if it is whole and fits.
    #[must_use]
    pub fn to_i128(&self) -> Option<i128> {
        if let Some(small) = self.small() {
            return Some(i128::from(small));
        }
        let power = u32::try_from(self.exponent).ok()?;
        10i128.checked_pow(power)?.checked_mul(self.mantissa())
    }

    /// `self + other`, exactly.
    ///
    /// # Errors
    /// The sum needs more than 38 digits or is out of range.
    pub fn checked_add(self, other: Number) -> Result<Number, NumberError> {
        if self.is_zero() || other.is_zero() {
            return Ok(if self.is_zero() { other } else { self });
        }
        if let (Some(one), Some(two)) = (self.small(), other.small())
            && let Some(sum) = one.checked_add(two)
        {
            return Ok(Number::from(sum));
        }
        let (high, low) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = u32::try_from(high.exponent - low.exponent).map_err(|_| NumberError::Range)?;
        // A shifted magnitude that does not fit u128 leaves at least 39 digits after any
        // subtraction, because the lower number has at most 38.
        let high_magnitude = 10u128
            .checked_pow(shift)
            .and_then(|scale| high.mantissa().unsigned_abs().checked_mul(scale))
            .ok_or(NumberError::Precision)?;
        let low_magnitude = low.mantissa().unsigned_abs();
        let exp = i32::from(low.exponent);
        if (high.high < 0) == (low.high < 0) {
            let sum = high_magnitude.checked_add(low_magnitude).ok_or(NumberError::Precision)?;
            Self::from_parts(high.high < 0, sum, exp)
        } else if high_magnitude >= low_magnitude {
            Self::from_parts(high.high < 0, high_magnitude - low_magnitude, exp)
        } else {
            Self::from_parts(low.high < 0, low_magnitude - high_magnitude, exp)
        }
    }

    /// `self + other`, exactly. Cheaper than to convert `other` first.
    ///
    /// # Errors
    /// As [`Number::checked_add`].
    pub fn checked_add_i64(self, other: i64) -> Result<Number, NumberError> {
        match self.small().and_then(|small| small.checked_add(other)) {
            Some(sum) => Ok(Number::from(sum)),
            None => self.checked_add(Number::from(other)),
        }
    }

    /// Compares with a whole number. Cheaper than to convert it first.
    #[must_use]
    pub fn cmp_i64(&self, other: i64) -> Ordering {
        match self.small() {
            Some(small) => small.cmp(&other),
            None => self.cmp(&Number::from(other)),
        }
    }

    /// `self - other`, exactly.
    ///
    /// # Errors
    /// As [`Number::checked_add`].
    pub fn checked_sub(self, other: Number) -> Result<Number, NumberError> {
        self.checked_add(Number::raw(-other.mantissa(), other.exponent))
    }

    /// Bytes that sort as the numbers do: a sign, the magnitude, 38 digits. Used in keys.
    #[must_use]
    pub fn to_ordered_bytes(&self) -> [u8; ORDERED_LEN] {
        let mut out = [0u8; ORDERED_LEN];
        let (sign, rest) = out.split_at_mut(1);
        let Some(sign) = sign.first_mut() else {
            return out;
        };
        if self.is_zero() {
            *sign = 2;
            return out;
        }
        *sign = if self.high < 0 { 1 } else { 3 };
        let (top, digits) = rest.split_at_mut(2);
        let biased = u16::try_from(self.magnitude() + 1000).unwrap_or(0);
        top.copy_from_slice(&biased.to_be_bytes());
        digits.copy_from_slice(&self.full_digits().to_be_bytes());
        if self.high < 0 {
            rest.iter_mut().for_each(|byte| *byte = !*byte);
        }
        out
    }

    /// The mantissa padded to 38 digits, so that equal magnitudes compare by it.
    fn full_digits(&self) -> u128 {
        self.mantissa().unsigned_abs() * 10u128.pow(MAX_DIGITS - self.digits())
    }
}

fn digits_of(magnitude: u128) -> u32 {
    if let Ok(small) = u64::try_from(magnitude) {
        return small.checked_ilog10().map_or(0, |log| log + 1);
    }
    magnitude.checked_ilog10().map_or(0, |log| log + 1)
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Some(one), Some(two)) = (self.small(), other.small()) {
            return one.cmp(&two);
        }
        let by_sign = self.mantissa().signum().cmp(&other.mantissa().signum());
        if by_sign != Ordering::Equal || self.is_zero() {
            return by_sign;
        }
        let by_size = self
            .magnitude()
            .cmp(&other.magnitude())
            .then_with(|| self.full_digits().cmp(&other.full_digits()));
        if self.high < 0 { by_size.reverse() } else { by_size }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let (digits, exp) = match unsigned.split_once(['e', 'E']) {
            Some((digits, exp)) => (digits, parse_exponent(exp)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return Err(NumberError::Syntax);
        }
        let mut magnitude: u128 = 0;
        let mut pending_zeros: u32 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            if byte == b'0' {
                pending_zeros += 1;
                continue;
            }
            // Zeros count only if a digit follows, so that 1000…0 may be long.
            magnitude = shifted(magnitude, pending_zeros + 1)?
                .checked_add(u128::from(byte - b'0'))
                .ok_or(NumberError::Precision)?;
            pending_zeros = 0;
        }
        let fraction_len = i32::try_from(fraction.len()).map_err(|_| NumberError::Precision)?;
        let zeros = i32::try_from(pending_zeros).map_err(|_| NumberError::Precision)?;
        Self::from_parts(negative, magnitude, exp - fraction_len + zeros)
    }
}

fn shifted(magnitude: u128, places: u32) -> Result<u128, NumberError> {
    if magnitude == 0 {
        return Ok(0);
    }
    let scale = 10u128.checked_pow(places).ok_or(NumberError::Precision)?;
    magnitude.checked_mul(scale).ok_or(NumberError::Precision)
}

fn parse_exponent(text: &str) -> Result<i32, NumberError> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::Syntax);
    }
    // Far outside the range either way, and small enough that adding a length cannot overflow.
    let exp: i32 = unsigned.parse().unwrap_or(1_000_000).min(1_000_000);
    Ok(if text.starts_with('-') { -exp } else { exp })
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.mantissa().unsigned_abs().to_string();
        let sign = if self.high < 0 { "-" } else { "" };
        let exp = i32::from(self.exponent);
        let point = digits.len() as i32 + exp;
        if exp >= 0 && point <= 40 {
            write!(f, "{sign}{digits}{}", "0".repeat(exp.unsigned_abs() as usize))
        } else if exp < 0 && point > 0 {
            let (whole, fraction) = digits.split_at(point.unsigned_abs() as usize);
            write!(f, "{sign}{whole}.{fraction}")
        } else if exp < 0 && point > -20 {
            write!(f, "{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
        } else {
            write!(f, "{sign}{digits}E{exp}")
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! from_integers {
    ($($int:ty),*) => {$(
        impl From<$int> for Number {
            fn from(value: $int) -> Number {
                let (mut mantissa, mut exponent) = (value, 0);
                while mantissa != 0 && mantissa % 10 == 0 {
                    mantissa /= 10;
                    exponent += 1;
                }
                Number::raw(i128::from(mantissa), exponent)
            }
        }
    )*};
}
from_integers!(i8, i16, i32, i64, u8, u16, u32, u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn n(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn text_is_kept_exactly() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.00", "0"),
            ("007", "7"),
            ("1.50", "1.5"),
            ("-0.001", "-0.001"),
            ("1e3", "1000"),
            ("12.5E-1", "1.25"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
            ("1e125", "1E125"),
            ("1e-130", "1E-130"),
            (".5", "0.5"),
        ] {
            assert_eq!(n(text).to_string(), shown);
            assert_eq!(n(shown), n(text));
        }
    }

    #[test]
    fn bad_texts_say_why() {
        for text in
            ["", "-", ".", "1e", "1e+", "abc", "1 ", "1_0", "0x1", "1.2.3", "NaN", "--1", "é"]
        {
            assert_eq!(text.parse::<Number>(), Err(NumberError::Syntax), "{text:?}");
        }
        assert_eq!("1e126".parse::<Number>(), Err(NumberError::Range));
        assert_eq!("1e-131".parse::<Number>(), Err(NumberError::Range));
        assert_eq!("1e99999999999".parse::<Number>(), Err(NumberError::Range));
        assert_eq!(format!("{}1", "1".repeat(38)).parse::<Number>(), Err(NumberError::Precision));
    }

    #[test]
    fn sums_are_exact_or_refused() {
        assert_eq!(n("0.1").checked_add(n("0.2")), Ok(n("0.3")));
        assert_eq!(n("5").checked_sub(n("5")), Ok(Number::ZERO));
        assert_eq!(n("1e38").checked_sub(n("1")), Ok(n(&"9".repeat(38))));
        assert_eq!(n("1e40").checked_add(n("1")), Err(NumberError::Precision));
        assert_eq!(n("9e125").checked_add(n("9e125")), Err(NumberError::Range));
        let big = n(&"9".repeat(38));
        assert_eq!(big.checked_add(n("80000000000000000000000000000000000001")), Ok(n("18e37")));
    }

    #[test]
    fn bytes_sort_as_numbers_do() {
        let mut numbers: Vec<Number> = [
            "-1e125", "-10", "-9.99", "-1e-130", "0", "1e-130", "0.5", "1", "9", "10", "10.1",
            "1e125",
        ]
        .iter()
        .map(|text| n(text))
        .collect();
        numbers.reverse();
        numbers.sort_by_key(Number::to_ordered_bytes);
        assert!(numbers.is_sorted());
    }

    #[test]
    fn small_numbers_and_large_ones_agree() {
        let edges =
            [0, 1, -1, 9, 10, -10, 1_000_000, i64::MAX - 1, i64::MAX, i64::MIN, i64::MIN + 1];
        for one in edges {
            for two in edges {
                let (a, b) = (Number::from(one), Number::from(two));
                let sum = i128::from(one) + i128::from(two);
                assert_eq!(a.checked_add(b), Number::new(sum, 0), "{one} + {two}");
                assert_eq!(a.checked_sub(b), Number::new(i128::from(one) - i128::from(two), 0));
                assert_eq!(a.cmp(&b), one.cmp(&two), "{one} {two}");
                assert_eq!(a.to_i64(), Some(one));
                let (half, large) = (Number::new(5, -1).unwrap(), n("1e30"));
                assert_eq!(
                    a.checked_add(half).unwrap().cmp(&b),
                    (2 * i128::from(one) + 1).cmp(&(2 * i128::from(two)))
                );
                assert!(a < large && a > n("-1e30"));
            }
        }
    }
}
