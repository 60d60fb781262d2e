//! Reviews: what several models said about one pull request.

use crate::finding::{Finding, Severity};
use crate::ids::{Category, ConsensusId, FindingId, ModelId, Owner, Repo, ReviewId, UserName};
use crate::money::MicroUsd;

/// How far a review is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewStatus {
    /// Models still respond.
    InProgress,
    /// All responses and the consensus are recorded.
    Completed,
    /// The review was given up.
    Failed,
}

impl ReviewStatus {
    /// The status as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ReviewStatus::InProgress => "in_progress",
            ReviewStatus::Completed => "completed",
            ReviewStatus::Failed => "failed",
        }
    }
}

/// Whether a model responded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseStatus {
    /// The model responded.
    Success,
    /// The model failed.
    Error,
    /// The model took too long.
    Timeout,
}

impl ResponseStatus {
    /// The status as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ResponseStatus::Success => "success",
            ResponseStatus::Error => "error",
            ResponseStatus::Timeout => "timeout",
        }
    }
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    /// The owner of the repository.
    pub owner: Owner,
    /// The repository.
    pub repo: Repo,
    /// The number of the pull request.
    pub number: u64,
    /// Title of the pull request.
    pub title: String,
    /// Address of the pull request.
    pub url: String,
    /// The files that it changes, if the tool lists them.
    pub files: Vec<String>,
}

/// A review, without what its models said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Review {
    /// Id of the review.
    pub id: ReviewId,
    /// The pull request.
    pub pull_request: PullRequest,
    /// The user who requested the review.
    pub requested_by: Option<UserName>,
    /// When it was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// How far it is.
    pub status: ReviewStatus,
    /// The models that responded or failed, sorted.
    pub models: Vec<ModelId>,
    /// Findings of all models.
    pub total_findings: u64,
    /// Issues that several models found.
    pub consensus_findings: u64,
    /// The cost of all responses.
    pub total_cost: MicroUsd,
}

/// The response of a model, without its findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
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
    /// Number of findings of the model.
    pub findings_count: u64,
    /// Where its raw output is in the object storage.
    pub raw_key: Option<String>,
}

/// How sure a consensus is, by the share of models that agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Less than half of the models.
    Low,
    /// At least half.
    Medium,
    /// At least four fifths.
    High,
}

impl Confidence {
    /// The band as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// A finding that belongs to a consensus.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// The model.
    pub model: ModelId,
    /// Id of the finding.
    pub finding: FindingId,
}

/// An issue that several models found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consensus {
    /// Id of the consensus within the review.
    pub id: ConsensusId,
    /// The findings, sorted by model.
    pub members: Vec<Member>,
    /// The models that agree, sorted.
    pub agreeing_models: Vec<ModelId>,
    /// Models that responded, agreeing or not.
    pub models_asked: u64,
    /// The highest severity that two models agree on, or the highest.
    pub severity: Severity,
    /// The category of its findings.
    pub category: Option<Category>,
    /// The file.
    pub file_path: String,
    /// The first line of its findings.
    pub line_start: u32,
    /// The last line of its findings.
    pub line_end: u32,
    /// The title of the finding that represents it.
    pub title: String,
    /// Description that says what each model said.
    pub merged_description: String,
}

impl Consensus {
    /// The share of the models that agree, from 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "there are few models")]
    pub fn agreement_ratio(&self) -> f64 {
        self.agreeing_models.len() as f64 / self.models_asked.max(1) as f64
    }

    /// How sure it is.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        let agreeing = self.agreeing_models.len() as u64;
        if agreeing * 5 >= self.models_asked * 4 {
            Confidence::High
        } else if agreeing * 2 >= self.models_asked {
            Confidence::Medium
        } else {
            Confidence::Low
        }
    }
}

/// Feedback of a person on a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// Whether the finding was accepted; otherwise it was dismissed.
    pub accepted: bool,
    /// Name of the person.
    pub by: UserName,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// A finding as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFinding {
    /// The finding.
    pub finding: Finding,
    /// Whether other models found it too.
    pub in_consensus: bool,
    /// Feedback of a person on the finding.
    pub feedback: Option<Feedback>,
}

/// A review with everything that its models said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedReview {
    /// The review.
    pub review: Review,
    /// The responses, sorted by model.
    pub responses: Vec<Response>,
    /// The findings, sorted by model and id.
    pub findings: Vec<RecordedFinding>,
    /// Where models agree.
    pub consensus: Vec<Consensus>,
}
