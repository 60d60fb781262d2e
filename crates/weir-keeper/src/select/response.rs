//! The response to a selection.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::{EffectiveConfig, QuotaScope};
use crate::day::{OrgDay, rfc3339};
use crate::decide::{Decision, Guidance, Mode, ModelStatus, Reason, Status};
use crate::ids::{Label, ModelId, Vendor};
use crate::label_lookup::ResolvedModel;
use crate::money::{MicroUsd, Percent, Price};
use crate::prices::{PriceSource, ResolvedPrice};

/// The response to a selection. It recommends no model when all quotas are exceeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectionResponse {
    /// The recommended model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended_model: Option<RecommendedModel>,
    /// State of the quotas.
    pub quota_status: QuotaStatus,
    /// Price of the recommended model.
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecommendedModel {
    /// The model label.
    pub label: Label,
    /// The id of the model at its vendor, or an ARN.
    pub model_id: ModelId,
    /// The vendor, where the label names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<Vendor>,
    /// Why this model is recommended.
    pub reason: Reason,
    /// Description of the model.
    pub description: String,
}

/// State of the quotas of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// State of every model in the chain.
    pub models_status: BTreeMap<Label, ModelQuota>,
}

/// State of the quota of one model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pricing {
    /// The price.
    #[serde(flatten)]
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
    pub(crate) fn new(
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::ModelCatalog;
    use crate::config::{OrgRecord, PutOrg};
    use crate::decide::decide;
    use crate::ids::OrgId;

    /// 09:00 in New York on 2026-01-23.
    const NOW_MS: i64 = 1_769_176_800_000;

    #[test]
    fn the_response_has_the_fields_that_clients_read() {
        let request = json!({
            "org_name": "o", "timezone": "America/New_York", "quota_scope": "ORG",
            "model_ordering": ["premium", "standard"],
            "quotas": {"premium": 1_000_000, "standard": 5_000_000},
        });
        let labels = ModelCatalog::default();
        let request = serde_json::from_value::<PutOrg>(request).unwrap();
        let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
        let record = OrgRecord::new(org, request.check(&labels, None).unwrap(), NOW_MS);
        let config = EffectiveConfig::for_org(&record, NOW_MS);
        let chain = config.chain(|label| {
            MicroUsd(if label.as_str() == "premium" { 1_000_000 } else { 2_000_000 })
        });
        let decision = decide(&config.decision_input(&chain, None, NOW_MS));
        let def = labels.get(&decision.model().unwrap().label).unwrap();
        let model = ResolvedModel {
            model: def.model_id.clone(),
            vendor: def.vendor.clone(),
            description: def.description.clone(),
            profile: None,
        };
        let priced = ResolvedPrice {
            price: Price::new(1_000_000, 5_000_000),
            source: PriceSource::PriceBook,
            version: "2026-11".into(),
            listed_as: def.model_id.as_str().into(),
            vendor: None,
            region: None,
        };
        let response =
            SelectionResponse::new(&config, &decision, Some(model), Some(priced), NOW_MS);
        assert_eq!(
            serde_json::to_value(response).unwrap(),
            json!({
                "recommended_model": {
                    "label": "standard",
                    "model_id": "anthropic.claude-haiku-4-5-20251001-v1:0",
                    "reason": "QUOTA_EXCEEDED_premium",
                    "description": "Claude Haiku 4.5: fast, for everyday work",
                },
                "quota_status": {
                    "scope": "ORG", "mode": "NORMAL", "current_model": "standard",
                    "spend_usd_micros": 2_000_000, "quota_usd_micros": 5_000_000, "quota_pct": 40.0,
                    "sticky_fallback_active": true,
                    "projected_exhaustion_at": "2026-01-24T03:30:00Z",
                    "models_status": {
                        "premium": {"spend_usd_micros": 1_000_000, "quota_usd_micros": 1_000_000, "quota_pct": 100.0, "status": "EXCEEDED"},
                        "standard": {"spend_usd_micros": 2_000_000, "quota_usd_micros": 5_000_000, "quota_pct": 40.0, "status": "NORMAL"},
                    },
                },
                "pricing": {
                    "input_price_usd_micros_per_1m": 1_000_000, "output_price_usd_micros_per_1m": 5_000_000,
                    "version": "2026-11", "source": "PRICE_BOOK",
                },
                "client_guidance": {
                    "check_frequency": "PERIODIC_300S", "cache_duration_secs": 300,
                    "explanation": "There is room in the quota; check every 300 s.",
                },
                "checked_at": "2026-01-23T14:00:00Z",
                "org_day": "2026-01-23",
                "org_local_time": "2026-01-23T09:00:00-05:00",
            })
        );
    }
}
