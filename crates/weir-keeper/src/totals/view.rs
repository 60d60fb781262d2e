//! What is told of a day.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::{Effective, QuotaScope};
use crate::counters::Counters;
use crate::day::{OrgDay, Zone, rfc3339};
use crate::decide::{Status, Sticky, StickyReason, status};
use crate::ids::{Label, ModelId};
use crate::money::{MicroUsd, Percent};

/// What was used and spent on a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DayTotals {
    /// The day.
    pub date: OrgDay,
    /// By which it begins and ends.
    pub timezone: Zone,
    /// Whose spend the quotas are for.
    pub quota_scope: QuotaScope,
    /// Each model of the chain, and each other that was used.
    pub models: BTreeMap<Label, ModelTotals>,
    /// All models together.
    pub totals: Sum,
    /// The fallback of the day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<StickyView>,
    /// When a total was summed up last, as RFC 3339; nothing when none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// The same in seconds since 1970.
    #[serde(skip)]
    pub updated_at_epoch: Option<i64>,
}

/// What was used and spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Sum {
    /// What was spent.
    pub cost_usd_micros: MicroUsd,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_read_tokens: u64,
    /// Tokens put into a cache.
    pub cached_write_tokens: u64,
    /// Submissions.
    pub requests: u64,
}

/// What was used and spent on a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelTotals {
    /// What was used and spent.
    #[serde(flatten)]
    pub sum: Sum,
    /// What may be spent on a day.
    pub quota_usd_micros: MicroUsd,
    /// The first as a part of the second.
    pub quota_pct: Percent,
    /// How it does.
    pub quota_status: Status,
    /// What a submission cost, rounded up.
    pub average_cost_per_request: MicroUsd,
    /// What Bedrock calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bedrock_model_id: Option<ModelId>,
}

/// The fallback of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StickyView {
    /// The model.
    pub active_model_label: Label,
    /// The one before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_model_label: Option<Label>,
    /// Why.
    pub reason: StickyReason,
    /// Since when, as RFC 3339.
    pub activated_at: String,
}

impl From<Sticky> for StickyView {
    fn from(sticky: Sticky) -> StickyView {
        StickyView {
            active_model_label: sticky.label,
            previous_model_label: sticky.previous,
            reason: sticky.reason,
            activated_at: rfc3339(sticky.activated_at_epoch.saturating_mul(1000)),
        }
    }
}

impl From<Counters> for Sum {
    fn from(counters: Counters) -> Sum {
        Sum {
            cost_usd_micros: counters.cost,
            input_tokens: counters.tokens.input,
            output_tokens: counters.tokens.output,
            cached_read_tokens: counters.tokens.cached_read,
            cached_write_tokens: counters.tokens.cached_write,
            requests: counters.requests,
        }
    }
}

/// What was counted on one day, by model, and when that was summed up last.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
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
            bedrock_model_id: model,
        }
    }
}

impl DayTotals {
    /// What is told of a day; `quota` knows what may be spent on a model, `model` what it is called.
    pub(super) fn new(
        effective: &Effective,
        date: OrgDay,
        counted: &Counted,
        quota: impl Fn(&Label) -> MicroUsd,
        model: impl Fn(&Label) -> Option<ModelId>,
    ) -> crate::error::Result<DayTotals> {
        let totals = Counters::sum(counted.models.values().copied())?;
        let mut models = counted.models.clone();
        for label in &effective.model_ordering {
            models.entry(label.clone()).or_default();
        }
        let threshold_pct = effective.tight_mode_threshold_pct;
        let told = models.into_iter().map(|(label, counters)| {
            let told = ModelTotals::new(counters, quota(&label), threshold_pct, model(&label));
            (label, told)
        });
        Ok(DayTotals {
            date,
            timezone: effective.timezone.clone(),
            quota_scope: effective.quota_scope,
            models: told.collect(),
            totals: totals.into(),
            sticky: None,
            updated_at: counted.updated_at_epoch.map(|at| rfc3339(at.saturating_mul(1000))),
            updated_at_epoch: counted.updated_at_epoch,
        })
    }
}

impl Counted {
    /// Adds what one item of a model holds.
    pub(super) fn add(
        &mut self,
        label: &Label,
        item: &weir_table::Item,
    ) -> crate::error::Result<()> {
        let more = Counters::decode(item);
        let known = self.models.entry(label.clone()).or_default();
        *known = known.plus(more)?;
        let at = item.i64(crate::counters::UPDATED);
        self.updated_at_epoch = self.updated_at_epoch.max(at);
        Ok(())
    }
}
