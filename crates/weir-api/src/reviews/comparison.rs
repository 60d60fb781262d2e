//! `GET /v1/reviews/compare`: which model is worth its money.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::findings::Severity;
use super::formats::{CalendarDate, ModelIds, RepoPath};

/// Which models to compare, and over which days.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CompareParams {
    /// Ids of up to 20 models, separated by commas; those with the most reviews by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = ModelIds, inline, required = false)]
    pub models: Option<String>,
    /// First day, in UTC; 90 days before `to` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = CalendarDate, inline, required = false)]
    pub from: Option<String>,
    /// Day after the last one, in UTC, up to 400 days after `from`; tomorrow by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = CalendarDate, inline, required = false)]
    pub to: Option<String>,
    /// Repository as `owner/repo`; all repositories by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = RepoPath, inline, required = false)]
    pub repo: Option<String>,
}

/// A comparison of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// First day, in UTC.
    #[schema(format = Date)]
    pub from: String,
    /// Day after the last one, in UTC.
    #[schema(format = Date)]
    pub to: String,
    /// Repository as `owner/repo`; `null` for all repositories.
    pub repo: Option<String>,
    /// Number of days on which the models took part in a review.
    pub days: u64,
    /// Models, sorted by id.
    pub models: Vec<ModelComparison>,
    /// Pairs of the models, sorted by their ids.
    pub pairs: Vec<PairComparison>,
    /// Number of models with fewer reviews that were left out, if the request names none.
    pub models_left_out: u64,
    /// Number of pairs on days that had too many to be counted.
    pub pairs_left_out: u64,
}

/// A figure with the size of its sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Estimate {
    /// Value of the figure; `null` where it is undefined.
    pub value: Option<f64>,
    /// Number of observations: the denominator of a share, or the units of κ.
    pub sample: u64,
    /// 95 % interval of the figure; `null` with less than two days.
    pub interval: Option<Interval>,
}

/// The bounds of a 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Interval {
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// Findings, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FindingCounts {
    /// Number of findings.
    pub findings: u64,
    /// Number of findings that other models made too.
    pub in_consensus: u64,
    /// Number of findings that no other model made.
    pub only_it: u64,
    /// Number of findings that a person accepted.
    pub accepted: u64,
    /// Number of findings that a person dismissed.
    pub dismissed: u64,
}

/// Findings of a severity or category.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FindingFigures {
    /// Counts of the findings.
    #[serde(flatten)]
    pub counts: FindingCounts,
    /// Share of the findings that other models made too; `null` without findings.
    pub consensus_share: Option<f64>,
    /// Share of the judged findings that were accepted; `null` without feedback.
    pub acceptance_rate: Option<f64>,
}

/// Findings of a severity.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SeverityFigures {
    /// Severity of the findings.
    pub severity: Severity,
    /// Figures of the findings.
    #[serde(flatten)]
    pub figures: FindingFigures,
}

/// Findings of a category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CategoryFigures {
    /// Category of the findings; `null` for findings without one.
    pub category: Option<String>,
    /// Figures of the findings.
    #[serde(flatten)]
    pub figures: FindingFigures,
}

/// The figures of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelComparison {
    /// Id of the model.
    pub model_id: String,
    /// Number of reviews that the model took part in.
    pub reviews: u64,
    /// Number of reviews in which the model responded.
    pub successes: u64,
    /// Number of reviews in which the model failed.
    pub errors: u64,
    /// Number of reviews in which the model took too long.
    pub timeouts: u64,
    /// Share of the reviews in which the model responded.
    pub success_rate: Estimate,
    /// Counts of all findings.
    pub findings: FindingCounts,
    /// Findings divided by the reviews that the model took part in.
    pub findings_per_review: Estimate,
    /// Share of the findings that other models made too.
    pub consensus_share: Estimate,
    /// Share of the judged findings that were accepted.
    pub acceptance_rate: Estimate,
    /// Cost of all responses, in dollars.
    pub cost_usd: String,
    /// Cost divided by the findings in a consensus, in dollars.
    pub cost_per_consensus_finding_usd: Estimate,
    /// Mean latency of successful responses, in milliseconds.
    pub latency_mean_ms: Estimate,
    /// Latency that half of the successful responses do not exceed, in milliseconds, within 1 %.
    pub latency_p50_ms: Option<u64>,
    /// Latency that 95 % of the successful responses do not exceed, in milliseconds, within 1 %.
    pub latency_p95_ms: Option<u64>,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Findings by severity, the worst first.
    pub by_severity: Vec<SeverityFigures>,
    /// Findings by category.
    pub by_category: Vec<CategoryFigures>,
    /// Findings of categories that were too many to be counted apart.
    pub rare_categories: FindingFigures,
    /// Whether a sum stopped at its bound, so that figures are too small.
    pub is_saturated: bool,
}

/// Agreement of two models, in the reviews in which both responded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairComparison {
    /// Ids of the models, sorted.
    #[schema(min_items = 2, max_items = 2)]
    pub models: Vec<String>,
    /// Number of reviews in which both models responded.
    pub reviews: u64,
    /// Number of issues that both models found.
    pub shared: u64,
    /// Number of findings that only the first model made.
    pub only_first: u64,
    /// Number of findings that only the second model made.
    pub only_second: u64,
    /// Number of units (review, file, category) in which both models have findings.
    pub units_both: u64,
    /// Number of units in which only the first model has findings.
    pub units_first: u64,
    /// Number of units in which only the second model has findings.
    pub units_second: u64,
    /// Number of units in which neither model has findings.
    pub units_neither: u64,
    /// Positive agreement over findings, from 0 to 1.
    pub positive_agreement: Estimate,
    /// Cohen's κ over units, from −1 to 1.
    pub kappa: Estimate,
}
