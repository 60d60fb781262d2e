//! The response to a selection.

use weir_calendar::rfc3339;

use crate::config::{EffectiveConfig, QuotaScope};
use crate::day::OrgDay;
use crate::decide::{Decision, Guidance, Mode, ModelStatus, Reason, Status};
use crate::ids::{AppId, Label, ModelId, OrgId, Vendor};
use crate::label_lookup::ResolvedModel;
use crate::money::{MicroUsd, Percent, Price};
use crate::prices::{PriceSource, ResolvedPrice};

/// The response to a selection. It recommends no model when all quotas are exceeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionResponse {
    /// The org.
    pub org_id: OrgId,
    /// The app.
    pub app_id: Option<AppId>,
    /// Name of the app.
    pub app_name: Option<String>,
    /// The recommended model.
    pub recommended_model: Option<RecommendedModel>,
    /// State of the quotas.
    pub quota_status: QuotaStatus,
    /// Price of the recommended model.
    pub pricing: Option<Pricing>,
    /// How often to check again, and how long to cache this response.
    pub client_guidance: Guidance,
    /// Time of the decision, as RFC 3339.
    pub checked_at: String,
    /// The org's current day.
    pub org_day: OrgDay,
    /// The org's local time, as RFC 3339.
    pub org_local_time: String,
}

/// A recommended model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecommendedModel {
    /// The model label.
    pub label: Label,
    /// The id of the model at its vendor, or an ARN.
    pub model_id: ModelId,
    /// The vendor, where the label names one.
    pub vendor: Option<Vendor>,
    /// Why this model is recommended.
    pub reason: Reason,
    /// Description of the model.
    pub description: String,
}

/// State of the quotas of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaStatus {
    /// Whether quotas apply to the org or to each app.
    pub scope: QuotaScope,
    /// How close the current model is to its quota.
    pub mode: Mode,
    /// The recommended model; the last of the chain when all quotas are exceeded.
    pub current_model: Option<Label>,
    /// Spend on the current model today, in micro-USD.
    pub spend_usd_micros: MicroUsd,
    /// Daily quota of the current model, in micro-USD.
    pub quota_usd_micros: MicroUsd,
    /// Spend as a percentage of the quota.
    pub quota_pct: Percent,
    /// Whether a fallback is in force for the rest of the day.
    pub sticky_fallback_active: bool,
    /// When the current model reaches its quota at the rate of the day so far, as RFC 3339; absent when not today.
    pub projected_exhaustion_at: Option<String>,
    /// State of every model, in the order of the chain.
    pub models_status: Vec<(Label, ModelQuota)>,
}

/// State of the quota of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQuota {
    /// Spend on the model today, in micro-USD.
    pub spend_usd_micros: MicroUsd,
    /// Daily quota, in micro-USD.
    pub quota_usd_micros: MicroUsd,
    /// Spend as a percentage of the quota.
    pub quota_pct: Percent,
    /// Whether the model is below its threshold, near its quota, or over it.
    pub status: Status,
}

/// Price of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pricing {
    /// The price.
    pub price: Price,
    /// Edition of the price: its date, or `config`.
    pub version: String,
    /// Source of the price.
    pub source: PriceSource,
}

impl QuotaStatus {
    /// State of the quotas after a decision.
    #[must_use]
    pub fn new(config: &EffectiveConfig, decision: &Decision) -> QuotaStatus {
        let current = decision.current();
        let quota = |model: &ModelStatus| ModelQuota {
            spend_usd_micros: model.spend,
            quota_usd_micros: model.quota,
            quota_pct: model.percent,
            status: model.status,
        };
        let models = decision.models.iter().map(|model| (model.label.clone(), quota(model)));
        QuotaStatus {
            scope: config.quota_scope,
            mode: decision.mode,
            current_model: current.map(|model| model.label.clone()),
            spend_usd_micros: current.map(|model| model.spend).unwrap_or_default(),
            quota_usd_micros: current.map(|model| model.quota).unwrap_or_default(),
            quota_pct: current.map_or(Percent::FULL, |model| model.percent),
            sticky_fallback_active: decision.sticky_fallback_active,
            projected_exhaustion_at: current.and_then(|model| model.exhausted_at_ms).map(rfc3339),
            models_status: models.collect(),
        }
    }
}

impl SelectionResponse {
    /// The response for a decision. `model` is the model behind the recommended label.
    #[must_use]
    pub fn new(
        config: &EffectiveConfig,
        decision: &Decision,
        model: Option<ResolvedModel>,
        priced: Option<ResolvedPrice>,
        now_ms: i64,
    ) -> SelectionResponse {
        let named = decision.model().zip(model);
        let recommended = named.map(|(status, model)| RecommendedModel {
            label: status.label.clone(),
            model_id: model.model,
            vendor: model.vendor,
            reason: decision.reason.clone(),
            description: model.description,
        });
        let pricing = priced.map(|ResolvedPrice { price, source, version, .. }| Pricing {
            price,
            version,
            source,
        });
        SelectionResponse {
            org_id: config.org_id.clone(),
            app_id: config.app_id.clone(),
            app_name: config.app_name.clone(),
            recommended_model: recommended,
            quota_status: QuotaStatus::new(config, decision),
            pricing,
            client_guidance: decision.guidance.clone(),
            checked_at: rfc3339(now_ms),
            org_day: config.timezone.day_of(now_ms),
            org_local_time: config.timezone.local_time(now_ms),
        }
    }
}
