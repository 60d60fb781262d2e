//! Usage and spend of a day.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_calendar::{Zone, rfc3339};

use super::usage::DayUsage;
use crate::config::{PastConfig, QuotaScope};
use crate::counters::Counters;
use crate::day::OrgDay;
use crate::decide::{ChainEntry, Status, StickyReason, StickyState, decide, status};
use crate::ids::{AppId, Label, ModelId, OrgId};
use crate::money::{MicroUsd, Percent};

/// Usage and spend of a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayTotals {
    /// The org.
    pub org_id: OrgId,
    /// The app; `None` for the org as a whole.
    pub app_id: Option<AppId>,
    /// Name of the app.
    pub app_name: Option<String>,
    /// The org's day.
    pub date: OrgDay,
    /// Time zone at the end of the day.
    pub timezone: Zone,
    /// Whether quotas applied to the org or to each app at the end of the day.
    pub quota_scope: QuotaScope,
    /// The chain of models at the end of the day, the preferred one first.
    pub model_ordering: Vec<Label>,
    /// Totals by model: every model of the chain, and every other that was used.
    pub models: BTreeMap<Label, ModelTotals>,
    /// Sum over all models.
    pub totals: UsageTotals,
    /// Sum of the quotas of the chain, in micro-USD.
    pub total_quota_usd_micros: MicroUsd,
    /// Spend on all models as a percentage of that sum.
    pub total_quota_pct: Percent,
    /// Whether the chain had fallen back to a later model.
    pub sticky_fallback_active: bool,
    /// The model in use at the end of the day; the last of the chain when all quotas were exceeded.
    pub current_active_model: Option<Label>,
    /// The day's fallback or override.
    pub sticky: Option<StickyView>,
    /// Whether quotas, chain and time zone are those of the day; otherwise they changed since without a record, and these
    /// are later ones.
    pub is_config_recorded: bool,
    /// When a total was last updated, as RFC 3339; absent without usage.
    pub updated_at: Option<String>,
    /// Since when submissions are missing from the totals, in seconds since 1970; `None` when they have all.
    pub outstanding_since_epoch: Option<i64>,
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

/// The configuration that a day is judged by.
pub(super) struct Judgement<'a> {
    /// The configuration at the end of the day.
    pub(super) held: &'a PastConfig,
    /// The last instant of the day, or now while it lasts, in milliseconds since 1970.
    pub(super) at_ms: i64,
    /// The usage that the chain moves with.
    pub(super) chain_usage: &'a DayUsage,
    /// The fallback or override in force at the end of the day.
    pub(super) sticky: Option<StickyState>,
}

impl DayTotals {
    /// The totals of a day; `quota` returns the quota of a model, `model` its id.
    pub(super) fn new(
        judgement: Judgement<'_>,
        date: OrgDay,
        usage: &DayUsage,
        quota: impl Fn(&Label) -> MicroUsd,
        model: impl Fn(&Label) -> Option<ModelId>,
    ) -> DayTotals {
        let Judgement { held: PastConfig { effective, is_recorded }, at_ms, .. } = judgement;
        let entry = |label: &Label| {
            let (spend, quota) = (judgement.chain_usage.spend(label), quota(label));
            ChainEntry { label: label.clone(), spend, quota }
        };
        let chain: Vec<ChainEntry> = effective.model_ordering.iter().map(entry).collect();
        let input = effective.decision_input(&chain, judgement.sticky.as_ref(), at_ms);
        let decision = decide(&input);
        let totals = Counters::sum(usage.models.values().copied());
        let quotas = chain.iter().map(|entry| entry.quota.0);
        let total_quota = MicroUsd(quotas.fold(0, u64::saturating_add));
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
            org_id: effective.org_id.clone(),
            app_id: effective.app_id.clone(),
            app_name: effective.app_name.clone(),
            date,
            timezone: effective.timezone.clone(),
            quota_scope: effective.quota_scope,
            model_ordering: effective.model_ordering.clone(),
            models: models.collect(),
            totals: totals.into(),
            total_quota_usd_micros: total_quota,
            total_quota_pct: Percent::of(totals.cost, total_quota),
            sticky_fallback_active: decision.sticky_fallback_active,
            current_active_model: decision.current().map(|model| model.label.clone()),
            sticky: judgement.sticky.map(Into::into),
            is_config_recorded: *is_recorded,
            updated_at: usage.updated_at_epoch.map(|at| rfc3339(at.saturating_mul(1000))),
            outstanding_since_epoch: usage.outstanding_since_epoch,
        }
    }
}
