//! `…/aggregates`: daily totals.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::config::QuotaScope;
use super::formats::{CalendarDate, OrgDate};
use super::selection::QuotaState;
use super::sticky::StickyFallback;

/// The day that a path names.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct DayParams {
    /// `today`, or a day of the org as YYYY-MM-DD.
    #[param(value_type = OrgDate, inline)]
    pub date: String,
}

/// A range of days.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DayRangeParams {
    /// First day of the range.
    #[param(value_type = CalendarDate, inline)]
    pub from: String,
    /// Last day of the range, at most 91 days after the first.
    #[param(value_type = CalendarDate, inline)]
    pub to: String,
}

/// Usage and spend of an org or an app on a day.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DayTotals {
    /// Id of the org.
    pub org_id: String,
    /// Id of the app; absent for an org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// Display name of the app; absent for an org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_name: Option<String>,
    /// Day of the org.
    #[schema(format = Date)]
    pub date: String,
    /// IANA time zone of the org at the end of the day.
    pub timezone: String,
    /// Scope of the spend that the quotas limited at the end of the day.
    pub quota_scope: QuotaScope,
    /// Source of the day's quotas, chain and time zone.
    pub config_basis: ConfigBasis,
    /// Usage and spend by model label, in the order of the chain; models outside it come last.
    #[schema(value_type = BTreeMap<String, ModelTotals>)]
    pub models: IndexMap<String, ModelTotals>,
    /// Usage and spend of all models together.
    pub totals: UsageSum,
    /// Spend on all models, in micro-USD; the same as in `totals`, for clients of the original service.
    pub total_cost_usd_micros: u64,
    /// Sum of the quotas of the chain, in micro-USD.
    pub total_quota_usd_micros: u64,
    /// Spend on all models in percent of the sum of the quotas.
    pub total_quota_pct: f64,
    /// Whether the chain had moved to a later model by the end of the day.
    pub sticky_fallback_active: bool,
    /// Label of the model in use at the end of the day, or of the last model when all quotas were spent.
    pub current_active_model: Option<String>,
    /// Fallback in force on that day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky: Option<StickyFallback>,
    /// Time of the last aggregation; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub updated_at: Option<String>,
}

/// Source of the quotas, the chain and the time zone that a day is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConfigBasis {
    /// The configuration at the end of the day, or the present one while the day lasts.
    Recorded,
    /// A later configuration: the one at the end of the day was changed before changes were recorded.
    Later,
}

/// A sum of usage and spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageSum {
    /// Spend, in micro-USD.
    pub cost_usd_micros: u64,
    /// Input tokens, without cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    pub cached_read_tokens: u64,
    /// Tokens written to a cache.
    pub cached_write_tokens: u64,
    /// Number of submissions.
    pub requests: u64,
}

/// Usage and spend of a model on a day.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ModelTotals {
    /// Label of the model.
    pub label: String,
    /// Usage and spend of the model.
    #[serde(flatten)]
    pub sum: UsageSum,
    /// Daily quota of the model, in micro-USD.
    pub quota_usd_micros: u64,
    /// Spend on the model in percent of its quota.
    pub quota_pct: f64,
    /// State of the quota.
    pub quota_status: QuotaState,
    /// Average cost of a submission in micro-USD, rounded up.
    pub average_cost_per_request: u64,
    /// Id of the model at its vendor; on Bedrock also an inference profile id or ARN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// The same as `model_id`, for clients of the original service; empty when the label has no model any more.
    pub bedrock_model_id: String,
}
