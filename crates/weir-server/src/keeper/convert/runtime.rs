//! Selections, submissions and totals.

use std::borrow::Cow;

use weir_api::keeper as wire;
use weir_keeper::decide::{Mode, Status};
use weir_keeper::ids::Label;
use weir_keeper::money::Percent;
use weir_keeper::select;
use weir_keeper::submit::{Accepted, CallStatus, DailyTotal, Submission, SubmissionRequest};
use weir_keeper::totals::{self, DayTotals};

use super::prices::{price_source, wire_long_context};
use super::quota_scope;

pub(in crate::keeper) fn model_selection(
    selection: &select::SelectionResponse,
) -> wire::ModelSelection<'_> {
    let recommended = selection.recommended_model.as_ref();
    let guidance = &selection.client_guidance;
    let app_id = selection.app_id.as_ref().map_or("", |app| app.as_str());
    wire::ModelSelection {
        org_id: selection.org_id.as_str().into(),
        app_id: app_id.into(),
        app_name: selection.app_name.as_deref().unwrap_or_default().into(),
        recommended_model: recommended.map(|model| wire::RecommendedModel {
            label: model.label.as_str().into(),
            model_id: model.model_id.as_str().into(),
            bedrock_model_id: model.model_id.as_str().into(),
            vendor: model.vendor.as_ref().map(|vendor| vendor.as_str().into()),
            reason: model.reason.to_string().into(),
            description: model.description.as_str().into(),
        }),
        quota_status: quota_status(&selection.quota_status),
        pricing: selection.pricing.as_ref().map(|pricing| wire::ModelPricing {
            input_price_usd_micros_per_1m: pricing.price.input,
            output_price_usd_micros_per_1m: pricing.price.output,
            cache_read_price_usd_micros_per_1m: pricing.price.cache_read,
            cache_write_price_usd_micros_per_1m: pricing.price.cache_write,
            long_context: pricing.price.long_context.map(wire_long_context),
            version: pricing.version.as_str().into(),
            source: price_source(pricing.source),
        }),
        client_guidance: wire::ClientGuidance {
            check_frequency: guidance.check_frequency.as_str().into(),
            cache_duration_secs: guidance.cache_duration_secs,
            explanation: guidance.explanation.as_str().into(),
        },
        checked_at: selection.checked_at.as_str().into(),
        org_day: selection.org_day.to_string(),
        org_local_time: selection.org_local_time.as_str().into(),
    }
}

pub(in crate::keeper) fn quota_status(status: &select::QuotaStatus) -> wire::QuotaStatus<'_> {
    let models = status.models_status.iter();
    wire::QuotaStatus {
        scope: quota_scope(status.scope),
        mode: quota_mode(status.mode),
        current_model: status.current_model.as_ref().map(|label| label.as_str().into()),
        spend_usd_micros: status.spend_usd_micros.0,
        quota_usd_micros: status.quota_usd_micros.0,
        quota_pct: percent(status.quota_pct),
        sticky_fallback_active: status.sticky_fallback_active,
        projected_exhaustion_at: status.projected_exhaustion_at.as_deref().map(Cow::Borrowed),
        models_status: models
            .map(|(label, model)| (label.as_str().into(), model_quota(model)))
            .collect(),
    }
}

fn model_quota(model: &select::ModelQuota) -> wire::ModelQuota {
    wire::ModelQuota {
        spend_usd_micros: model.spend_usd_micros.0,
        quota_usd_micros: model.quota_usd_micros.0,
        quota_pct: percent(model.quota_pct),
        status: quota_state(model.status),
    }
}

fn quota_mode(mode: Mode) -> wire::QuotaMode {
    match mode {
        Mode::Normal => wire::QuotaMode::Normal,
        Mode::Tight => wire::QuotaMode::Tight,
    }
}

pub(super) fn quota_state(status: Status) -> wire::QuotaState {
    match status {
        Status::Normal => wire::QuotaState::Normal,
        Status::Tight => wire::QuotaState::Tight,
        Status::Exceeded => wire::QuotaState::Exceeded,
    }
}

#[expect(clippy::cast_precision_loss, reason = "two decimal places of any percentage fit")]
pub(super) fn percent(percent: Percent) -> f64 {
    percent.hundredths() as f64 / 100.0
}

pub(in crate::keeper) fn submission(
    request: wire::SubmissionRequest,
) -> weir_keeper::Result<Submission> {
    let request = SubmissionRequest {
        request_id: request.request_id,
        model_label: request.model_label,
        model_id: request.model_id,
        bedrock_model_id: request.bedrock_model_id,
        vendor: request.vendor,
        input_tokens: request.input_tokens,
        output_tokens: request.output_tokens,
        cached_read_tokens: request.cached_read_tokens,
        cached_write_tokens: request.cached_write_tokens,
        calling_region: request.calling_region,
        cost_usd_micros: request.cost_usd_micros,
        status: match request.status {
            wire::CallStatus::Ok => CallStatus::Ok,
            wire::CallStatus::Error => CallStatus::Error,
        },
        timestamp: request.timestamp,
    };
    request.check()
}

pub(in crate::keeper) fn submission_response<'a>(
    accepted: &'a Accepted,
    timestamp: &'a str,
) -> wire::SubmissionResponse<'a> {
    let processing = &accepted.processing;
    let message = match accepted.duplicate {
        true => "The usage was recorded before.",
        false => "The usage is recorded.",
    };
    wire::SubmissionResponse {
        request_id: accepted.request_id.as_str().into(),
        status: accepted.status.into(),
        message: message.into(),
        duplicate: accepted.duplicate,
        processing: wire::SubmissionProcessing {
            shard_id: processing.shard_id,
            expected_aggregation_lag_secs: processing.expected_aggregation_lag_secs,
            cost_usd_micros: processing.cost_usd_micros.0,
            computed_cost_usd_micros: processing.computed_cost_usd_micros.map(|cost| cost.0),
            org_day: processing.org_day.to_string(),
        },
        daily_total: daily_total(&accepted.daily_total),
        timestamp: timestamp.into(),
    }
}

fn daily_total(total: &DailyTotal) -> wire::DailyTotal {
    wire::DailyTotal {
        cost_usd_micros: total.cost_usd_micros.0,
        quota_usd_micros: total.quota_usd_micros.0,
        quota_pct: percent(total.quota_pct),
        mode: quota_state(total.mode),
    }
}

pub(in crate::keeper) fn day_totals(day: DayTotals) -> wire::DayTotals {
    let mut models: Vec<(Label, totals::ModelTotals)> = day.models.into_iter().collect();
    let position = |label: &Label| day.model_ordering.iter().position(|of| of == label);
    models.sort_by_key(|(label, _)| position(label).unwrap_or(usize::MAX));
    let models = models.into_iter().map(|(label, model)| {
        let label = label.to_string();
        (label.clone(), model_totals(label, model))
    });
    wire::DayTotals {
        org_id: day.org_id.to_string(),
        app_id: day.app_id.map(|app| app.to_string()),
        app_name: day.app_name,
        date: day.date.to_string(),
        timezone: day.timezone.name().to_owned(),
        quota_scope: quota_scope(day.quota_scope),
        config_basis: match day.is_config_recorded {
            true => wire::ConfigBasis::Recorded,
            false => wire::ConfigBasis::Later,
        },
        models: models.collect(),
        totals: usage_sum(day.totals),
        total_cost_usd_micros: day.totals.cost_usd_micros.0,
        total_quota_usd_micros: day.total_quota_usd_micros.0,
        total_quota_pct: percent(day.total_quota_pct),
        sticky_fallback_active: day.sticky_fallback_active,
        current_active_model: day.current_active_model.map(|label| label.to_string()),
        sticky: day.sticky.map(|sticky| wire::StickyFallback {
            active_model_label: sticky.active_model_label.to_string(),
            previous_model_label: sticky.previous_model_label.map(|label| label.to_string()),
            reason: sticky.reason.as_str().to_owned(),
            activated_at: sticky.activated_at,
        }),
        updated_at: day.updated_at,
    }
}

fn model_totals(label: String, model: totals::ModelTotals) -> wire::ModelTotals {
    wire::ModelTotals {
        label,
        sum: usage_sum(model.sum),
        quota_usd_micros: model.quota_usd_micros.0,
        quota_pct: percent(model.quota_pct),
        quota_status: quota_state(model.quota_status),
        average_cost_per_request: model.average_cost_per_request.0,
        model_id: model.model_id.as_ref().map(ToString::to_string),
        bedrock_model_id: model.model_id.map(|id| id.to_string()).unwrap_or_default(),
    }
}

fn usage_sum(sum: totals::UsageTotals) -> wire::UsageSum {
    wire::UsageSum {
        cost_usd_micros: sum.cost_usd_micros.0,
        input_tokens: sum.input_tokens,
        output_tokens: sum.output_tokens,
        cached_read_tokens: sum.cached_read_tokens,
        cached_write_tokens: sum.cached_write_tokens,
        requests: sum.requests,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use weir_keeper::catalog::ModelCatalog;
    use weir_keeper::config::{EffectiveConfig, OrgRecord, PutOrg};
    use weir_keeper::decide::decide;
    use weir_keeper::ids::OrgId;
    use weir_keeper::money::{MicroUsd, Price};
    use weir_keeper::prices::{PriceSource, ResolvedPrice};
    use weir_keeper::select::{ResolvedModel, SelectionResponse};

    use super::*;

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
            serde_json::to_value(model_selection(&response)).unwrap(),
            json!({
                "org_id": "550e8400-e29b-41d4-a716-446655440000",
                "app_id": "",
                "app_name": "",
                "recommended_model": {
                    "label": "standard",
                    "model_id": "anthropic.claude-haiku-4-5-20251001-v1:0",
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
