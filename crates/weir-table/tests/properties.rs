//! Numbers against `bigdecimal`: what they parse to, how they are shown, added and ordered.

use std::str::FromStr as _;

use bigdecimal::num_bigint::BigInt;
use bigdecimal::{BigDecimal, Zero as _};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use weir_table::Number;
use weir_table::number::{MAX_DIGITS, MAX_MAGNITUDE, MIN_MAGNITUDE, NumberError};

/// Seeds of cases that failed once; relative to the package.
const REGRESSIONS: &str = "tests/proptest-regressions/properties.txt";

/// What a number must be able to hold, by other means: digits without zeros at either end, and the
/// power of ten of the first.
fn fit(exact: &BigDecimal) -> Result<(), NumberError> {
    if exact.is_zero() {
        return Ok(());
    }
    let (digits, scale) = exact.normalized().into_bigint_and_scale();
    let digits = digits.magnitude().to_string().len();
    let count = i64::try_from(digits).unwrap_or(i64::MAX);
    let magnitude = count - 1 - scale;
    if count > i64::from(MAX_DIGITS) {
        return Err(NumberError::Precision);
    }
    if !(i64::from(MIN_MAGNITUDE)..=i64::from(MAX_MAGNITUDE)).contains(&magnitude) {
        return Err(NumberError::Range);
    }
    Ok(())
}

#[expect(clippy::unwrap_used, reason = "what a number shows is a decimal number")]
fn exact(number: Number) -> BigDecimal {
    BigDecimal::from_str(&number.to_string()).unwrap()
}

/// A decimal text: sign, digits with a point somewhere, an exponent.
fn text() -> impl Strategy<Value = String> {
    let digits = prop_oneof!["[0-9]{1,5}", "[0-9]{30,45}", "0{0,5}[1-9]0{0,50}"];
    let exponent = prop_oneof![Just(String::new()), "[eE][+-]?[0-9]{1,2}", "[eE]-?1[0-9]{2}"];
    ("[+-]?", digits, any::<prop::sample::Index>(), any::<bool>(), exponent).prop_map(
        |(sign, mut digits, point, pointed, exponent)| {
            if pointed {
                digits.insert(point.index(digits.len() + 1), '.');
            }
            format!("{sign}{digits}{exponent}")
        },
    )
}

/// Any number, small ones and those at the ends more often.
fn number() -> impl Strategy<Value = Number> {
    let largest = 10i128.pow(MAX_DIGITS) - 1;
    let mantissa = prop_oneof![-1000i128..1000, -largest..=largest, Just(largest), Just(-largest),];
    let exponent = prop_oneof![-5i32..5, -167i32..126, Just(88), Just(-130)];
    let fits = |(mantissa, exponent)| Number::new(mantissa, exponent).ok();
    (mantissa, exponent).prop_filter_map("out of range", fits)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("WEIR_TEST_ALL").is_some_and(|value| value == "1") { 200_000 } else { 4_000 },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_text_is_the_number_it_says_or_refused(text in text()) {
        let expected = BigDecimal::from_str(&text).unwrap();
        match text.parse::<Number>() {
            Ok(number) => {
                prop_assert_eq!(fit(&expected), Ok(()));
                prop_assert_eq!(exact(number), expected);
            }
            Err(refused) => prop_assert_eq!(fit(&expected), Err(refused)),
        }
    }

    #[test]
    fn what_is_shown_is_the_number(number in number()) {
        let parts = BigDecimal::new(
            BigInt::from(number.mantissa()),
            -i64::from(number.exponent()),
        );
        prop_assert_eq!(exact(number), parts);
        prop_assert_eq!(number.to_string().parse::<Number>(), Ok(number));
    }

    #[test]
    fn sums_are_exact_or_refused(a in number(), b in number()) {
        for (found, expected) in [
            (a.checked_add(b), exact(a) + exact(b)),
            (a.checked_sub(b), exact(a) - exact(b)),
        ] {
            match found {
                Ok(found) => prop_assert_eq!(exact(found), expected),
                Err(_) => prop_assert!(fit(&expected).is_err(), "{} {} {}", a, b, expected),
            }
        }
    }

    #[test]
    fn order_is_that_of_the_values(a in number(), b in number()) {
        let expected = exact(a).cmp(&exact(b));
        prop_assert_eq!(a.cmp(&b), expected);
        prop_assert_eq!(a.to_ordered_bytes().cmp(&b.to_ordered_bytes()), expected);
        prop_assert_eq!(a == b, expected.is_eq());
    }
}
