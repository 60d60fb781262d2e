//! Issues that several models found.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::findings::Severity;
use super::formats::{FindingId, ReviewModelId};
use super::review::ReviewRef;

/// Confidence in a consensus, by the share of models that agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Less than half of the models agree.
    Low,
    /// At least half of the models agree.
    Medium,
    /// At least four fifths of the models agree.
    High,
}

/// A finding that belongs to a consensus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsensusMember {
    /// Id of the model.
    #[schema(value_type = ReviewModelId)]
    pub model_id: String,
    /// Id of the finding.
    #[schema(value_type = FindingId)]
    pub finding_id: String,
}

/// An issue that several models found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Consensus {
    /// Id of the consensus, unique within the review.
    pub consensus_id: String,
    /// Models that agree, sorted.
    pub agreeing_models: Vec<String>,
    /// Number of models that agree.
    pub agreement_count: u64,
    /// Number of models that responded, agreeing or not.
    pub models_asked: u64,
    /// Share of the models that agree, from 0 to 1.
    pub agreement_ratio: f64,
    /// Confidence in the consensus.
    pub confidence: Confidence,
    /// Highest severity that two models agree on, or else the highest.
    pub severity: Severity,
    /// Category of the issue; `null` if the findings have none.
    pub category: Option<String>,
    /// File of the issue.
    pub file_path: String,
    /// First line of the issue.
    pub line_start: u32,
    /// Last line of the issue.
    pub line_end: u32,
    /// Title of the finding that represents the issue.
    pub title: String,
    /// Description of the issue that says which model said what.
    pub merged_description: String,
    /// Ids of the findings, in the order of `members`.
    pub finding_ids: Vec<String>,
    /// Findings with their models, sorted by model.
    pub members: Vec<ConsensusMember>,
}

/// A consensus, and its review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ListedConsensus {
    /// Review of the consensus.
    #[serde(flatten)]
    pub review: ReviewRef,
    /// Issue that several models found.
    #[serde(flatten)]
    pub consensus: Consensus,
}
