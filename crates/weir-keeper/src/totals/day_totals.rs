//! Usage and spend of a day.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::{EffectiveConfig, QuotaScope};
use crate::counters::Counters;
use crate::day::{OrgDay, Zone, rfc3339};
use crate::decide::{Status, StickyReason, StickyState, status};
use crate::ids::{Label, ModelId};
use crate::money::{MicroUsd, Percent};

/// Usage and spend of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayTotals {
    /// The org's day.
    pub date: OrgDay,
    /// Time zone of the day.
    pub timezone: Zone,
    /// Whether quotas apply to the org or to each app.
    pub quota_scope: QuotaScope,
    /// Totals by model: every model of the chain, and every other that was used.
    pub models: BTreeMap<Label, ModelTotals>,
    /// Sum over all models.
    pub totals: UsageTotals,
    /// The day's fallback or override.
    pub sticky: Option<StickyView>,
    /// When a total was last updated, as RFC 3339; absent without usage.
    pub updated_at: Option<String>,
    /// When a total was last updated, in seconds since 1970.
    pub updated_at_epoch: Option<i64>,
}

/// Usage and spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct UsageTotals {
    /// Spend, in micro-USD.
    pub cost_usd_micros: MicroUsd,
    /// Input tokens, without cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from the prompt cache.
    pub cached_read_tokens: u64,
    /// Tokens written to the prompt cache.
    pub cached_write_tokens: u64,
    /// Number of submissions.
    pub requests: u64,
}

/// Usage and spend of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTotals {
    /// Usage and spend.
    pub sum: UsageTotals,
    /// Daily quota, in micro-USD.
    pub quota_usd_micros: MicroUsd,
    /// Spend as a percentage of the quota.
    pub quota_pct: Percent,
    /// How close the model is to its quota.
    pub quota_status: Status,
    /// Average cost of a submission, in micro-USD, rounded up.
    pub average_cost_per_request: MicroUsd,
    /// The id of the model at its vendor, or an ARN.
    pub model_id: Option<ModelId>,
}

/// The fallback or override of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StickyView {
    /// The model in use.
    pub active_model_label: Label,
    /// The model before it.
    pub previous_model_label: Option<Label>,
    /// Why this model is in use.
    pub reason: StickyReason,
    /// When it took effect, as RFC 3339.
    pub activated_at: String,
}

impl From<StickyState> for StickyView {
    fn from(sticky: StickyState) -> StickyView {
        StickyView {
            active_model_label: sticky.label,
            previous_model_label: sticky.previous,
            reason: sticky.reason,
            activated_at: rfc3339(sticky.activated_at_epoch.saturating_mul(1000)),
        }
    }
}

impl From<Counters> for UsageTotals {
    fn from(counters: Counters) -> UsageTotals {
        UsageTotals {
            cost_usd_micros: counters.cost,
            input_tokens: counters.tokens.input,
            output_tokens: counters.tokens.output,
            cached_read_tokens: counters.tokens.cached_read,
            cached_write_tokens: counters.tokens.cached_write,
            requests: counters.requests,
        }
    }
}

/// Usage of one day by model, and when it was last updated.
#[derive(Debug, Clone, Default)]
pub(super) struct DayUsage {
    pub(super) models: BTreeMap<Label, Counters>,
    pub(super) updated_at_epoch: Option<i64>,
}

impl ModelTotals {
    pub(super) fn new(
        counters: Counters,
        quota: MicroUsd,
        threshold_pct: u8,
        model: Option<ModelId>,
    ) -> ModelTotals {
        let average = counters.cost.0.checked_next_multiple_of(counters.requests.max(1));
        let average = average.unwrap_or(counters.cost.0) / counters.requests.max(1);
        ModelTotals {
            sum: counters.into(),
            quota_usd_micros: quota,
            quota_pct: Percent::of(counters.cost, quota),
            quota_status: status(counters.cost, quota, threshold_pct),
            average_cost_per_request: MicroUsd(average),
            model_id: model,
        }
    }
}

impl DayTotals {
    /// The totals of a day; `quota` returns the quota of a model, `model` its id.
    pub(super) fn new(
        effective: &EffectiveConfig,
        date: OrgDay,
        usage: &DayUsage,
        quota: impl Fn(&Label) -> MicroUsd,
        model: impl Fn(&Label) -> Option<ModelId>,
    ) -> DayTotals {
        let totals = Counters::sum(usage.models.values().copied());
        let mut models = usage.models.clone();
        for label in &effective.model_ordering {
            models.entry(label.clone()).or_default();
        }
        let threshold_pct = effective.tight_mode_threshold_pct;
        let models = models.into_iter().map(|(label, counters)| {
            let totals = ModelTotals::new(counters, quota(&label), threshold_pct, model(&label));
            (label, totals)
        });
        DayTotals {
            date,
            timezone: effective.timezone.clone(),
            quota_scope: effective.quota_scope,
            models: models.collect(),
            totals: totals.into(),
            sticky: None,
            updated_at: usage.updated_at_epoch.map(|at| rfc3339(at.saturating_mul(1000))),
            updated_at_epoch: usage.updated_at_epoch,
        }
    }
}

impl DayUsage {
    /// Adds the stored total of a model. One that cannot be read counts as all spent, as it does in a decision.
    pub(super) fn add(&mut self, label: &Label, item: &weir_table::Item) {
        let numbers = Counters::decode_numbers(item).unwrap_or_default();
        let more = Counters { cost: Counters::spend_of_total(Some(item)), ..numbers };
        let sum = self.models.entry(label.clone()).or_default();
        *sum = sum.plus(more);
        let at = item.i64(crate::counters::UPDATED);
        self.updated_at_epoch = self.updated_at_epoch.max(at);
    }
}
