//! Runs of users: what was tried, how it went, and which hints were given.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::formats::{IdempotencyKey, PlatformName, PracticeUserId, RunId};

/// The run that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RunParam {
    /// Id of the run.
    #[param(value_type = RunId, inline)]
    pub id: String,
}

/// A run to record.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// Id of the run; a new one by default. Recording the same run with the same id again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RunId>)]
    pub history_id: Option<String>,
    /// Key with which the request is repeated safely; excludes `history_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdempotencyKey>)]
    pub idempotency_key: Option<String>,
    /// User of the run; by default the user of the token, or nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PracticeUserId>)]
    pub user_id: Option<String>,
    /// Name of the user for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub user_identifier: Option<String>,
    /// Id of the problem in the client's database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 128)]
    pub problem_id: Option<String>,
    /// Platform of the problem.
    #[schema(value_type = PlatformName)]
    pub platform: String,
    /// Id of the problem on its platform.
    #[schema(min_length = 1, max_length = 128)]
    pub problem_number: String,
    /// Title of the problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500)]
    pub problem_title: Option<String>,
    /// Programming language of the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub language: Option<String>,
    /// Code that was run, up to 1 MiB.
    #[schema(max_length = 1_048_576)]
    pub code: String,
    /// Summary of the results, up to 16 KiB.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub result_summary: Map<String, Value>,
    /// Test cases that passed.
    #[serde(default)]
    #[schema(maximum = 4_294_967_295u64)]
    pub passed_count: u32,
    /// Test cases that failed.
    #[serde(default)]
    #[schema(maximum = 4_294_967_295u64)]
    pub failed_count: u32,
    /// Test cases in all.
    #[serde(default)]
    #[schema(maximum = 4_294_967_295u64)]
    pub total_count: u32,
    /// Whether the run is in the public feed.
    #[serde(default)]
    pub is_code_public: bool,
    /// Results of the test cases, up to 1 MiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_results: Vec<Value>,
    /// Hints that were given, each up to 8 KiB and all together up to 128 KiB.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub hints: Vec<String>,
    /// Further fields of the client, up to 16 KiB.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

/// A change of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPatch {
    /// Whether the run is in the public feed.
    pub is_code_public: bool,
}

/// Hints to add to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewHints {
    /// Hints, each up to 8 KiB; a run has at most 100 of up to 128 KiB together.
    #[schema(min_items = 1, max_items = 100)]
    pub hints: Vec<String>,
}

/// A recorded run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PracticeRun {
    /// Id of the run.
    pub id: String,
    /// User of the run; `null` if nobody was signed in, and for other users.
    pub user_id: Option<String>,
    /// Name of the user for others.
    pub user_identifier: Option<String>,
    /// Id of the problem in the client's database.
    pub problem_id: Option<String>,
    /// Platform of the problem.
    pub platform: Option<String>,
    /// Id of the problem on its platform.
    pub problem_number: Option<String>,
    /// Title of the problem.
    pub problem_title: Option<String>,
    /// Programming language of the code.
    pub language: Option<String>,
    /// Summary of the results.
    #[schema(value_type = Object)]
    pub result_summary: Value,
    /// Test cases that passed.
    pub passed_count: i64,
    /// Test cases that failed.
    pub failed_count: i64,
    /// Test cases in all.
    pub total_count: i64,
    /// Whether the run is in the public feed.
    pub is_code_public: bool,
    /// Hints that were given.
    pub hints: Vec<String>,
    /// Further fields of the client.
    #[schema(value_type = Object)]
    pub metadata: Value,
    /// Time of the recording.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Code that was run; absent in lists and after changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Results of the test cases; absent in lists and after changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_results: Option<Vec<Value>>,
}
