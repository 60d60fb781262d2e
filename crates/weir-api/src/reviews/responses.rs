//! Responses of models, and their costs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::review::ReviewRef;

/// Whether a model responded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    /// The model responded.
    #[default]
    Success,
    /// The model failed.
    Error,
    /// The model took too long.
    Timeout,
}

/// The response of a model, without its findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ModelResponse)]
pub struct Response {
    /// Id of the model.
    pub model_id: String,
    /// Whether the model responded.
    pub status: ResponseStatus,
    /// Number of findings.
    pub findings_count: u64,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Latency of the response, in milliseconds.
    pub latency_ms: u64,
    /// Cost of the response, in dollars.
    pub cost_usd: String,
    /// Key of the raw output in the object store; absent if none was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_key: Option<String>,
}

/// The response of a model, and its review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedResponse {
    /// Review of the response.
    #[serde(flatten)]
    pub review: ReviewRef,
    /// Response of the model.
    #[serde(flatten)]
    pub response: Response,
}

/// The cost of a model in a review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CostMetric {
    /// Review of the response.
    #[serde(flatten)]
    pub review: ReviewRef,
    /// Id of the model.
    pub model_id: String,
    /// Cost of the response, in dollars.
    pub cost_usd: String,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}
