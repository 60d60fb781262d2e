//! Findings, and what people say of them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::{CategoryName, UserName};
use super::review::ReviewRef;

/// Severity of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Critical.
    Critical,
    /// High.
    High,
    /// Medium.
    Medium,
    /// Low.
    Low,
    /// Worth knowing.
    Info,
}

/// Which findings to list. A request names a severity or a category.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FindingsParams {
    /// Severity of the findings; excludes `category`.
    #[param(inline)]
    pub severity: Option<Severity>,
    /// Category of the findings; excludes `severity`.
    #[param(value_type = CategoryName, inline, required = false)]
    pub category: Option<String>,
}

/// A finding of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// Id of the model.
    pub model_id: String,
    /// Id of the finding, unique among the findings of its model in the review.
    pub finding_id: String,
    /// Severity of the issue.
    pub severity: Severity,
    /// Category of the issue; `null` if the finding has none.
    pub category: Option<String>,
    /// Rule that the code breaks, as a linter names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// File of the issue.
    pub file_path: String,
    /// First line of the issue.
    pub line_start: u32,
    /// Last line of the issue.
    pub line_end: u32,
    /// Issue in a few words.
    pub title: String,
    /// Description of the issue.
    pub description: String,
    /// Suggested change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Whether another model found the issue too.
    pub in_consensus: bool,
    /// Feedback of a person on the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<Feedback>,
}

/// A finding, and its review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedFinding {
    /// Review of the finding.
    #[serde(flatten)]
    pub review: ReviewRef,
    /// Finding of the model.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Verdict of a person on a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The finding is right.
    Accepted,
    /// The finding is wrong or not useful.
    Dismissed,
}

/// Feedback to record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FeedbackRequest {
    /// Verdict of the person on the finding.
    pub verdict: Verdict,
    /// Name of the person.
    #[schema(value_type = UserName)]
    pub by: String,
}

/// Feedback on a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Feedback {
    /// Verdict of the person on the finding.
    pub verdict: Verdict,
    /// Name of the person.
    pub by: String,
    /// Time of the feedback.
    #[schema(format = DateTime)]
    pub at: String,
}
