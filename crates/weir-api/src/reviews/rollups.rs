//! `POST /v1/reviews/rollups/verify`: compares stored rollups with the reviews they sum.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::formats::{CalendarDate, RepoPath};

/// The rollups to verify.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyRollupsRequest {
    /// First day, in UTC.
    #[schema(value_type = CalendarDate)]
    pub from: String,
    /// Day after the last one, in UTC, up to 31 days after `from`.
    #[schema(value_type = CalendarDate)]
    pub to: String,
    /// Repository as `owner/repo`; all repositories by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RepoPath>)]
    pub repo: Option<String>,
    /// Whether to compute the days again that differ.
    #[serde(default)]
    #[schema(default = false)]
    pub recompute: bool,
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VerifyRollupsResponse {
    /// Number of days of repositories, and of all repositories, that were computed.
    pub days: u64,
    /// Number of rollup items that differ.
    pub differing: u64,
    /// Rollup items that differ, at most 1 000.
    pub differences: Vec<RollupDifference>,
    /// Days that could not be computed, with the reason.
    pub failures: Vec<String>,
    /// Whether the job has changes to roll up, so that differences are expected.
    pub is_pending: bool,
    /// Number of days that are to be computed again.
    pub recomputed: u64,
}

/// A rollup item that differs from the reviews it sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RollupDifference {
    /// Repository as `owner/repo`; `null` for all repositories.
    pub repo: Option<String>,
    /// Day of the rollup, in UTC.
    #[schema(format = Date)]
    pub day: String,
    /// Model, or the pairs of models, as the key of the item has it.
    pub part: String,
    /// Stored sums; `null` if they are missing.
    pub stored: Option<String>,
    /// Sums of the reviews; `null` if there should be none.
    pub computed: Option<String>,
}
