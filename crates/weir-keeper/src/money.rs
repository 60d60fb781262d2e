//! Computes the cost of a submission, in micro-USD.
//!
//! Prices are per million tokens, so tokens times price is in millionths of a micro-USD. The products of a submission
//! are added exactly and rounded up once. A cost beyond the bound of a submission is an error. A sum of costs stops at the
//! bound of a day, which is above every quota: what cannot be counted any more is spent, never free.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds::{DAY_USD_MICROS_MAX, PRICE_MAX, SUBMISSION_USD_MICROS_MAX, TOKENS_MAX};
use crate::error::{Error, Result};

/// Number of tokens that a price is for.
const PRICED_TOKENS: i128 = 1_000_000;

/// An amount of money, in millionths of a US dollar.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Zero.
    pub const ZERO: MicroUsd = MicroUsd(0);

    /// The largest spend of a day: sums stop here.
    pub const SATURATED: MicroUsd = MicroUsd(DAY_USD_MICROS_MAX);

    /// The sum of both, [`MicroUsd::SATURATED`] at most.
    #[must_use]
    pub fn saturating_add(self, other: MicroUsd) -> MicroUsd {
        MicroUsd(self.0.saturating_add(other.0)).min(MicroUsd::SATURATED)
    }

    /// Whether this is a sum that stopped at its bound, or is beyond it.
    #[must_use]
    pub fn is_saturated(self) -> bool {
        self >= MicroUsd::SATURATED
    }

    /// The same amount, as the cost of one submission.
    ///
    /// # Errors
    /// It exceeds [`SUBMISSION_USD_MICROS_MAX`].
    pub fn check_submission(self) -> Result<MicroUsd> {
        if self.0 <= SUBMISSION_USD_MICROS_MAX {
            return Ok(self);
        }
        let problem = format!(
            "is {}; one submission costs at most {SUBMISSION_USD_MICROS_MAX} micro-USD",
            self.0
        );
        Err(Error::invalid("cost_usd_micros", problem))
    }

    /// The difference, or zero when `other` is larger.
    #[must_use]
    pub fn saturating_sub(self, other: MicroUsd) -> MicroUsd {
        MicroUsd(self.0.saturating_sub(other.0))
    }
}

/// Exact dollars with at least two decimal places: `$12.345678`.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, micros) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let places = format!("{micros:06}");
        let shown = places.trim_end_matches('0');
        write!(f, "${dollars}.{shown:0<2}")
    }
}

/// Price of a model, in micro-USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens, without cached ones.
    #[serde(rename = "input_price_usd_micros_per_1m")]
    pub input: u64,
    /// Output tokens.
    #[serde(rename = "output_price_usd_micros_per_1m")]
    pub output: u64,
    /// Tokens read from the prompt cache; priced as `input` when unknown.
    #[serde(
        rename = "cache_read_price_usd_micros_per_1m",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_read: Option<u64>,
    /// Tokens written to the prompt cache; priced as `input` when unknown.
    #[serde(
        rename = "cache_write_price_usd_micros_per_1m",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_write: Option<u64>,
    /// Price of requests with a long input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContextPrice>,
}

/// Price of a request whose input is longer than a number of tokens: it applies to the whole request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongContextPrice {
    /// Number of input tokens, cached ones included, above which the price applies.
    pub above_input_tokens: u64,
    /// Input tokens, without cached ones.
    #[serde(rename = "input_price_usd_micros_per_1m")]
    pub input: u64,
    /// Output tokens.
    #[serde(rename = "output_price_usd_micros_per_1m")]
    pub output: u64,
    /// Tokens read from the prompt cache; priced as `input` when unknown.
    #[serde(
        rename = "cache_read_price_usd_micros_per_1m",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_read: Option<u64>,
    /// Tokens written to the prompt cache; priced as `input` when unknown.
    #[serde(
        rename = "cache_write_price_usd_micros_per_1m",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub cache_write: Option<u64>,
}

impl Price {
    /// Free of charge.
    pub const ZERO: Price = Price::new(0, 0);

    /// A price without prompt cache prices.
    #[must_use]
    pub const fn new(input: u64, output: u64) -> Price {
        Price { input, output, cache_read: None, cache_write: None, long_context: None }
    }

    /// The price of a request with these tokens: that of a long input applies to all of them.
    #[must_use]
    pub fn for_request(&self, tokens: &TokenUse) -> Price {
        let whole_input = [tokens.cached_read, tokens.cached_write];
        let whole_input = whole_input.into_iter().fold(tokens.input, u64::saturating_add);
        match self.long_context {
            Some(long) if whole_input > long.above_input_tokens => Price {
                input: long.input,
                output: long.output,
                cache_read: long.cache_read,
                cache_write: long.cache_write,
                long_context: None,
            },
            _ => *self,
        }
    }

    /// Checks that no part exceeds [`PRICE_MAX`].
    ///
    /// # Errors
    /// Names the part that does.
    pub fn check(&self) -> Result<()> {
        let parts = [
            ("input_price_usd_micros_per_1m", Some(self.input)),
            ("output_price_usd_micros_per_1m", Some(self.output)),
            ("cache_read_price_usd_micros_per_1m", self.cache_read),
            ("cache_write_price_usd_micros_per_1m", self.cache_write),
            ("long_context.input_price_usd_micros_per_1m", self.long_context.map(|it| it.input)),
            ("long_context.output_price_usd_micros_per_1m", self.long_context.map(|it| it.output)),
            (
                "long_context.cache_read_price_usd_micros_per_1m",
                self.long_context.and_then(|it| it.cache_read),
            ),
            (
                "long_context.cache_write_price_usd_micros_per_1m",
                self.long_context.and_then(|it| it.cache_write),
            ),
            ("long_context.above_input_tokens", self.long_context.map(|it| it.above_input_tokens)),
        ];
        match parts.into_iter().find(|(_, price)| price.is_some_and(|price| price > PRICE_MAX)) {
            Some((field, _)) => Err(Error::invalid(field, format!("must be at most {PRICE_MAX}"))),
            None => Ok(()),
        }
    }

    /// The cost of these tokens, rounded up once.
    ///
    /// # Errors
    /// The cost exceeds [`SUBMISSION_USD_MICROS_MAX`].
    pub fn cost(&self, tokens: &TokenUse) -> Result<MicroUsd> {
        let price = self.for_request(tokens);
        let parts = [
            (tokens.input, price.input),
            (tokens.output, price.output),
            (tokens.cached_read, price.cache_read.unwrap_or(price.input)),
            (tokens.cached_write, price.cache_write.unwrap_or(price.input)),
        ];
        let exact = parts.into_iter().try_fold(0i128, |sum, (count, price)| {
            sum.checked_add(i128::from(count).checked_mul(i128::from(price))?)
        });
        let rounded = exact.and_then(|exact| exact.checked_add(PRICED_TOKENS - 1));
        let cost = rounded.and_then(|rounded| u64::try_from(rounded / PRICED_TOKENS).ok());
        MicroUsd(cost.unwrap_or(u64::MAX)).check_submission()
    }
}

/// Tokens of a submission. `input` excludes cached tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUse {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Tokens read from the prompt cache.
    pub cached_read: u64,
    /// Tokens written to the prompt cache.
    pub cached_write: u64,
}

impl TokenUse {
    /// Checks that no count exceeds [`TOKENS_MAX`].
    ///
    /// # Errors
    /// Names the count that does.
    pub fn check(&self) -> Result<()> {
        let counts = [
            ("input_tokens", self.input),
            ("output_tokens", self.output),
            ("cached_read_tokens", self.cached_read),
            ("cached_write_tokens", self.cached_write),
        ];
        match counts.into_iter().find(|(_, count)| *count > TOKENS_MAX) {
            Some((field, _)) => Err(Error::invalid(field, format!("must be at most {TOKENS_MAX}"))),
            None => Ok(()),
        }
    }
}

/// Spend as a percentage of a quota, in hundredths of a percent, rounded down: 99.999 % is not yet 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Percent(u64);

impl Percent {
    /// 100 %.
    pub const FULL: Percent = Percent(10_000);

    /// Spend as a percentage of a quota; 100 % of a quota of zero.
    #[must_use]
    pub fn of(spend: MicroUsd, quota: MicroUsd) -> Percent {
        let hundredths = (u128::from(spend.0) * 10_000).checked_div(u128::from(quota.0));
        hundredths.map_or(Percent::FULL, |part| Percent(u64::try_from(part).unwrap_or(u64::MAX)))
    }

    /// Hundredths of a percent.
    #[must_use]
    pub fn hundredths(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// A number with two decimal places, for people to read: no decision depends on it.
impl Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_precision_loss, reason = "two places of any percentage shown fit")]
        serializer.serialize_f64(self.0 as f64 / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SONNET: Price = Price {
        input: 3_000_000,
        output: 15_000_000,
        cache_read: Some(300_000),
        cache_write: Some(3_750_000),
        long_context: None,
    };

    fn tokens(input: u64, output: u64, cached_read: u64, cached_write: u64) -> TokenUse {
        TokenUse { input, output, cached_read, cached_write }
    }

    #[test]
    fn a_cost_is_rounded_up_once() {
        for (price, tokens, cost) in [
            (SONNET, tokens(0, 0, 0, 0), 0),
            (SONNET, tokens(1_000, 500, 0, 0), 10_500),
            (SONNET, tokens(1, 0, 0, 0), 3),
            (SONNET, tokens(0, 0, 1, 0), 1),
            // 0.3 and 3.75 make 4.05, which rounds to 5, not to 1 and 4.
            (SONNET, tokens(0, 0, 1, 1), 5),
            (SONNET, tokens(0, 0, 10, 4), 18),
            // Four quarters make one.
            (Price::new(250_000, 250_000), tokens(1, 1, 1, 1), 1),
            // Without cache prices, the input price applies.
            (Price::new(3_000_000, 15_000_000), tokens(1, 1, 7, 9), 66),
            (Price { cache_read: Some(0), ..SONNET }, tokens(0, 0, 1_000_000, 0), 0),
            (Price::ZERO, tokens(u64::MAX, u64::MAX, u64::MAX, u64::MAX), 0),
        ] {
            assert_eq!(price.cost(&tokens).unwrap(), MicroUsd(cost), "{price:?} {tokens:?}");
        }
    }

    #[test]
    fn the_price_of_a_long_input_applies_to_the_whole_request() {
        let long = LongContextPrice {
            above_input_tokens: 200_000,
            input: 6_000_000,
            output: 22_500_000,
            cache_read: Some(600_000),
            cache_write: None,
        };
        let price = Price { long_context: Some(long), ..SONNET };
        for (tokens, cost) in [
            (tokens(200_000, 1_000, 0, 0), 615_000),
            (tokens(200_001, 1_000, 0, 0), 1_222_506),
            // The whole input is what counts, cached or not.
            (tokens(100_000, 0, 100_000, 0), 330_000),
            (tokens(100_000, 0, 100_000, 1), 660_006),
            (tokens(0, 1_000_000, 0, 0), 15_000_000),
            (tokens(u64::MAX, 0, u64::MAX, 0), 0),
        ] {
            match price.cost(&tokens) {
                Ok(found) => assert_eq!(found, MicroUsd(cost), "{tokens:?}"),
                Err(_) => assert_eq!(cost, 0, "{tokens:?}"),
            }
        }
        let excessive = LongContextPrice { output: PRICE_MAX + 1, ..long };
        let error = Price { long_context: Some(excessive), ..SONNET }.check().unwrap_err();
        assert!(error.to_string().starts_with("long_context.output_price"), "{error}");
    }

    #[test]
    fn the_cost_of_a_submission_is_bounded() {
        let all = tokens(u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        let expensive = Price::new(u64::MAX, u64::MAX);
        assert!(matches!(expensive.cost(&all), Err(Error::Invalid { .. })));
        let (edge, most) = (Price::new(1_000_000, 0), SUBMISSION_USD_MICROS_MAX);
        assert_eq!(edge.cost(&tokens(most, 0, 0, 0)).unwrap().0, most);
        let error = edge.cost(&tokens(most + 1, 0, 0, 0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cost_usd_micros: is 1000000000001; one submission costs at most 1000000000000 micro-USD"
        );
        assert_eq!(MicroUsd(1).saturating_sub(MicroUsd(2)), MicroUsd::ZERO);
    }

    #[test]
    fn a_sum_stops_at_the_bound_of_a_day() {
        let most = MicroUsd::SATURATED;
        assert_eq!(MicroUsd(1).saturating_add(MicroUsd(2)), MicroUsd(3));
        for (one, other) in [(most, MicroUsd(1)), (MicroUsd(u64::MAX), most), (most, most)] {
            assert_eq!(one.saturating_add(other), most);
            assert!(one.saturating_add(other).is_saturated());
        }
        assert!(!MicroUsd(most.0 - 1).is_saturated());
    }

    #[test]
    fn excessive_amounts_are_refused_by_field() {
        let error = tokens(1, 1, 1, TOKENS_MAX + 1).check().unwrap_err();
        assert_eq!(error.to_string(), "cached_write_tokens: must be at most 1000000000000");
        assert!(tokens(TOKENS_MAX, 0, 0, 0).check().is_ok());
        assert!(Price { cache_read: Some(PRICE_MAX + 1), ..SONNET }.check().is_err());
        assert!(SONNET.check().is_ok());
    }

    #[test]
    fn percentages_are_exact_to_two_places() {
        for (spend, quota, text, json) in [
            (0, 100, "0.00", "0.0"),
            (9_500_000, 10_000_000, "95.00", "95.0"),
            (1, 3, "33.33", "33.33"),
            (99_999, 100_000, "99.99", "99.99"),
            (29, 10_000, "0.29", "0.29"),
            (2_500, 1_000, "250.00", "250.0"),
            (0, 0, "100.00", "100.0"),
            (7, 0, "100.00", "100.0"),
        ] {
            let percent = Percent::of(MicroUsd(spend), MicroUsd(quota));
            assert_eq!(percent.to_string(), text);
            assert_eq!(serde_json::to_string(&percent).unwrap(), json);
        }
        assert_eq!(Percent::of(MicroUsd(u64::MAX), MicroUsd(1)).hundredths(), u64::MAX);
    }

    #[test]
    fn money_is_shown_in_dollars() {
        for (micros, text) in [(0, "$0.00"), (10_500, "$0.0105"), (12_345_678, "$12.345678")] {
            assert_eq!(MicroUsd(micros).to_string(), text);
        }
        assert_eq!(MicroUsd(2_500_000).to_string(), "$2.50");
    }
}
