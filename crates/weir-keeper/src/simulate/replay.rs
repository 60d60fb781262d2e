//! The replay itself: money is spent submission by submission, and looked at tick by tick.

use super::report::{Event, Happened, ModelOutcome, Point, Report};
use super::{Plan, Row};
use crate::bounds::REPLAY_POINTS;
use crate::config::Effective;
use crate::day::DaySpan;
use crate::decide::{Rung, Status, Sticky, StickyReason, decide, status};
use crate::error::{Error, Result};
use crate::money::{MicroUsd, Percent, Price};

pub(super) struct Replay<'a> {
    config: &'a Effective,
    span: DaySpan,
    lag_ms: i64,
    prices: Vec<Price>,
    models: Vec<ModelOutcome>,
    sticky: Option<Sticky>,
    /// The model that is recommended until someone looks again.
    choice: Option<usize>,
    /// When someone looks next; nothing while there is nothing new to see.
    look_at_ms: Option<i64>,
    events: Vec<Event>,
    series: Vec<Point>,
    refused: u64,
}

impl<'a> Replay<'a> {
    pub(super) fn new(plan: &Plan<'a>, span: DaySpan, prices: Vec<Price>) -> Replay<'a> {
        let config = plan.config;
        let models = config.rungs(|_| MicroUsd::ZERO).into_iter().map(untouched).collect();
        let (events, series) = (Vec::new(), Vec::new());
        let mut replay = Replay {
            config,
            span,
            lag_ms: plan.lag_ms,
            prices,
            models,
            sticky: None,
            choice: Some(0),
            look_at_ms: None,
            events,
            series,
            refused: 0,
        };
        // A quota of nothing is spent before the day begins.
        for index in 0..replay.models.len() {
            replay.mark(index, span.start_ms);
        }
        replay.look(span.start_ms);
        replay
    }

    /// Replays a submission; they come in the order of time.
    pub(super) fn take(&mut self, row: &Row) -> Result<()> {
        if let Some(due) = self.look_at_ms.filter(|due| *due <= row.at_ms) {
            self.look(due);
        }
        self.draw(row.at_ms);
        let Some(index) = self.choice else {
            self.refused += 1;
            return Ok(());
        };
        self.spend(index, row)?;
        self.mark(index, row.at_ms);
        let ticks = row.at_ms.saturating_sub(self.span.start_ms).checked_div(self.lag_ms);
        let next = ticks.map(|ticks| self.span.start_ms + (ticks + 1) * self.lag_ms);
        self.look_at_ms = self.look_at_ms.filter(|due| *due > row.at_ms).or(next);
        if self.lag_ms == 0 {
            self.look_at_ms = Some(row.at_ms);
        }
        Ok(())
    }

    fn spend(&mut self, index: usize, row: &Row) -> Result<()> {
        let (Some(model), Some(price)) = (self.models.get_mut(index), self.prices.get(index))
        else {
            return Ok(());
        };
        let tokens = &row.tokens;
        let sum = |parts: [u64; 4]| {
            let sum = parts.into_iter().try_fold(0u64, u64::checked_add);
            sum.ok_or(Error::Overflow("the sum of tokens"))
        };
        let read = [model.input_tokens, tokens.input, tokens.cached_read, tokens.cached_write];
        model.input_tokens = sum(read)?;
        model.output_tokens = sum([model.output_tokens, tokens.output, 0, 0])?;
        model.cost_usd_micros = model.cost_usd_micros.checked_add(price.cost(tokens)?)?;
        model.requests += 1;
        model.first_used_at_ms.get_or_insert(row.at_ms);
        Ok(())
    }

    /// Notes that a model came to its threshold or to its quota.
    fn mark(&mut self, index: usize, at_ms: i64) {
        let Some(model) = self.models.get_mut(index) else { return };
        let threshold = self.config.tight_mode_threshold_pct;
        let status = status(model.cost_usd_micros, model.quota_usd_micros, threshold);
        let label = model.label.clone();
        if status >= Status::Tight && model.tight_at_ms.is_none() {
            model.tight_at_ms = Some(at_ms);
            let what = Happened::Tight { label: label.clone() };
            self.events.push(Event { at_ms, what });
        }
        if status == Status::Exceeded && model.exceeded_at_ms.is_none() {
            model.exceeded_at_ms = Some(at_ms);
            self.events.push(Event { at_ms, what: Happened::Exceeded { label } });
        }
    }

    /// Sums up, decides anew, and writes a fallback down.
    fn look(&mut self, at_ms: i64) {
        self.look_at_ms = None;
        let rung = |model: &ModelOutcome| Rung {
            label: model.label.clone(),
            spend: model.cost_usd_micros,
            quota: model.quota_usd_micros,
        };
        let chain: Vec<Rung> = self.models.iter().map(rung).collect();
        let mut question = self.config.question(&chain, self.sticky.as_ref(), at_ms);
        // A tick at the end of the day still sums up this day.
        question.today = self.span;
        let decision = decide(&question);
        if let Some(flip) = decision.flip {
            self.sticky = Some(Sticky {
                label: flip.to,
                config_version: self.config.config_version,
                reason: StickyReason::QuotaExceeded,
                previous: Some(flip.previous),
                activated_at_epoch: at_ms.div_euclid(1000),
            });
        }
        let before = std::mem::replace(&mut self.choice, decision.recommended);
        if before != decision.recommended {
            let label = |index: usize| self.models.get(index).map(|model| model.label.clone());
            let moved = before.and_then(label).zip(decision.recommended.and_then(label));
            let what =
                moved.map_or(Happened::AllExceeded, |(from, to)| Happened::Fallback { from, to });
            self.events.push(Event { at_ms, what });
        }
    }

    /// Adds the points of the chart that are before `until_ms` or at it.
    fn draw(&mut self, until_ms: i64) {
        let length = self.span.end_ms.saturating_sub(self.span.start_ms);
        for number in self.series.len()..=REPLAY_POINTS as usize {
            let part = i64::try_from(number).unwrap_or_default() * length;
            let at_ms = self.span.start_ms + part / i64::from(REPLAY_POINTS);
            if at_ms > until_ms {
                break;
            }
            let spend = self.models.iter().map(|model| model.cost_usd_micros).collect();
            self.series.push(Point { at_ms, spend_usd_micros: spend });
        }
    }

    pub(super) fn finish(mut self, outside: usize) -> Report {
        if let Some(due) = self.look_at_ms {
            self.look(due.min(self.span.end_ms));
        }
        self.draw(self.span.end_ms);
        for model in &mut self.models {
            let (cost, quota) = (model.cost_usd_micros, model.quota_usd_micros);
            model.quota_pct = Percent::of(cost, quota);
            model.overshoot_usd_micros = cost.less(quota);
        }
        let cost = self.models.iter().map(|model| model.cost_usd_micros.0);
        Report {
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

fn untouched(rung: Rung) -> ModelOutcome {
    ModelOutcome {
        label: rung.label,
        requests: 0,
        input_tokens: 0,
        output_tokens: 0,
        cost_usd_micros: MicroUsd::ZERO,
        quota_usd_micros: rung.quota,
        quota_pct: Percent::default(),
        overshoot_usd_micros: MicroUsd::ZERO,
        first_used_at_ms: None,
        tight_at_ms: None,
        exceeded_at_ms: None,
    }
}
