//! What a day would have come to: submissions are replayed against a configuration, and nothing is read or written.
//!
//! Each submission goes to the model that is recommended at its time and costs what that model's price says. Recommendations
//! rest on totals that are as old as the aggregate lag makes them, so a quota is overshot here as it would be in truth.

mod replay;
mod report;
#[cfg(test)]
mod tests;
mod traffic;

use std::collections::BTreeMap;

pub use self::report::{Event, Happened, ModelOutcome, Point, Report};
pub use self::traffic::Traffic;
use crate::bounds::REPLAY_ROWS_MAX;
use crate::config::{Effective, Unpriced};
use crate::day::{DaySpan, OrgDay, parse_rfc3339};
use crate::error::{Error, Result};
use crate::ids::Label;
use crate::money::{Price, TokenUse};

/// The longest aggregate lag that is simulated: an hour.
pub const LAG_MS_MAX: i64 = 3_600_000;

/// A submission to be replayed. Which model it used then does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What it used.
    pub tokens: TokenUse,
}

impl Row {
    /// A submission at a time given as RFC 3339.
    ///
    /// # Errors
    /// That is no time, or there are more tokens than can be meant.
    pub fn new(timestamp: &str, tokens: TokenUse) -> Result<Row> {
        tokens.check()?;
        Ok(Row { at_ms: parse_rfc3339("timestamp", timestamp)?, tokens })
    }
}

/// What is tried out.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// The configuration.
    pub config: &'a Effective,
    /// What each model of the chain costs.
    pub prices: &'a BTreeMap<Label, Price>,
    /// The day.
    pub day: OrgDay,
    /// How often totals are summed up; with 0 they are always exact.
    pub lag_ms: i64,
}

impl Plan<'_> {
    /// Replays `rows`, in any order; those of other days are counted and passed over.
    ///
    /// # Errors
    /// There are too many rows, a model has no price, the day does not exist, or a cost is too large.
    pub fn run(&self, rows: &[Row]) -> Result<Report> {
        if rows.len() > REPLAY_ROWS_MAX {
            return Err(Error::invalid("rows", format!("are more than {REPLAY_ROWS_MAX}")));
        }
        if !(0..=LAG_MS_MAX).contains(&self.lag_ms) {
            return Err(Error::invalid("lag", format!("is not within 0 and {LAG_MS_MAX} ms")));
        }
        let span = self.span()?;
        let is_of_day = |row: &&Row| (span.start_ms..span.end_ms).contains(&row.at_ms);
        let mut todays: Vec<Row> = rows.iter().filter(is_of_day).copied().collect();
        todays.sort_by_key(|row| row.at_ms);
        let mut replay = replay::Replay::new(self, span, self.priced()?);
        for row in &todays {
            replay.take(row)?;
        }
        Ok(replay.finish(rows.len() - todays.len()))
    }

    fn span(&self) -> Result<DaySpan> {
        let zone = &self.config.timezone;
        let span = zone.span_of(zone.first_instant(self.day));
        if span.day == self.day {
            return Ok(span);
        }
        Err(Error::invalid("day", format!("{} does not exist in {}", self.day, zone.name())))
    }

    fn priced(&self) -> Result<Vec<Price>> {
        let price = |label: &Label| match (self.prices.get(label), self.config.unpriced) {
            (Some(price), _) => Ok(*price),
            (None, Unpriced::Zero) => Ok(Price::ZERO),
            (None, Unpriced::Refuse) => Err(Error::UnknownPrice { model: label.to_string() }),
        };
        self.config.model_ordering.iter().map(price).collect()
    }
}
