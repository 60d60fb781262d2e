//! Query parameters of routes below one review.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::{CostUsd, Included, ReviewModelId};
use super::responses::ResponseStatus;

/// Which parts of a review to return with it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IncludeParams {
    /// Parts to return with the review: `responses`, `findings` and `consensus`, separated by commas.
    #[param(value_type = Included, inline, required = false)]
    pub include: Option<String>,
}

/// Which findings a SARIF file has.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SarifParams {
    /// Whether to return every finding, as one run per model, instead of the consensus.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub findings: bool,
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportFormat {
    /// Markdown of GitHub, for a comment on the pull request.
    #[default]
    Markdown,
    /// Plain text of 100 columns, for a terminal.
    Text,
}

/// Which form a report has.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReportParams {
    /// Form of the report; `markdown` by default.
    #[serde(default)]
    #[param(inline, required = false)]
    pub format: ReportFormat,
}

/// The response whose findings are sent as SARIF. A response that is sent as JSON has these fields in its body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SarifResponseParams {
    /// Id of the model, for findings in SARIF; the name of the tool by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = ReviewModelId, inline, required = false)]
    pub model_id: Option<String>,
    /// Whether the model responded, for findings in SARIF; `success` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub status: Option<ResponseStatus>,
    /// Input tokens, for findings in SARIF; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(maximum = 1_000_000_000_000_u64)]
    pub input_tokens: Option<u64>,
    /// Output tokens, for findings in SARIF; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(maximum = 1_000_000_000_000_u64)]
    pub output_tokens: Option<u64>,
    /// Latency of the response in milliseconds, for findings in SARIF; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(maximum = 86_400_000)]
    pub latency_ms: Option<u64>,
    /// Cost of the response in dollars, for findings in SARIF; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = CostUsd, inline, required = false)]
    pub cost_usd: Option<String>,
}
