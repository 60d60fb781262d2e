//! Which model of a chain to use now. A plain function of what is known; nothing is read or written here.
//!
//! 1. Model *i* is open while its spend is below its quota. A quota of nothing is always exceeded.
//! 2. The search starts at the first model; at the model fallen back to, where the org is sticky and its chain still has
//!    that model; at the model an administrator chose, where one did.
//! 3. The first open model from there on is recommended. Is there none, all quotas are exceeded until the next local midnight.
//! 4. A sticky chain that moved on has to be written down: the decision says so ([`Decision::flip`]).
//!
//! A recommended model is never exceeded, and a sticky chain never moves back on its day.

mod answer;
mod guidance;
mod project;
mod sticky;
#[cfg(test)]
mod tests;

pub use self::answer::{Decision, Flip, Mode, ModelStatus, Reason, Status};
pub use self::guidance::{Guidance, Refresh};
use self::project::exhausted_at;
pub use self::sticky::{Sticky, StickyReason};
use crate::day::DaySpan;
use crate::ids::Label;
use crate::money::{MicroUsd, Percent};

/// A model of a chain, with what was spent on it today and what may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// Its label.
    pub label: Label,
    /// What was spent today, as far as is known.
    pub spend: MicroUsd,
    /// What may be spent on a day.
    pub quota: MicroUsd,
}

/// What is to be decided.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The models, the preferred one first.
    pub chain: &'a [Rung],
    /// From which percentage of its quota a model is tight.
    pub threshold_pct: u8,
    /// Whether a fallback lasts for the day.
    pub is_sticky: bool,
    /// What was written down of today's fallback.
    pub sticky: Option<&'a Sticky>,
    /// How often clients shall ask.
    pub refresh: Refresh,
    /// Today.
    pub today: DaySpan,
    /// Now, in milliseconds since 1970.
    pub now_ms: i64,
}

/// How a model does that spent so much of its quota. In whole numbers, because a float could open what is exceeded.
#[must_use]
pub fn status(spend: MicroUsd, quota: MicroUsd, threshold_pct: u8) -> Status {
    let (spend, quota) = (u128::from(spend.0), u128::from(quota.0));
    if spend >= quota {
        Status::Exceeded
    } else if spend * 100 >= quota * u128::from(threshold_pct) {
        Status::Tight
    } else {
        Status::Normal
    }
}

/// Decides which model to use.
#[must_use]
pub fn decide(question: &Question<'_>) -> Decision {
    let models: Vec<ModelStatus> =
        question.chain.iter().map(|rung| judge(rung, question)).collect();
    let (pin, is_sticky_stale) = pin(question);
    let start = pin.map_or(0, |(index, _)| index);
    let open = models.iter().enumerate().skip(start);
    let recommended =
        open.into_iter().find(|(_, model)| model.status != Status::Exceeded).map(|(at, _)| at);
    let moved = recommended.filter(|at| *at > start);
    let flip = moved.filter(|_| question.is_sticky).and_then(|at| flip(&models, at));
    let current = recommended.map_or(models.last(), |at| models.get(at));
    let mode = current.map_or(Mode::Tight, |model| Mode::of(model.status));
    Decision {
        reason: reason(&models, recommended, start, pin),
        sticky_fallback_active: flip.is_some() || start > 0,
        flip,
        mode,
        is_sticky_stale,
        retry_at_ms: question.today.end_ms,
        guidance: Guidance::new(question, mode, recommended.is_some()),
        recommended,
        models,
    }
}

/// Where the search starts and why, if not at the first model; and whether what was written down is of no use.
fn pin(question: &Question<'_>) -> (Option<(usize, StickyReason)>, bool) {
    let Some(sticky) = question.sticky else { return (None, false) };
    let place = question.chain.iter().position(|rung| rung.label == sticky.label);
    // An override is an administrator's word, and holds where fallbacks do not last.
    let holds = question.is_sticky || sticky.reason == StickyReason::ManualOverride;
    (place.filter(|_| holds).map(|index| (index, sticky.reason)), place.is_none())
}

fn judge(rung: &Rung, question: &Question<'_>) -> ModelStatus {
    let status = status(rung.spend, rung.quota, question.threshold_pct);
    ModelStatus {
        label: rung.label.clone(),
        spend: rung.spend,
        quota: rung.quota,
        percent: Percent::of(rung.spend, rung.quota),
        status,
        exhausted_at_ms: match status {
            Status::Exceeded => None,
            _ => exhausted_at(rung.spend, rung.quota, question.today, question.now_ms),
        },
    }
}

fn flip(models: &[ModelStatus], at: usize) -> Option<Flip> {
    let (to, previous) = (models.get(at)?, models.get(at.checked_sub(1)?)?);
    Some(Flip { to: to.label.clone(), index: at, previous: previous.label.clone() })
}

fn reason(
    models: &[ModelStatus],
    recommended: Option<usize>,
    start: usize,
    pin: Option<(usize, StickyReason)>,
) -> Reason {
    let Some(at) = recommended else { return Reason::AllQuotasExceeded };
    if at > start {
        // All from the start up to here are exceeded; the nearest tells most.
        let passed = at.checked_sub(1).and_then(|before| models.get(before));
        return passed.map_or(Reason::Normal, |model| Reason::QuotaExceeded(model.label.clone()));
    }
    match pin {
        Some((_, StickyReason::ManualOverride)) => Reason::ManualOverride,
        Some((1.., StickyReason::QuotaExceeded)) => Reason::StickyFallback,
        Some((0, StickyReason::QuotaExceeded)) | None => Reason::Normal,
    }
}
