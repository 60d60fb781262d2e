//! `/v1/practice/stats`: usage by day, from rollups.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::PracticeDate;
use super::usage::ActionUsage;

/// Days of the statistics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StatsParams {
    /// First day, in the time zone of the service; 29 days before `to` by default.
    #[param(value_type = PracticeDate, inline, required = false)]
    pub from: Option<String>,
    /// Last day, up to 399 days after `from`; today by default.
    #[param(value_type = PracticeDate, inline, required = false)]
    pub to: Option<String>,
}

/// Usage in a range of days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageStats {
    /// First day.
    #[schema(format = Date)]
    pub from: String,
    /// Last day.
    #[schema(format = Date)]
    pub to: String,
    /// Hints given in the range.
    pub hints: u64,
    /// Executions in the range.
    pub executions: u64,
    /// Usage of each day, the oldest first.
    pub days: Vec<DayStats>,
    /// Users with the most usage, of the first 100 of each day.
    pub top_users: Vec<TopUser>,
}

/// Usage of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayStats {
    /// Day of the usage.
    #[schema(format = Date)]
    pub date: String,
    /// Hints given to all users.
    pub hints: u64,
    /// Executions of all users.
    pub executions: u64,
    /// Number of users who did an action.
    pub active_users: u64,
}

/// Usage of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TopUser {
    /// Id of the user.
    pub user_id: String,
    /// Hints and executions together.
    pub total: u64,
}

/// The day and the length of the list of its most active users.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DayTopUsersParams {
    /// Day in the time zone of the service; today by default.
    #[param(value_type = PracticeDate, inline, required = false)]
    pub date: Option<String>,
    /// Most users to list, from 1 to 100; 10 by default.
    #[param(minimum = 1, maximum = 100, required = false)]
    pub limit: Option<u32>,
}

/// The most active users of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayTopUsers {
    /// Day of the usage.
    #[schema(format = Date)]
    pub date: String,
    /// Users with the most usage, the most active first.
    pub users: Vec<DayTopUser>,
}

/// Usage of a user on a day against the user's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DayTopUser {
    /// Id of the user.
    pub user_id: String,
    /// Name of the user; `null` for a user who was deleted since.
    pub name: Option<String>,
    /// Hints and executions together, as the rollup of the day has them.
    pub total: u64,
    /// Usage of each action at present; empty for a user who was deleted since.
    pub actions: Vec<ActionUsage>,
}

/// The rollups to compare with the counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyStatsRequest {
    /// Day of the rollups, in the time zone of the service.
    #[schema(value_type = PracticeDate)]
    pub date: String,
    /// Whether to correct rollups that differ.
    #[serde(default)]
    #[schema(default = false)]
    pub repair: bool,
}

/// The result of a verification. Rollups lag behind by the changes that the job has not read yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifyStatsResponse {
    /// Day of the rollups.
    #[schema(format = Date)]
    pub date: String,
    /// Number of users who did an action on the day.
    pub active_users: u64,
    /// Sum of all counters of the day.
    pub computed: UsageCounts,
    /// Rollups that differ from the counters, at most 1 000.
    pub differences: Vec<UsageRollupDifference>,
    /// Whether the rollups were corrected.
    pub is_repaired: bool,
}

/// Number of times that each action was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageCounts {
    /// Hints given.
    pub hints: u64,
    /// Executions of code.
    pub executions: u64,
}

/// A rollup that differs from its counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageRollupDifference {
    /// Id of the user; `null` for the rollup of the day.
    pub user_id: Option<String>,
    /// Stored counts.
    pub stored: UsageCounts,
    /// Counts of the counters.
    pub computed: UsageCounts,
}

/// The clock of the instance, and the newest usage item that it has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClockResponse {
    /// Time by the clock of the instance.
    #[schema(format = DateTime)]
    pub now: String,
    /// Time of the newest usage item that the instance has seen; `null` before the first.
    #[schema(format = DateTime)]
    pub newest_item_at: Option<String>,
    /// Lead of the clock over the newest item, in milliseconds; negative when the clock is behind. It grows while there
    /// are no requests.
    pub ahead_ms: i64,
    /// Requests that found the clock ahead by more than a minute, since the start of the instance.
    pub requests_ahead: u64,
}
