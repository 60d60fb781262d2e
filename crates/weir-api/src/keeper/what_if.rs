//! `…/simulate`: a recorded day under another configuration.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::Schema;

use super::config::amounts_by_label;
use super::formats::{Identifier, OrgDate};

/// The quotas to change.
fn changed_quotas() -> Schema {
    amounts_by_label().examples([json!({"premium": 100_000_000})]).into()
}

/// The day to replay, and what to change. Fields that are left out stay as they are configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulationRequest {
    /// `today`, or a day of the org as YYYY-MM-DD.
    #[schema(value_type = OrgDate)]
    pub date: String,
    /// Labels of the chain, the preferred model first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Identifier>>, min_items = 1, max_items = 20, example = json!(["premium", "standard"]))]
    pub model_ordering: Option<Vec<String>>,
    /// Daily quotas by model label, in micro-USD.
    #[serde(default)]
    #[schema(schema_with = changed_quotas)]
    pub quotas: BTreeMap<String, i64>,
    /// Whether a fallback lasts for the rest of the day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky_fallback_enabled: Option<bool>,
    /// Percentage of its quota from which a model is tight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 50, maximum = 100)]
    pub tight_mode_threshold_pct: Option<i64>,
}

/// A recorded day beside the simulated one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SimulationResponse {
    /// Id of the org.
    pub org_id: String,
    /// Day of the org.
    #[schema(format = Date)]
    pub date: String,
    /// IANA time zone of the org at the end of the day.
    pub timezone: String,
    /// Number of submissions of the day.
    pub requests: u64,
    /// Number of submissions that were replayed together; numbers of the simulation are multiples of it.
    pub requests_per_step: u64,
    /// The recorded day.
    pub recorded: RecordedDay,
    /// The simulated days: one entry where all apps share the quotas, else one for each app.
    pub simulated: Vec<SimulatedDay>,
}

/// A day as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordedDay {
    /// Spend on all models, in micro-USD.
    pub cost_usd_micros: u64,
    /// Usage of each model.
    pub models: Vec<RecordedModel>,
    /// Spend so far at the end of each hour.
    pub series: Vec<SpendPoint>,
}

/// Usage of a model on a recorded day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordedModel {
    /// Label of the model.
    pub label: String,
    /// Number of submissions.
    pub requests: u64,
    /// Spend on the model, in micro-USD.
    pub cost_usd_micros: u64,
}

/// Spend so far at a time of the day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpendPoint {
    /// Time of the point.
    #[schema(format = DateTime)]
    pub at: String,
    /// Spend until then by model label, in micro-USD.
    pub spend_usd_micros: BTreeMap<String, u64>,
}

/// A simulated day of an org, or of an app with its own quotas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SimulatedDay {
    /// Id of the app; absent where all apps share the quotas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// Spend on all models, in micro-USD.
    pub cost_usd_micros: u64,
    /// Number of submissions served.
    pub served: u64,
    /// Number of submissions refused because all quotas were spent.
    pub refused: u64,
    /// Result of each model, in the order of the chain.
    pub models: Vec<SimulatedModel>,
    /// Events in order of time.
    pub events: Vec<SimulatedEvent>,
    /// Spend so far at every quarter of an hour.
    pub series: Vec<SpendPoint>,
}

/// The result of a model on a simulated day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SimulatedModel {
    /// Label of the model.
    pub label: String,
    /// Number of submissions served.
    pub requests: u64,
    /// Spend on the model, in micro-USD.
    pub cost_usd_micros: u64,
    /// Daily quota of the model, in micro-USD.
    pub quota_usd_micros: u64,
    /// Spend on the model in percent of its quota.
    pub quota_pct: f64,
    /// Spend beyond the quota before clients selected again, in micro-USD.
    pub overshoot_usd_micros: u64,
    /// Time of the first use of the model; `null` when it was not used.
    #[schema(format = DateTime)]
    pub first_used_at: Option<String>,
    /// Time at which the spend reached the threshold; `null` when it did not.
    #[schema(format = DateTime)]
    pub tight_at: Option<String>,
    /// Time at which the quota was spent; `null` when it was not.
    #[schema(format = DateTime)]
    pub exceeded_at: Option<String>,
}

/// An event of a simulated day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SimulatedEvent {
    /// Time of the event.
    #[schema(format = DateTime)]
    pub at: String,
    /// Kind of the event.
    pub event: SimulatedEventKind,
    /// Label of the model that the event is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Label of the model before a fallback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Label of the model after a fallback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// The kind of an event of a simulated day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SimulatedEventKind {
    /// The spend on a model reached its threshold.
    Tight,
    /// The quota of a model was spent.
    Exceeded,
    /// Another model was recommended from then on.
    Fallback,
    /// All quotas were spent.
    AllExceeded,
}
