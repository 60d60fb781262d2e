//! The review, the responses and the consensus that a caller records.

use crate::finding::{Finding, Severity};
use crate::ids::{Category, ConsensusId, ModelId, ReviewId, UserName};
use crate::money::MicroUsd;
use crate::review::{Member, PullRequest, ResponseStatus};

/// A review with everything that its models said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    /// The review without its responses.
    pub head: NewHead,
    /// The responses, one for each model.
    pub responses: Vec<NewResponse>,
    /// Where models agree; computed if none is sent.
    pub consensus: Option<Vec<NewConsensus>>,
}

/// A review without its responses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHead {
    /// Id of the review; a new one if none is sent.
    pub id: Option<ReviewId>,
    /// The pull request.
    pub pull_request: PullRequest,
    /// The user who requested the review.
    pub requested_by: Option<UserName>,
    /// When it was made, in milliseconds since 1970; now if none is sent.
    pub created_at_ms: Option<i64>,
}

/// The response of a model with its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResponse {
    /// The model.
    pub model: ModelId,
    /// Whether it responded.
    pub status: ResponseStatus,
    /// Tokens that it read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// How long it took.
    pub latency_ms: u64,
    /// Cost of the response.
    pub cost: MicroUsd,
    /// Raw output of the model.
    pub raw: Option<Vec<u8>>,
    /// Findings of the model.
    pub findings: Vec<Finding>,
}

/// A consensus that the caller has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConsensus {
    /// Id of the consensus within the review.
    pub id: ConsensusId,
    /// The findings.
    pub members: Vec<Member>,
    /// How bad it is.
    pub severity: Severity,
    /// The category.
    pub category: Option<Category>,
    /// The file.
    pub file_path: String,
    /// The first line.
    pub line_start: u32,
    /// The last line.
    pub line_end: u32,
    /// The issue in a few words.
    pub title: String,
    /// Description that says what each model said.
    pub merged_description: String,
}

/// How a review that is recorded step by step ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// All models have responded. The consensus is computed if none is sent.
    Completed(Option<Vec<NewConsensus>>),
    /// The review is given up.
    Failed,
}

/// A review as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The review.
    pub review: crate::review::Review,
    /// Whether the call changed anything; the same content again does not.
    pub changed: bool,
}
