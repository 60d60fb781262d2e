//! Decides which model of a chain to use now. A pure function: it reads and writes nothing.
//!
//! 1. A model is open while its spend is below its quota. A quota of zero is always exceeded.
//! 2. The search starts at the first model of the chain; where fallbacks are sticky, at the model fallen back to today;
//!    after a manual override, at the model an administrator chose.
//! 3. The first open model from there is recommended. If there is none, all quotas are exceeded until the next local
//!    midnight.
//! 4. A sticky fallback to a later model has to be recorded: the decision says so in [`Decision::fallback`].
//!
//! A recommended model is never exceeded, and a sticky chain never moves back within its day.

mod decision;
mod guidance;
mod projection;
mod sticky;
#[cfg(test)]
mod tests;

use weir_calendar::DaySpan;

pub use self::decision::{Decision, Fallback, Mode, ModelStatus, Reason, Status};
pub use self::guidance::{Guidance, Refresh};
use self::projection::exhausted_at;
pub use self::sticky::{StickyReason, StickyState};
use crate::ids::Label;
use crate::money::{MicroUsd, Percent};

/// A model of a chain with its spend and quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainEntry {
    /// The model label.
    pub label: Label,
    /// Spend on the model today, in micro-USD, as far as it is aggregated.
    pub spend: MicroUsd,
    /// Daily quota of the model, in micro-USD.
    pub quota: MicroUsd,
}

/// Everything a decision depends on.
#[derive(Debug, Clone)]
pub struct DecisionInput<'a> {
    /// The chain, the preferred model first.
    pub chain: &'a [ChainEntry],
    /// Whether the spend of every model is known. While it is not, all of them are closed.
    pub is_summed: bool,
    /// Percentage of its quota from which a model is tight.
    pub threshold_pct: u8,
    /// Whether a fallback is sticky: it lasts for the rest of the day.
    pub is_sticky: bool,
    /// Today's recorded fallback or override.
    pub sticky: Option<&'a StickyState>,
    /// How often clients should check again.
    pub refresh: Refresh,
    /// The org's current day.
    pub today: DaySpan,
    /// The current time, in milliseconds since 1970.
    pub now_ms: i64,
}

/// The status of a model with this spend and quota. Computed in integers, because rounding could reopen an exceeded
/// model. A sum that stopped at its bound exceeds any quota.
#[must_use]
pub fn status(spend: MicroUsd, quota: MicroUsd, threshold_pct: u8) -> Status {
    let is_saturated = spend.is_saturated();
    let (spend, quota) = (u128::from(spend.0), u128::from(quota.0));
    if spend >= quota || is_saturated {
        Status::Exceeded
    } else if spend * 100 >= quota * u128::from(threshold_pct) {
        Status::Tight
    } else {
        Status::Normal
    }
}

/// Decides which model to use.
#[must_use]
pub fn decide(input: &DecisionInput<'_>) -> Decision {
    let models: Vec<ModelStatus> = input.chain.iter().map(|entry| evaluate(entry, input)).collect();
    let (pin, is_sticky_stale) = pinned_start(input);
    let start = pin.map_or(0, |(index, _)| index);
    let open = models.iter().enumerate().skip(start);
    let recommended =
        open.into_iter().find(|(_, model)| model.status != Status::Exceeded).map(|(at, _)| at);
    let moved = recommended.filter(|at| *at > start);
    let fallback = moved.filter(|_| input.is_sticky).and_then(|at| fallback(&models, at));
    let current = recommended.map_or(models.last(), |at| models.get(at));
    let mode = current.map_or(Mode::Tight, |model| Mode::of(model.status));
    Decision {
        reason: reason(&models, recommended, start, pin),
        sticky_fallback_active: fallback.is_some() || start > 0,
        fallback,
        mode,
        is_sticky_stale,
        retry_at_ms: input.today.end_ms,
        guidance: Guidance::new(input, mode, recommended.is_some()),
        recommended,
        models,
    }
}

/// Where the search starts if not at the first model, and why; and whether the recorded state names a model that left
/// the chain.
fn pinned_start(input: &DecisionInput<'_>) -> (Option<(usize, StickyReason)>, bool) {
    let Some(sticky) = input.sticky else { return (None, false) };
    let index = input.chain.iter().position(|entry| entry.label == sticky.label);
    // An administrator's override applies even where fallbacks are not sticky.
    let applies = input.is_sticky || sticky.reason == StickyReason::ManualOverride;
    (index.filter(|_| applies).map(|index| (index, sticky.reason)), index.is_none())
}

fn evaluate(entry: &ChainEntry, input: &DecisionInput<'_>) -> ModelStatus {
    let status = match input.is_summed {
        true => status(entry.spend, entry.quota, input.threshold_pct),
        false => Status::Exceeded,
    };
    ModelStatus {
        label: entry.label.clone(),
        spend: entry.spend,
        quota: entry.quota,
        percent: Percent::of(entry.spend, entry.quota),
        status,
        exhausted_at_ms: match status {
            Status::Exceeded => None,
            _ => exhausted_at(entry.spend, entry.quota, input.today, input.now_ms),
        },
    }
}

fn fallback(models: &[ModelStatus], at: usize) -> Option<Fallback> {
    let (to, previous) = (models.get(at)?, models.get(at.checked_sub(1)?)?);
    Some(Fallback { to: to.label.clone(), index: at, previous: previous.label.clone() })
}

fn reason(
    models: &[ModelStatus],
    recommended: Option<usize>,
    start: usize,
    pin: Option<(usize, StickyReason)>,
) -> Reason {
    let Some(at) = recommended else { return Reason::AllQuotasExceeded };
    if at > start {
        // All models from the start up to here are exceeded; name the nearest.
        let exceeded = at.checked_sub(1).and_then(|before| models.get(before));
        return exceeded.map_or(Reason::Normal, |model| Reason::QuotaExceeded(model.label.clone()));
    }
    match pin {
        Some((_, StickyReason::ManualOverride)) => Reason::ManualOverride,
        Some((1.., StickyReason::QuotaExceeded)) => Reason::StickyFallback,
        Some((0, StickyReason::QuotaExceeded)) | None => Reason::Normal,
    }
}
