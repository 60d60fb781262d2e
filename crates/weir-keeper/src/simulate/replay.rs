//! The replay: submissions add spend one by one, every tick decides on the totals, and an app follows the last decision
//! that it has heard of.

use std::collections::BTreeMap;

use weir_calendar::DaySpan;

use super::report::{
    AppSpend, ChartPoint, ModelOutcome, SimulationEvent, SimulationEventKind, SimulationReport,
};
use super::{ReplayRow, Simulation};
use crate::bounds::REPLAY_POINT_MS;
use crate::config::EffectiveConfig;
use crate::decide::{ChainEntry, Mode, Status, StickyState, decide, status};
use crate::error::Result;
use crate::ids::AppId;
use crate::money::{MicroUsd, Percent, Price};

pub(super) struct Replay<'a> {
    config: &'a EffectiveConfig,
    span: DaySpan,
    lag_ms: i64,
    cache_ms: Option<i64>,
    prices: Vec<Price>,
    models: Vec<ModelOutcome>,
    sticky: Option<StickyState>,
    /// The model recommended until the next decision.
    recommended: Option<usize>,
    /// How closely apps watch the quota until the next decision.
    mode: Mode,
    /// The selection that each app uses.
    selected: BTreeMap<Option<AppId>, Selected>,
    apps: BTreeMap<AppId, AppSpend>,
    /// When to decide next; `None` while nothing has changed.
    decide_at_ms: Option<i64>,
    events: Vec<SimulationEvent>,
    series: Vec<ChartPoint>,
    refused: u64,
}

/// A selection in use by an app.
#[derive(Debug, Clone, Copy)]
struct Selected {
    index: usize,
    until_ms: i64,
}

/// When an app selects again: after as long as it may use a selection, and at midnight, when all quotas reset.
fn use_until(at_ms: i64, cache_ms: i64, span: DaySpan) -> i64 {
    at_ms.saturating_add(cache_ms).min(span.end_ms)
}

impl<'a> Replay<'a> {
    pub(super) fn new(
        plan: &Simulation<'a>,
        config: &'a EffectiveConfig,
        span: DaySpan,
        prices: Vec<Price>,
    ) -> Replay<'a> {
        let models = config.chain(|_| MicroUsd::ZERO).into_iter().map(unused_model).collect();
        let (events, series) = (Vec::new(), Vec::new());
        let mut replay = Replay {
            config,
            span,
            lag_ms: plan.lag_ms,
            cache_ms: plan.cache_ms,
            prices,
            models,
            sticky: None,
            recommended: Some(0),
            mode: Mode::Normal,
            selected: BTreeMap::new(),
            apps: BTreeMap::new(),
            decide_at_ms: None,
            events,
            series,
            refused: 0,
        };
        // A quota of zero is exceeded before the day begins.
        for index in 0..replay.models.len() {
            replay.record_status(index, span.start_ms);
        }
        replay.decide(span.start_ms);
        replay
    }

    /// Replays a submission of an app; submissions must be in order of time.
    pub(super) fn take(&mut self, row: &ReplayRow, app: Option<&AppId>) -> Result<()> {
        if let Some(due) = self.decide_at_ms.filter(|due| *due <= row.at_ms) {
            self.decide(due);
        }
        self.draw(row.at_ms);
        let Some(index) = self.select(app, row.at_ms) else {
            self.refused += 1;
            return Ok(());
        };
        self.spend(index, row, app)?;
        self.record_status(index, row.at_ms);
        let ticks = row.at_ms.saturating_sub(self.span.start_ms).checked_div(self.lag_ms);
        let next = ticks.map(|ticks| self.span.start_ms + (ticks + 1) * self.lag_ms);
        self.decide_at_ms = self.decide_at_ms.filter(|due| *due > row.at_ms).or(next);
        if self.lag_ms == 0 {
            self.decide_at_ms = Some(row.at_ms);
        }
        Ok(())
    }

    /// The model that an app uses: of the selection it has, or of a new one. A refusal is not kept.
    fn select(&mut self, app: Option<&AppId>, at_ms: i64) -> Option<usize> {
        let app = app.cloned();
        if let Some(selected) = self.selected.get(&app).filter(|it| at_ms < it.until_ms) {
            return Some(selected.index);
        }
        let index = self.recommended?;
        let refresh_ms = i64::from(self.config.refresh().secs(self.mode)) * 1000;
        let until_ms = use_until(at_ms, self.cache_ms.unwrap_or(refresh_ms), self.span);
        self.selected.insert(app, Selected { index, until_ms });
        Some(index)
    }

    fn spend(&mut self, index: usize, row: &ReplayRow, app: Option<&AppId>) -> Result<()> {
        let (Some(model), Some(price)) = (self.models.get_mut(index), self.prices.get(index))
        else {
            return Ok(());
        };
        let tokens = &row.tokens;
        let read = [tokens.input, tokens.cached_read, tokens.cached_write];
        model.input_tokens = read.into_iter().fold(model.input_tokens, u64::saturating_add);
        model.output_tokens = model.output_tokens.saturating_add(tokens.output);
        let cost = price.cost(tokens)?;
        model.cost_usd_micros = model.cost_usd_micros.saturating_add(cost);
        if let Some(app) = app {
            let none =
                || AppSpend { app_id: app.clone(), requests: 0, cost_usd_micros: MicroUsd::ZERO };
            let spend = self.apps.entry(app.clone()).or_insert_with(none);
            spend.requests += 1;
            spend.cost_usd_micros = spend.cost_usd_micros.saturating_add(cost);
        }
        model.requests += 1;
        model.first_used_at_ms.get_or_insert(row.at_ms);
        Ok(())
    }

    /// Records that a model reached its threshold or its quota.
    fn record_status(&mut self, index: usize, at_ms: i64) {
        let Some(model) = self.models.get_mut(index) else { return };
        let threshold = self.config.tight_mode_threshold_pct;
        let status = status(model.cost_usd_micros, model.quota_usd_micros, threshold);
        let label = model.label.clone();
        if status >= Status::Tight && model.tight_at_ms.is_none() {
            model.tight_at_ms = Some(at_ms);
            let what = SimulationEventKind::Tight { label: label.clone() };
            self.events.push(SimulationEvent { at_ms, what });
        }
        if status == Status::Exceeded && model.exceeded_at_ms.is_none() {
            model.exceeded_at_ms = Some(at_ms);
            self.events
                .push(SimulationEvent { at_ms, what: SimulationEventKind::Exceeded { label } });
        }
    }

    /// Updates the totals, decides again, and records a fallback.
    fn decide(&mut self, at_ms: i64) {
        self.decide_at_ms = None;
        let entry = |model: &ModelOutcome| ChainEntry {
            label: model.label.clone(),
            spend: model.cost_usd_micros,
            quota: model.quota_usd_micros,
        };
        let chain: Vec<ChainEntry> = self.models.iter().map(entry).collect();
        let mut input = self.config.decision_input(&chain, self.sticky.as_ref(), at_ms);
        // A tick at the end of the day still belongs to this day.
        input.today = self.span;
        let decision = decide(&input);
        self.mode = decision.mode;
        if let Some(fallback) = decision.fallback {
            let version = self.config.config_version;
            self.sticky = Some(StickyState::from_fallback(&fallback, version, at_ms));
        }
        let before = std::mem::replace(&mut self.recommended, decision.recommended);
        if before != decision.recommended {
            let label = |index: usize| self.models.get(index).map(|model| model.label.clone());
            let moved = before.and_then(label).zip(decision.recommended.and_then(label));
            let what = moved.map_or(SimulationEventKind::AllExceeded, |(from, to)| {
                SimulationEventKind::Fallback { from, to }
            });
            self.events.push(SimulationEvent { at_ms, what });
        }
    }

    /// Adds the points of the chart up to `until_ms`.
    fn draw(&mut self, until_ms: i64) {
        let points = point_times(self.span).skip(self.series.len());
        for at_ms in points.take_while(|at_ms| *at_ms <= until_ms) {
            let spend = self.models.iter().map(|model| model.cost_usd_micros).collect();
            self.series.push(ChartPoint { at_ms, spend_usd_micros: spend });
        }
    }

    pub(super) fn finish(mut self, app_id: Option<AppId>, outside: usize) -> SimulationReport {
        if let Some(due) = self.decide_at_ms {
            self.decide(due.min(self.span.end_ms));
        }
        self.draw(self.span.end_ms);
        for model in &mut self.models {
            let (cost, quota) = (model.cost_usd_micros, model.quota_usd_micros);
            model.quota_pct = Percent::of(cost, quota);
            model.overshoot_usd_micros = cost.saturating_sub(quota);
        }
        let cost = self.models.iter().map(|model| model.cost_usd_micros.0);
        SimulationReport {
            app_id,
            apps: self.apps.into_values().collect(),
            day: self.span.day,
            start_ms: self.span.start_ms,
            end_ms: self.span.end_ms,
            cost_usd_micros: MicroUsd(cost.fold(0, u64::saturating_add)),
            served: self.models.iter().map(|model| model.requests).sum(),
            models: self.models,
            events: self.events,
            refused: self.refused,
            outside: u64::try_from(outside).unwrap_or(u64::MAX),
            series: self.series,
        }
    }
}

/// The times of the chart's points: every quarter of an hour, so that an hour has four of them on a day of any length,
/// and the end of the day.
fn point_times(span: DaySpan) -> impl Iterator<Item = i64> {
    let quarters = (0..).map(move |number| span.start_ms + number * REPLAY_POINT_MS);
    quarters.take_while(move |at_ms| *at_ms < span.end_ms).chain([span.end_ms])
}

fn unused_model(entry: ChainEntry) -> ModelOutcome {
    ModelOutcome {
        label: entry.label,
        requests: 0,
        input_tokens: 0,
        output_tokens: 0,
        cost_usd_micros: MicroUsd::ZERO,
        quota_usd_micros: entry.quota,
        quota_pct: Percent::default(),
        overshoot_usd_micros: MicroUsd::ZERO,
        first_used_at_ms: None,
        tight_at_ms: None,
        exceeded_at_ms: None,
    }
}
