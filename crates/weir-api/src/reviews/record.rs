//! Recording: a whole review in one call, or step by step.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::consensus::ConsensusMember;
use super::findings::Severity;
use super::formats::{
    CategoryName, ConsensusId, CostUsd, FilePath, FindingId, RepoName, ReviewId, ReviewModelId,
    RuleName, Title, UserName,
};
use super::responses::ResponseStatus;

/// How a review is recorded.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RecordParams {
    /// Whether to replace a review of the same id that has other content.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub replace: bool,
}

/// A review to record.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewReview {
    /// Id of the review; a new UUID by default. Recording the same content with the same id again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ReviewId>)]
    pub review_id: Option<String>,
    /// Owner of the repository.
    #[schema(value_type = RepoName)]
    pub owner: String,
    /// Name of the repository.
    #[schema(value_type = RepoName)]
    pub repo: String,
    /// Number of the pull request.
    #[schema(minimum = 1, maximum = 1_000_000_000_000_u64)]
    pub pr_number: u64,
    /// Title of the pull request, up to 64 KiB.
    #[schema(max_length = 65_536)]
    pub pr_title: String,
    /// Address of the pull request, up to 64 KiB.
    #[schema(max_length = 65_536)]
    pub pr_url: String,
    /// Files that the pull request changes; the comparison counts agreement on files without findings with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<FilePath>, max_items = 3_000)]
    pub files: Vec<String>,
    /// User who requested the review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UserName>)]
    pub requested_by: Option<String>,
    /// Time of the review; the server's time by default. It may be up to 60 seconds ahead, and as old as the retention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    pub created_at: Option<String>,
    /// `completed` records the whole review. `in_progress` opens it, for responses that are added one by one.
    #[serde(default)]
    #[schema(inline, default = "completed")]
    pub status: RecordedStatus,
    /// Responses of the models, up to 20, with up to 2 000 findings together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 20)]
    pub responses: Vec<NewResponse>,
    /// Consensus of the models; computed by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1_000)]
    pub consensus: Option<Vec<NewConsensus>>,
}

/// Status of a new review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordedStatus {
    /// The request has all responses.
    #[default]
    Completed,
    /// Responses follow in requests of their own.
    InProgress,
}

/// The response of a model with its findings.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewResponse {
    /// Id of the model.
    #[schema(value_type = ReviewModelId)]
    pub model_id: String,
    /// Whether the model responded.
    pub status: ResponseStatus,
    /// Input tokens.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub input_tokens: u64,
    /// Output tokens.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub output_tokens: u64,
    /// Latency of the response, in milliseconds.
    #[schema(maximum = 86_400_000)]
    pub latency_ms: u64,
    /// Cost of the response, in dollars.
    #[schema(value_type = CostUsd)]
    pub cost_usd: String,
    /// Raw output of the model: any JSON of up to 5 MiB, stored as it is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub raw: Option<Box<RawValue>>,
    /// Findings of the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 2_000)]
    pub findings: Vec<NewFinding>,
}

/// A finding to record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFinding {
    /// Id of the finding, unique among the findings of its model in the review.
    #[schema(value_type = FindingId)]
    pub finding_id: String,
    /// Severity of the issue.
    pub severity: Severity,
    /// Category of the issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CategoryName>)]
    pub category: Option<String>,
    /// Rule that the code breaks, as a linter names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RuleName>)]
    pub rule: Option<String>,
    /// File of the issue.
    #[schema(value_type = FilePath)]
    pub file_path: String,
    /// First line of the issue.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub line_start: u32,
    /// Last line of the issue; not before the first.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub line_end: u32,
    /// Issue in a few words.
    #[schema(value_type = Title)]
    pub title: String,
    /// Description of the issue, up to 64 KiB.
    #[schema(max_length = 65_536)]
    pub description: String,
    /// Suggested change, up to 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_536)]
    pub suggestion: Option<String>,
}

/// A consensus that the client has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConsensus {
    /// Id of the consensus, unique within the review.
    #[schema(value_type = ConsensusId)]
    pub consensus_id: String,
    /// Findings that describe the issue, of at least two models that responded.
    #[schema(min_items = 2, max_items = 100)]
    pub members: Vec<ConsensusMember>,
    /// Severity of the issue.
    pub severity: Severity,
    /// Category of the issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CategoryName>)]
    pub category: Option<String>,
    /// File of the issue.
    #[schema(value_type = FilePath)]
    pub file_path: String,
    /// First line of the issue.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub line_start: u32,
    /// Last line of the issue; not before the first.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub line_end: u32,
    /// Issue in a few words.
    #[schema(max_length = 65_536)]
    pub title: String,
    /// Description of the issue that says which model said what, up to 64 KiB.
    #[schema(max_length = 65_536)]
    pub merged_description: String,
}

/// The end of a review that is recorded step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteRequest {
    /// `completed` when all models have responded, `failed` to give the review up.
    #[serde(default)]
    #[schema(inline, default = "completed")]
    pub status: CompletedStatus,
    /// Consensus of the models; computed by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 1_000)]
    pub consensus: Option<Vec<NewConsensus>>,
}

/// Final status of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletedStatus {
    /// All models have responded.
    #[default]
    Completed,
    /// The review is given up.
    Failed,
}
