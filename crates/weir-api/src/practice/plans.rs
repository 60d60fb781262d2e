//! `/v1/practice/plans`: what users may do each day.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::formats::Line;

/// Name and limits of a plan. `-1` as a limit means unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanRequest {
    /// Name of the plan.
    #[schema(value_type = Line)]
    pub name: String,
    /// Description of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 8_192)]
    pub description: Option<String>,
    /// Hints that a user gets on a day; -1 for any number.
    #[schema(minimum = -1, maximum = 1_000_000_000, example = 5)]
    pub max_hints_per_day: i64,
    /// Executions that a user gets on a day; -1 for any number.
    #[schema(minimum = -1, maximum = 1_000_000_000, example = 50)]
    pub max_executions_per_day: i64,
    /// Problems that a user may have registered; -1 for any number.
    #[serde(default = "unlimited")]
    #[schema(minimum = -1, maximum = 1_000_000_000, default = -1)]
    pub max_problems: i64,
    /// Whether a user sees the problems of others.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub can_view_all_problems: bool,
    /// Whether a user may register problems.
    #[serde(default)]
    #[schema(default = false)]
    pub can_register_problems: bool,
    /// Whether users can be put on the plan. Users who are on it stay.
    #[serde(default = "yes")]
    #[schema(default = true)]
    pub is_active: bool,
}

fn unlimited() -> i64 {
    -1
}

fn yes() -> bool {
    true
}

/// A plan. `-1` as a limit means unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// Id of the plan.
    pub id: u64,
    /// Name of the plan.
    pub name: String,
    /// Description of the plan.
    pub description: Option<String>,
    /// Hints that a user gets on a day; -1 for any number.
    pub max_hints_per_day: i64,
    /// Executions that a user gets on a day; -1 for any number.
    pub max_executions_per_day: i64,
    /// Problems that a user may have registered; -1 for any number.
    pub max_problems: i64,
    /// Whether a user sees the problems of others.
    pub can_view_all_problems: bool,
    /// Whether a user may register problems.
    pub can_register_problems: bool,
    /// Whether users can be put on the plan.
    pub is_active: bool,
    /// Number of users on the plan; only in responses about one plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<u64>,
    /// Time of the creation.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
}

/// Whether to correct counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecountCountersRequest {
    /// Whether to correct counters that differ.
    #[serde(default)]
    #[schema(default = false)]
    pub repair: bool,
}

/// The result of a recount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecountCountersResponse {
    /// Each counter that was recounted.
    pub counters: Vec<CounterRecount>,
}

/// A counter, beside the number of items that it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CounterRecount {
    /// Name of the counter.
    #[schema(example = "users of plan 1")]
    pub counter: String,
    /// Value of the counter.
    pub counted: u64,
    /// Number of items that the counter counts.
    pub found: u64,
    /// Users that only another program has written and that are not counted; a correction counts them.
    pub uncounted: u64,
    /// Whether the counter was corrected.
    pub is_repaired: bool,
}
