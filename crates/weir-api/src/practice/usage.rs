//! `/v1/practice/users/{id}/usage`: daily limits of a user.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::formats::{IdempotencyKey, PracticeDate, PracticeProblemId};

/// An action that plans limit by day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageAction {
    /// A hint was given.
    Hint,
    /// Code was executed.
    Execution,
}

/// A request to do an action once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeUsageRequest {
    /// Action to do.
    pub action: UsageAction,
    /// Id of the problem that the action is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PracticeProblemId>)]
    pub problem_id: Option<String>,
    /// Further details for the log, at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
    /// Key with which the same request can be repeated for two days without being counted twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdempotencyKey>)]
    pub idempotency_key: Option<String>,
}

/// The response to a request to do an action. A refusal has the same fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TakeUsageResponse {
    /// Action of the request.
    pub action: UsageAction,
    /// Day on which the action counts.
    #[schema(format = Date)]
    pub date: String,
    /// Number of times that the user did the action on that day.
    pub count: u64,
    /// Limit of the day; -1 for any number.
    pub limit: i64,
    /// Number of times that the user may still do the action on that day; `null` for any number.
    pub remaining: Option<u64>,
    /// Time at which the next day starts.
    #[schema(format = DateTime)]
    pub resets_at: String,
    /// Whether the request was counted before, and this repeats its response.
    pub is_repeated: bool,
}

/// Usage of one action on a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActionUsage {
    /// Action that was done.
    pub action: UsageAction,
    /// Number of times that the user did the action.
    pub count: u64,
    /// Limit of the user's present plan; -1 for any number.
    pub limit: i64,
    /// Number of times that the user may still do the action; `null` for any number.
    pub remaining: Option<u64>,
}

/// Usage of a user on a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserUsage {
    /// Day of the usage.
    #[schema(format = Date)]
    pub date: String,
    /// Time at which the next day starts.
    #[schema(format = DateTime)]
    pub resets_at: String,
    /// Usage of each action.
    pub actions: Vec<ActionUsage>,
}

/// Which day to read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UsageDateParams {
    /// Day in the time zone of the service; the day on which the next request counts by default.
    #[param(value_type = PracticeDate, inline, required = false)]
    pub date: Option<String>,
}

/// An action that was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageLogEntry {
    /// Time of the request.
    #[schema(format = DateTime)]
    pub at: String,
    /// Action that was done.
    pub action: UsageAction,
    /// Id of the problem that the action was about.
    pub problem_id: Option<String>,
    /// Further details of the request.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Value>,
}

/// The counters to compare with the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecountRequest {
    /// Day of the counters, in the time zone of the service.
    #[schema(value_type = PracticeDate)]
    pub date: String,
    /// Whether to correct counters that differ.
    #[serde(default)]
    #[schema(default = false)]
    pub repair: bool,
}

/// The result of a recount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecountResponse {
    /// Day of the counters.
    #[schema(format = Date)]
    pub date: String,
    /// Counters that differ from the log.
    pub differences: Vec<CountDifference>,
    /// Whether the counters were corrected.
    pub is_repaired: bool,
}

/// A counter that differs from the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountDifference {
    /// Action of the counter.
    pub action: UsageAction,
    /// Value of the counter.
    pub counted: u64,
    /// Number of log entries.
    pub logged: u64,
}

/// The result of setting back the latest day of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResetDayResponse {
    /// Latest day before; `null` if it was not after today, and nothing was changed.
    #[schema(format = Date)]
    pub from: Option<String>,
    /// Latest day now, which is today; `null` if nothing was changed.
    #[schema(format = Date)]
    pub to: Option<String>,
}
