//! `…/model-selection`: the model that an app uses for its next call.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::config::QuotaScope;
use super::formats::Flag;
use super::prices::{LongContextPrice, PriceSource};

/// How to select a model.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SelectionParams {
    /// Whether to sum up all submissions received so far, instead of using totals that can be some seconds old.
    #[serde(default, deserialize_with = "flag")]
    #[param(required = false, value_type = Flag, inline)]
    pub force_check: bool,
}

/// A flag as the clients of common languages write it: Python's `str(True)` is `True`.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Cow::<str>::deserialize(deserializer)?.as_ref() {
        "true" | "True" | "1" => Ok(true),
        "false" | "False" | "0" => Ok(false),
        other => {
            let expected = "true, True, 1, false, False or 0";
            Err(D::Error::invalid_value(Unexpected::Str(other), &expected))
        }
    }
}

/// Frequency at which a client has to check a quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum QuotaMode {
    /// The spend is below the threshold.
    Normal,
    /// The spend has reached the threshold.
    Tight,
}

/// State of a model's quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum QuotaState {
    /// The spend is below the threshold.
    Normal,
    /// The spend has reached the threshold.
    Tight,
    /// The quota is spent.
    Exceeded,
}

/// The model to use, and why.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ModelSelection<'a> {
    /// Id of the org.
    pub org_id: Cow<'a, str>,
    /// Id of the app.
    pub app_id: Cow<'a, str>,
    /// Display name of the app.
    pub app_name: Cow<'a, str>,
    /// Model to use for the next call; absent when its label was removed from the server's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended_model: Option<RecommendedModel<'a>>,
    /// State of the quotas.
    pub quota_status: QuotaStatus<'a>,
    /// Price of the recommended model; absent when it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<ModelPricing<'a>>,
    /// Advice on how long to use the selection.
    pub client_guidance: ClientGuidance<'a>,
    /// Time of the selection.
    #[schema(format = DateTime)]
    pub checked_at: Cow<'a, str>,
    /// Current day of the org.
    #[schema(format = Date)]
    pub org_day: String,
    /// Current time in the org's time zone.
    #[schema(format = DateTime)]
    pub org_local_time: Cow<'a, str>,
}

/// A model to use.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RecommendedModel<'a> {
    /// Label of the model.
    pub label: Cow<'a, str>,
    /// Id of the model at its vendor; on Bedrock also an inference profile id or ARN.
    pub model_id: Cow<'a, str>,
    /// The same as `model_id`, for clients of the original service.
    pub bedrock_model_id: Cow<'a, str>,
    /// Vendor of the model, when its label names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<Cow<'a, str>>,
    /// Reason of the recommendation: `NORMAL`, `QUOTA_EXCEEDED_{label}`, `STICKY_FALLBACK` or `MANUAL_OVERRIDE`.
    pub reason: Cow<'a, str>,
    /// Description of the model.
    pub description: Cow<'a, str>,
}

/// State of the quotas of a chain.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct QuotaStatus<'a> {
    /// Scope of the spend that the quotas limit.
    pub scope: QuotaScope,
    /// Frequency at which the client has to check the quota.
    pub mode: QuotaMode,
    /// Label of the recommended model, or of the last model when all quotas are spent.
    pub current_model: Option<Cow<'a, str>>,
    /// Spend on the current model so far today, in micro-USD.
    pub spend_usd_micros: u64,
    /// Daily quota of the current model, in micro-USD.
    pub quota_usd_micros: u64,
    /// Spend on the current model in percent of its quota.
    pub quota_pct: f64,
    /// Whether the chain stays at a later model for the rest of the day.
    pub sticky_fallback_active: bool,
    /// Time at which the quota of the current model will be spent at the rate of the day so far; `null` when not today.
    #[schema(format = DateTime)]
    pub projected_exhaustion_at: Option<Cow<'a, str>>,
    /// State of each model's quota, by label, in the order of the chain.
    #[schema(value_type = BTreeMap<String, ModelQuota>)]
    pub models_status: IndexMap<Cow<'a, str>, ModelQuota>,
}

/// State of a model's quota.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelQuota {
    /// Spend on the model so far today, in micro-USD.
    pub spend_usd_micros: u64,
    /// Daily quota of the model, in micro-USD.
    pub quota_usd_micros: u64,
    /// Spend on the model in percent of its quota.
    pub quota_pct: f64,
    /// State of the quota.
    pub status: QuotaState,
}

/// Price of a model, in micro-USD for a million tokens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ModelPricing<'a> {
    /// Price of a million input tokens.
    pub input_price_usd_micros_per_1m: u64,
    /// Price of a million output tokens.
    pub output_price_usd_micros_per_1m: u64,
    /// Price of a million tokens read from a cache; absent when it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read_price_usd_micros_per_1m: Option<u64>,
    /// Price of a million tokens written to a cache; absent when it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_price_usd_micros_per_1m: Option<u64>,
    /// Price of requests with a long input; absent when it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongContextPrice>,
    /// Edition of the price.
    pub version: Cow<'a, str>,
    /// Source of the price.
    pub source: PriceSource,
}

/// Advice on how long a client uses a selection.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ClientGuidance<'a> {
    /// Interval at which to select again, like `PERIODIC_300S`.
    pub check_frequency: Cow<'a, str>,
    /// Seconds for which the client may use this selection.
    pub cache_duration_secs: u64,
    /// Explanation of the advice, in a sentence.
    pub explanation: Cow<'a, str>,
}
