//! How findings are compared: the options, their defaults and their ranges.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Range of the threshold: two findings with the same text score 1, and a little more on the same lines.
pub const THRESHOLD_RANGE: RangeInclusive<f64> = 0.01..=1.0;
/// Range of the line slack.
pub const LINE_SLACK_RANGE: RangeInclusive<u32> = 0..=100;
/// Range of the weight of titles.
pub const TITLE_WEIGHT_RANGE: RangeInclusive<f64> = 0.0..=10.0;
/// Range of the penalty for different categories. No sum of scores in a group of the largest review reaches its end, so
/// that it keeps categories apart.
pub const CATEGORY_PENALTY_RANGE: RangeInclusive<f64> = 0.0..=100.0;

/// How findings are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Lines between two findings that may still be the same issue.
    pub line_slack: u32,
    /// Average score at which two groups are joined.
    pub threshold: f64,
    /// Weight of a token of the title; a token of the description has 1.
    pub title_weight: f64,
    /// Exponent of a token's rarity; at 0 all tokens weigh the same.
    pub rarity: f64,
    /// Score of two findings on exactly the same lines, beside that of their texts; the farthest that may match lose as much.
    pub place_weight: f64,
    /// Score that two findings of different categories lose; a finding without category contradicts none.
    pub category_penalty: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            line_slack: 6,
            threshold: 0.18,
            title_weight: 2.0,
            rarity: 0.8,
            place_weight: 0.2,
            category_penalty: 0.3,
        }
    }
}

impl Options {
    /// Checks the options that can be set.
    ///
    /// # Errors
    /// One is out of its range.
    pub fn check(&self) -> Result<()> {
        check("consensus_threshold", &self.threshold, &THRESHOLD_RANGE)?;
        check("consensus_line_slack", &self.line_slack, &LINE_SLACK_RANGE)?;
        check("consensus_title_weight", &self.title_weight, &TITLE_WEIGHT_RANGE)?;
        check("consensus_category_penalty", &self.category_penalty, &CATEGORY_PENALTY_RANGE)
    }
}

fn check<T: PartialOrd + fmt::Display>(
    field: &str,
    value: &T,
    range: &RangeInclusive<T>,
) -> Result<()> {
    if range.contains(value) {
        return Ok(());
    }
    let problem = format!("is {value}; {} to {}", range.start(), range.end());
    Err(Error::invalid(field, problem))
}

/// The form in which the options of a review are stored: all values, in a fixed order.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { line_slack, threshold, title_weight, rarity, place_weight, category_penalty } =
            self;
        write!(
            f,
            "{line_slack} {threshold} {title_weight} {rarity} {place_weight} {category_penalty}"
        )
    }
}

impl FromStr for Options {
    type Err = Error;

    fn from_str(text: &str) -> Result<Options> {
        let wrong = || Error::invalid("consensus_options", format!("{text:?} is not readable"));
        let mut values = text.split(' ');
        let line_slack = values.next().and_then(|value| value.parse().ok()).ok_or_else(wrong)?;
        let mut number = || values.next().and_then(|value| value.parse().ok()).ok_or_else(wrong);
        let options = Options {
            line_slack,
            threshold: number()?,
            title_weight: number()?,
            rarity: number()?,
            place_weight: number()?,
            category_penalty: number()?,
        };
        if values.next().is_some() { Err(wrong()) } else { Ok(options) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_were_stored() {
        assert_eq!(Options::default().to_string(), "6 0.18 2 0.8 0.2 0.3");
        let odd = Options { threshold: 0.1 + 0.2, line_slack: 0, ..Options::default() };
        for options in [Options::default(), odd] {
            assert_eq!(options.to_string().parse::<Options>().unwrap(), options);
        }
        for wrong in ["", "3 0.18", "x 0.18 2 1 0.2 0.3", "3 0.18 2 1 0.2 0.3 4"] {
            assert!(wrong.parse::<Options>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn options_out_of_their_range_are_refused() {
        Options::default().check().unwrap();
        for (wrong, field) in [
            (Options { threshold: 0.0, ..Options::default() }, "consensus_threshold"),
            (Options { threshold: f64::NAN, ..Options::default() }, "consensus_threshold"),
            (Options { line_slack: 101, ..Options::default() }, "consensus_line_slack"),
            (Options { title_weight: -1.0, ..Options::default() }, "consensus_title_weight"),
            (
                Options { category_penalty: 101.0, ..Options::default() },
                "consensus_category_penalty",
            ),
        ] {
            assert!(wrong.check().unwrap_err().to_string().starts_with(field));
        }
    }
}
