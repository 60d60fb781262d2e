//! The question which model to use, and the answer.

mod choose;
mod look;

pub use self::choose::Selected;
pub(crate) use self::look::Look;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::config::{Effective, QuotaScope};
use crate::day::{OrgDay, rfc3339};
use crate::decide::{Decision, Guidance, Mode, ModelStatus, Reason, Status};
use crate::ids::{Label, ModelId};
use crate::money::{MicroUsd, Percent, Price};
use crate::prices::{PriceSource, Priced};

/// What a client is told. When all quotas are exceeded there is no recommended model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// The model to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended_model: Option<RecommendedModel>,
    /// How the quotas do.
    pub quota_status: QuotaStatus,
    /// What the recommended model costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// What to do with the answer.
    pub client_guidance: Guidance,
    /// When this was decided, as RFC 3339.
    pub checked_at: String,
    /// The org's day.
    pub org_day: OrgDay,
    /// The org's time.
    pub org_local_time: String,
}

/// A model to use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecommendedModel {
    /// Its label.
    pub label: Label,
    /// What Bedrock calls it.
    pub bedrock_model_id: ModelId,
    /// Why it.
    pub reason: Reason,
    /// What it is for.
    pub description: String,
}

/// How the quotas do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuotaStatus {
    /// Whose spend they are for.
    pub scope: QuotaScope,
    /// How closely to watch.
    pub mode: Mode,
    /// The recommended model, or the last of the chain.
    pub current_model: Option<Label>,
    /// What was spent on it.
    pub spend_usd_micros: MicroUsd,
    /// What may be.
    pub quota_usd_micros: MicroUsd,
    /// The first as a part of the second.
    pub quota_pct: Percent,
    /// Whether the chain is at a later model for the rest of the day.
    pub sticky_fallback_active: bool,
    /// When the quota of the current model will be spent at the rate of the day so far, as RFC 3339; not when not today.
    pub projected_exhaustion_at: Option<String>,
    /// Every model.
    pub models_status: BTreeMap<Label, ModelQuota>,
}

/// How a model does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelQuota {
    /// What was spent.
    pub spend_usd_micros: MicroUsd,
    /// What may be.
    pub quota_usd_micros: MicroUsd,
    /// The first as a part of the second.
    pub quota_pct: Percent,
    /// How it does.
    pub status: Status,
}

/// What a model costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pricing {
    /// The price.
    #[serde(flatten)]
    pub price: Price,
    /// Which edition of it.
    pub version: String,
    /// Where it comes from.
    pub source: PriceSource,
}

impl QuotaStatus {
    /// How the quotas do by a decision.
    #[must_use]
    pub fn new(config: &Effective, decision: &Decision) -> QuotaStatus {
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

impl Selection {
    /// The answer by a decision; the caller knows the model behind the label and its price.
    #[must_use]
    pub fn new(
        config: &Effective,
        decision: &Decision,
        model: Option<(ModelId, String)>,
        priced: Option<Priced>,
        now_ms: i64,
    ) -> Selection {
        let named = decision.model().zip(model);
        let recommended = named.map(|(status, (id, description))| RecommendedModel {
            label: status.label.clone(),
            bedrock_model_id: id,
            reason: decision.reason.clone(),
            description,
        });
        let pricing =
            priced.map(|Priced { price, source, version }| Pricing { price, version, source });
        Selection {
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
    use crate::config::{OrgRecord, PutOrg};
    use crate::decide::decide;
    use crate::ids::OrgId;
    use crate::labels::Catalogue;

    /// 09:00 in New York on 2026-01-23.
    const NOW_MS: i64 = 1_769_176_800_000;

    #[test]
    fn the_answer_has_the_fields_that_clients_read() {
        let request = json!({
            "org_name": "o", "timezone": "America/New_York", "quota_scope": "ORG",
            "model_ordering": ["premium", "standard"],
            "quotas": {"premium": 1_000_000, "standard": 5_000_000},
        });
        let labels = Catalogue::default();
        let wanted = serde_json::from_value::<PutOrg>(request).unwrap();
        let org = OrgId::new("550e8400-e29b-41d4-a716-446655440000").unwrap();
        let record = OrgRecord::new(org, wanted.check(&labels, None).unwrap(), NOW_MS);
        let config = Effective::of_org(&record, NOW_MS);
        let chain = config.rungs(|label| {
            MicroUsd(if label.as_str() == "premium" { 1_000_000 } else { 2_000_000 })
        });
        let decision = decide(&config.question(&chain, None, NOW_MS));
        let def = labels.get(&decision.model().unwrap().label).unwrap();
        let model = (def.bedrock_model_id.clone(), def.description.clone());
        let priced = Priced {
            price: Price::new(1_000_000, 5_000_000),
            source: PriceSource::PriceBook,
            version: "2026-11".into(),
        };
        let answer = Selection::new(&config, &decision, Some(model), Some(priced), NOW_MS);
        assert_eq!(
            serde_json::to_value(answer).unwrap(),
            json!({
                "recommended_model": {
                    "label": "standard",
                    "bedrock_model_id": "anthropic.claude-haiku-4-5-20251001-v1:0",
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
