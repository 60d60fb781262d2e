//! A review.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::consensus::Consensus;
use super::findings::Finding;
use super::responses::Response;

/// Status of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// Models still respond.
    InProgress,
    /// All responses and the consensus are recorded.
    Completed,
    /// The review was given up.
    Failed,
}

/// A review of a pull request by several models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Review {
    /// Id of the review.
    pub review_id: String,
    /// Owner of the repository.
    pub owner: String,
    /// Name of the repository.
    pub repo: String,
    /// Number of the pull request.
    pub pr_number: u64,
    /// Title of the pull request.
    pub pr_title: String,
    /// Address of the pull request.
    pub pr_url: String,
    /// Files that the pull request changes; absent in lists, and if the client has sent none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// User who requested the review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// Time of the review.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Status of the review.
    pub status: ReviewStatus,
    /// Models that responded or failed, sorted.
    pub models_used: Vec<String>,
    /// Number of findings of all models.
    pub total_findings: u64,
    /// Number of issues that several models found.
    pub consensus_findings: u64,
    /// Cost of all responses, in dollars.
    pub total_cost_usd: String,
    /// Responses by model, if they are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<Vec<Response>>,
    /// Findings by model and id, if they are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// Issues that several models found, if they are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consensus: Option<Vec<Consensus>>,
}

/// The review that an item of a list belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReviewRef {
    /// Id of the review.
    pub review_id: String,
    /// Owner of the repository.
    pub owner: String,
    /// Name of the repository.
    pub repo: String,
    /// Number of the pull request.
    pub pr_number: u64,
    /// Time of the review.
    #[schema(format = DateTime)]
    pub created_at: String,
}
