//! Simulates a day: replays submissions against a configuration, without reading or writing anything.
//!
//! Each submission goes to the model that its app selected last and costs that model's price. Selections lag like real
//! totals do, and an app uses one for as long as the keeper tells it to, so quotas are overshot as they would be in
//! production.

mod replay;
mod report;
#[cfg(test)]
mod tests;
mod traffic;

use std::collections::BTreeMap;

use weir_calendar::DaySpan;

pub use self::report::{
    AppSpend, ChartPoint, ModelOutcome, SimulationEvent, SimulationEventKind, SimulationReport,
};
pub use self::traffic::Traffic;
use crate::bounds::REPLAY_ROWS_MAX;
use crate::config::{EffectiveConfig, QuotaScope, Unpriced};
use crate::day::{OrgDay, parse_rfc3339};
use crate::error::{Error, Result};
use crate::ids::{AppId, Label};
use crate::money::{Price, TokenUse};

/// Longest aggregation lag that can be simulated: an hour.
pub const LAG_MS_MAX: i64 = 3_600_000;
/// Longest use of a selection that can be simulated: a day.
pub const CACHE_MS_MAX: i64 = 86_400_000;

/// A submission to replay. The model it used originally does not matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayRow {
    /// Time of the submission, in milliseconds since 1970.
    pub at_ms: i64,
    /// The app that submitted it, where it is known.
    pub app: Option<AppId>,
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
        Ok(ReplayRow { at_ms: parse_rfc3339("timestamp", timestamp)?, app: None, tokens })
    }
}

/// A simulation.
#[derive(Debug, Clone)]
pub struct Simulation<'a> {
    /// The configuration to try: that of the org, which apps without their own inherit.
    pub config: &'a EffectiveConfig,
    /// Configurations of apps.
    pub apps: &'a BTreeMap<AppId, EffectiveConfig>,
    /// The app of submissions that name none.
    pub default_app: Option<&'a AppId>,
    /// Price of each model of the chain.
    pub prices: &'a BTreeMap<Label, Price>,
    /// The day.
    pub day: OrgDay,
    /// Interval between updates of the totals; 0 keeps them exact.
    pub lag_ms: i64,
    /// How long an app uses a selection; `None` for as long as the configuration tells it.
    pub cache_ms: Option<i64>,
}

impl Simulation<'_> {
    /// Replays `rows`, in any order; rows of other days are counted and skipped. Returns one report where all apps share
    /// the quotas, else one for each app.
    ///
    /// # Errors
    /// There are too many rows, a model has no price, the day does not exist, or a cost is too high.
    pub fn run(&self, rows: &[ReplayRow]) -> Result<Vec<SimulationReport>> {
        if rows.len() > REPLAY_ROWS_MAX {
            return Err(Error::invalid("rows", format!("must be at most {REPLAY_ROWS_MAX}")));
        }
        if !(0..=LAG_MS_MAX).contains(&self.lag_ms) {
            return Err(Error::invalid("lag", format!("must be from 0 to {LAG_MS_MAX} ms")));
        }
        if !self.cache_ms.is_none_or(|cache_ms| (0..=CACHE_MS_MAX).contains(&cache_ms)) {
            return Err(Error::invalid("cache", format!("must be from 0 to {CACHE_MS_MAX} ms")));
        }
        let span = self.span()?;
        let mut scopes: BTreeMap<Option<&AppId>, Vec<&ReplayRow>> = BTreeMap::new();
        for row in rows {
            scopes.entry(self.scope_of(row.app.as_ref())).or_default().push(row);
        }
        if scopes.is_empty() {
            scopes.insert(self.scope_of(None), Vec::new());
        }
        scopes.into_iter().map(|(app, rows)| self.replay(app, rows, span)).collect()
    }

    /// The app whose quotas a submission counts against; `None` for those of the org.
    fn scope_of<'b>(&'b self, app: Option<&'b AppId>) -> Option<&'b AppId> {
        let app = app.or(self.default_app);
        app.filter(|_| self.config.quota_scope == QuotaScope::App)
    }

    fn replay(
        &self,
        app: Option<&AppId>,
        mut rows: Vec<&ReplayRow>,
        span: DaySpan,
    ) -> Result<SimulationReport> {
        let config = app.and_then(|app| self.apps.get(app)).unwrap_or(self.config);
        let all = rows.len();
        rows.retain(|row| (span.start_ms..span.end_ms).contains(&row.at_ms));
        rows.sort_by_key(|row| row.at_ms);
        let mut replay = replay::Replay::new(self, config, span, self.priced(config)?);
        for row in &rows {
            replay.take(row, row.app.as_ref().or(self.default_app))?;
        }
        Ok(replay.finish(app.cloned(), all - rows.len()))
    }

    fn span(&self) -> Result<DaySpan> {
        let zone = &self.config.timezone;
        let span = zone.span_of(zone.first_instant(self.day));
        if span.day == self.day {
            return Ok(span);
        }
        Err(Error::invalid("day", format!("{} does not exist in {}", self.day, zone.name())))
    }

    fn priced(&self, config: &EffectiveConfig) -> Result<Vec<Price>> {
        let price = |label: &Label| match (self.prices.get(label), config.unpriced) {
            (Some(price), _) => Ok(*price),
            (None, Unpriced::Zero) => Ok(Price::ZERO),
            (None, Unpriced::Refuse) => Err(Error::UnknownPrice { model: label.to_string() }),
        };
        config.model_ordering.iter().map(price).collect()
    }
}
