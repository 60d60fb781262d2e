//! Simulates a day: replays submissions against a configuration, without reading or writing anything.
//!
//! Each submission goes to the model recommended at its time and costs that model's price. Recommendations lag like
//! real totals do, so quotas are overshot as they would be in production.

mod replay;
mod report;
#[cfg(test)]
mod tests;
mod traffic;

use std::collections::BTreeMap;

pub use self::report::{
    ChartPoint, ModelOutcome, SimulationEvent, SimulationEventKind, SimulationReport,
};
pub use self::traffic::Traffic;
use crate::bounds::REPLAY_ROWS_MAX;
use crate::config::{EffectiveConfig, Unpriced};
use crate::day::{DaySpan, OrgDay, parse_rfc3339};
use crate::error::{Error, Result};
use crate::ids::Label;
use crate::money::{Price, TokenUse};

/// Longest aggregation lag that can be simulated: an hour.
pub const LAG_MS_MAX: i64 = 3_600_000;

/// A submission to replay. The model it used originally does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayRow {
    /// Time of the submission, in milliseconds since 1970.
    pub at_ms: i64,
    /// Tokens used.
    pub tokens: TokenUse,
}

impl ReplayRow {
    /// A submission at an RFC 3339 time.
    ///
    /// # Errors
    /// The time is invalid, or there are too many tokens.
    pub fn new(timestamp: &str, tokens: TokenUse) -> Result<ReplayRow> {
        tokens.check()?;
        Ok(ReplayRow { at_ms: parse_rfc3339("timestamp", timestamp)?, tokens })
    }
}

/// A simulation.
#[derive(Debug, Clone)]
pub struct Simulation<'a> {
    /// The configuration to try.
    pub config: &'a EffectiveConfig,
    /// Price of each model of the chain.
    pub prices: &'a BTreeMap<Label, Price>,
    /// The day.
    pub day: OrgDay,
    /// Interval between updates of the totals; 0 keeps them exact.
    pub lag_ms: i64,
}

impl Simulation<'_> {
    /// Replays `rows`, in any order; rows of other days are counted and skipped.
    ///
    /// # Errors
    /// There are too many rows, a model has no price, the day does not exist, or a cost overflows.
    pub fn run(&self, rows: &[ReplayRow]) -> Result<SimulationReport> {
        if rows.len() > REPLAY_ROWS_MAX {
            return Err(Error::invalid("rows", format!("must be at most {REPLAY_ROWS_MAX}")));
        }
        if !(0..=LAG_MS_MAX).contains(&self.lag_ms) {
            return Err(Error::invalid("lag", format!("must be from 0 to {LAG_MS_MAX} ms")));
        }
        let span = self.span()?;
        let is_of_day = |row: &&ReplayRow| (span.start_ms..span.end_ms).contains(&row.at_ms);
        let mut todays: Vec<ReplayRow> = rows.iter().filter(is_of_day).copied().collect();
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
