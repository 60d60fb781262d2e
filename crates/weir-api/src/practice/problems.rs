//! Problems: creating, changing, listing and reading them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::formats::{
    PlatformName, PracticeProblemId, ProblemParts, ProblemTag, ProblemTitle, WebUrl,
};
use super::test_cases::{NewTestCase, TestCase};
use crate::patch::present;

/// The problem that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProblemParam {
    /// Platform of the problem.
    #[param(value_type = PlatformName, inline)]
    pub platform: String,
    /// Id of the problem on its platform.
    #[param(value_type = PracticeProblemId, inline)]
    pub problem_id: String,
}

/// A list of problems that a problem can be in. A problem can be in several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemStatus {
    /// Not published.
    Draft,
    /// Published.
    Published,
    /// Marked for review.
    NeedsReview,
    /// Verified by an administrator.
    Verified,
    /// Deleted, and in no other list.
    Deleted,
}

/// Which problems to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProblemsParams {
    /// Status of the problems; deleted ones are listed only by their status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub status: Option<ProblemStatus>,
    /// Platform of the problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = PlatformName, inline, required = false)]
    pub platform: Option<String>,
    /// Tag of the problems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = ProblemTag, inline, required = false)]
    pub tag: Option<String>,
}

/// Which parts of a problem to return with it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ProblemIncludeParams {
    /// Parts to return with the problem: `testcases`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = ProblemParts, inline, required = false)]
    pub include: Option<String>,
}

/// How a problem is deleted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteProblemParams {
    /// Whether the problem goes for good, with its test cases. Otherwise it is hidden, and can be restored.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub hard: bool,
    /// Reason of the deletion, up to 8 KiB; excludes `hard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 8_192)]
    pub reason: Option<String>,
}

/// A problem to create.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProblem {
    /// Platform of the problem.
    #[schema(value_type = PlatformName)]
    pub platform: String,
    /// Id of the problem on its platform.
    #[schema(value_type = PracticeProblemId)]
    pub problem_id: String,
    /// Title of the problem.
    #[schema(value_type = ProblemTitle)]
    pub title: String,
    /// Address of the problem on its platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WebUrl>)]
    pub problem_url: Option<String>,
    /// Tags of the problem, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<ProblemTag>, max_items = 30)]
    pub tags: Vec<String>,
    /// Code that solves the problem, up to 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_048_576)]
    pub solution_code: Option<String>,
    /// Programming language of the solution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub language: Option<String>,
    /// Constraints of the input, up to 1 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_048_576)]
    pub constraints: Option<String>,
    /// Further fields of the client, up to 16 KiB.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Whether the problem is published at once; only administrators publish.
    #[serde(default)]
    pub is_completed: bool,
    /// Test cases, created with the problem or not at all; up to 8 MiB with the other texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 10_000)]
    pub test_cases: Vec<NewTestCase>,
}

/// Fields of a problem to change. An absent field stays as it is, and `null` clears one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProblemPatch {
    /// Title of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = ProblemTitle, required = false)]
    pub title: Option<String>,
    /// Address of the problem on its platform.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WebUrl>)]
    pub problem_url: Option<Option<String>>,
    /// Tags of the problem, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<ProblemTag>, max_items = 30, required = false)]
    pub tags: Option<Vec<String>>,
    /// Code that solves the problem, up to 1 MiB.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 1_048_576)]
    pub solution_code: Option<Option<String>>,
    /// Programming language of the solution.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 200)]
    pub language: Option<Option<String>>,
    /// Constraints of the input, up to 1 MiB.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 1_048_576)]
    pub constraints: Option<Option<String>>,
    /// Further fields of the client, all of them; up to 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    pub metadata: Option<Map<String, Value>>,
    /// Version of the problem that the client has read; a change since then is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u64, required = false)]
    pub version: Option<u64>,
}

/// The reason why a problem needs a review.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProblemReviewRequest {
    /// Notes for the reviewer, up to 8 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 8_192)]
    pub review_notes: Option<String>,
}

/// A problem of a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PracticeProblem {
    /// Platform and id of the problem, with a slash between them.
    pub id: String,
    /// Platform of the problem.
    pub platform: String,
    /// Id of the problem on its platform.
    pub problem_id: String,
    /// Title of the problem.
    pub title: String,
    /// Address of the problem on its platform.
    pub problem_url: Option<String>,
    /// Tags of the problem.
    pub tags: Vec<String>,
    /// Programming language of the solution.
    pub language: Option<String>,
    /// Whether the problem is published.
    pub is_completed: bool,
    /// Whether the problem is deleted.
    pub is_deleted: bool,
    /// Time of the deletion.
    #[schema(format = DateTime)]
    pub deleted_at: Option<String>,
    /// Reason of the deletion.
    pub deleted_reason: Option<String>,
    /// Whether the problem needs a review.
    pub needs_review: bool,
    /// Notes for the reviewer; absent for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_notes: Option<String>,
    /// Whether an administrator has verified the problem.
    pub verified_by_admin: bool,
    /// Time of the last verification.
    #[schema(format = DateTime)]
    pub reviewed_at: Option<String>,
    /// Further fields of the client.
    #[schema(value_type = Object)]
    pub metadata: Value,
    /// User who registered the problem; absent for other users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_by: Option<String>,
    /// Time of the creation.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Number that every change raises.
    pub version: u64,
    /// Code that solves the problem; absent in lists, after changes, and for users who did not register the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solution_code: Option<String>,
    /// Constraints of the input; absent in lists and after changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
    /// Test cases by id, if they are included; for users only samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_cases: Option<Vec<TestCase>>,
    /// Cursor of the list of test cases, if all of them together are too large for one response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_cases_cursor: Option<String>,
}
