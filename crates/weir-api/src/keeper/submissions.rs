//! `…/costs` and `…/usage`: usage that apps submit after their calls.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::formats::{AwsRegion, Identifier, ModelId, Uuid, VendorName};
use super::selection::QuotaState;

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum CallStatus {
    /// The call succeeded.
    Ok,
    /// The call failed. Its tokens cost as much as those of a call that succeeded.
    Error,
}

/// Usage of one call of a model.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmissionRequest {
    /// UUID that the client generates. A submission with the same id and content is recorded once.
    #[schema(value_type = Uuid)]
    pub request_id: String,
    /// Label of the model.
    #[schema(value_type = Identifier)]
    pub model_label: String,
    /// Id of the model at its vendor; on Bedrock also an inference profile id or ARN. Either this or `bedrock_model_id` is
    /// required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ModelId>)]
    pub model_id: Option<String>,
    /// Another name of `model_id`, for clients of the original service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ModelId>)]
    pub bedrock_model_id: Option<String>,
    /// Vendor of the model, such as `openai`; required when several vendors have a price for it and its label names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<VendorName>)]
    pub vendor: Option<String>,
    /// Input tokens, without cached ones.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub input_tokens: u64,
    /// Output tokens.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub output_tokens: u64,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cached_read_tokens: Option<u64>,
    /// Tokens written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cached_write_tokens: Option<u64>,
    /// AWS region of the call; required when the label is an inference profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<AwsRegion>)]
    pub calling_region: Option<String>,
    /// Cost of the call in micro-USD, when the client knows it. It replaces the computed cost. Neither may be more than
    /// a million dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cost_usd_micros: Option<u64>,
    /// Outcome of the call.
    pub status: CallStatus,
    /// Time of the call: not in the future, and at most a day before the org's current day.
    #[schema(format = DateTime)]
    pub timestamp: String,
}

/// Usage of up to 100 calls.
///
/// Each submission is parsed by itself, so that a mistake in one does not fail the others.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmissionBatch {
    /// The submissions.
    #[schema(value_type = Vec<SubmissionRequest>, min_items = 1, max_items = 100)]
    pub requests: Vec<Box<RawValue>>,
}

/// A recorded submission.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SubmissionResponse<'a> {
    /// Id of the submission.
    pub request_id: Cow<'a, str>,
    /// Always `ACCEPTED`.
    pub status: Cow<'a, str>,
    /// The result in a sentence.
    pub message: Cow<'a, str>,
    /// Whether the submission was recorded before. `processing` then repeats the first response.
    pub duplicate: bool,
    /// Record of the submission: its day, cost and shard.
    pub processing: SubmissionProcessing,
    /// Spend on the model so far today, as of the last aggregation.
    pub daily_total: DailyTotal,
    /// Time of the response.
    #[schema(format = DateTime)]
    pub timestamp: Cow<'a, str>,
}

/// Record of a submission: its day, cost and shard.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SubmissionProcessing {
    /// Shard whose counters include the submission.
    pub shard_id: u8,
    /// Seconds within which totals are expected to include the submission.
    pub expected_aggregation_lag_secs: u32,
    /// Recorded cost, in micro-USD: the client's, or the computed one.
    pub cost_usd_micros: u64,
    /// Cost computed from the model's price, in micro-USD; absent when the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computed_cost_usd_micros: Option<u64>,
    /// Day of the org in which the submission is recorded.
    #[schema(format = Date)]
    pub org_day: String,
}

/// Spend on a model on a day.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub struct DailyTotal {
    /// Spend on the model so far today, in micro-USD.
    pub cost_usd_micros: u64,
    /// Daily quota of the model, in micro-USD.
    pub quota_usd_micros: u64,
    /// Spend on the model in percent of its quota.
    pub quota_pct: f64,
    /// State of the quota.
    pub mode: QuotaState,
}

/// Results of a batch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SubmissionBatchResponse<'a> {
    /// Number of recorded submissions, duplicates included.
    pub accepted: u64,
    /// Number of failed submissions.
    pub failed: u64,
    /// Result of each submission, in the order of the request.
    pub results: Vec<SubmissionResult<'a>>,
    /// Time of the response.
    #[schema(format = DateTime)]
    pub timestamp: String,
}

/// Result of one submission of a batch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SubmissionResult<'a> {
    /// The submission was recorded.
    Accepted(SubmissionResponse<'a>),
    /// The submission failed.
    Failed(SubmissionFailure<'a>),
}

/// A submission that was not recorded.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SubmissionFailure<'a> {
    /// Id of the submission, as it was sent.
    pub request_id: Cow<'a, str>,
    /// Always `FAILED`.
    pub status: Cow<'a, str>,
    /// Error code.
    pub error: Cow<'a, str>,
    /// Explanation of the error.
    pub message: Cow<'a, str>,
}
