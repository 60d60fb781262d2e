//! Submissions: usage that an app reports after calling a model.
//!
//! 1. A submission is validated and planned. Its timestamp and the time zone then in force give its day, the price
//!    gives its cost, and its id gives its shard, so that a retry always hits the same shard.
//! 2. One transaction stores the deduplication record of its request id, if absent, and increments the shard; where the
//!    quota is the org's, the app's own counter too. So it is metered exactly once through any retry or crash.
//! 3. If the record exists, nothing is incremented. The same payload is a duplicate and gets the first response;
//!    another payload is a conflict.
//!
//! Daily totals lag behind, and so does the total in the response.

mod batch;
mod dedup_record;
mod payload_hash;
mod plan;
mod response;
mod single;
mod transaction;

use serde::Deserialize;

pub(crate) use self::plan::retained_until_ms;
pub use self::response::{Accepted, DailyTotal, Processing};
use crate::day::parse_rfc3339;
use crate::error::{Error, Result};
use crate::ids::{AppId, ModelId, OrgId, RequestId, Vendor, shown};
use crate::money::{MicroUsd, TokenUse};

/// Outcome of the model call. A failed call is metered like any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CallStatus {
    /// The call succeeded.
    Ok,
    /// The call failed.
    Error,
}

/// A submission as a client sends it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmissionRequest {
    /// UUID made by the client: the idempotency key of the submission.
    pub request_id: String,
    /// Label of the model that was called.
    pub model_label: String,
    /// Id of the model that was called, at its vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_id: Option<String>,
    /// The same, by the name that the original service has for it. A request has one of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bedrock_model_id: Option<String>,
    /// Vendor of the model; required when several vendors have a price for it and its label names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Input tokens, without cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Tokens read from the prompt cache.
    #[serde(default)]
    pub cached_read_tokens: Option<u64>,
    /// Tokens written to the prompt cache.
    #[serde(default)]
    pub cached_write_tokens: Option<u64>,
    /// Region of the call; required when the label is an inference profile.
    #[serde(default)]
    pub calling_region: Option<String>,
    /// Cost in micro-USD, where the client knows it; it overrides the computed cost.
    #[serde(default)]
    pub cost_usd_micros: Option<u64>,
    /// Outcome of the call.
    pub status: CallStatus,
    /// Time of the call, as RFC 3339.
    pub timestamp: String,
}

/// A validated submission. Its label is validated later, against the app's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Request id: the idempotency key.
    pub request_id: RequestId,
    /// The label, as sent.
    pub label: String,
    /// The model.
    pub model: ModelId,
    /// Its vendor, where it was named.
    pub vendor: Option<Vendor>,
    /// Tokens used.
    pub tokens: TokenUse,
    /// Region of the call.
    pub region: Option<String>,
    /// Cost stated by the client.
    pub stated_cost: Option<MicroUsd>,
    /// Outcome of the call.
    pub status: CallStatus,
    /// Time of the call, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The org and app that submit.
type Owner<'a> = (&'a OrgId, &'a AppId);

/// Longest region name, in characters.
const REGION_MAX: usize = 32;

impl SubmissionRequest {
    /// Validates everything that does not depend on the app.
    ///
    /// # Errors
    /// Names the invalid field.
    pub fn check(&self) -> Result<Submission> {
        let tokens = TokenUse {
            input: self.input_tokens,
            output: self.output_tokens,
            cached_read: self.cached_read_tokens.unwrap_or_default(),
            cached_write: self.cached_write_tokens.unwrap_or_default(),
        };
        tokens.check()?;
        let stated_cost =
            self.cost_usd_micros.map(|cost| MicroUsd(cost).check_submission()).transpose()?;
        let is_region = |text: &&String| {
            let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            (1..=REGION_MAX).contains(&text.len()) && text.bytes().all(good)
        };
        if let Some(region) = self.calling_region.as_ref().filter(|text| !is_region(text)) {
            let problem = format!("{} is not a region like us-east-1", shown(region));
            return Err(Error::invalid("calling_region", problem));
        }
        Ok(Submission {
            request_id: RequestId::new(&self.request_id)?,
            label: self.model_label.clone(),
            model: ModelId::of_request(self.model_id.as_deref(), self.bedrock_model_id.as_deref())?,
            vendor: self.vendor.as_ref().map(Vendor::new).transpose()?,
            tokens,
            region: self.calling_region.clone(),
            stated_cost,
            status: self.status,
            at_ms: parse_rfc3339("timestamp", &self.timestamp)?,
        })
    }
}

impl Submission {
    /// The shard it is metered in, of `count`; the same on every instance and retry.
    #[must_use]
    pub fn shard(&self, count: u8) -> u8 {
        // A UUID has fixed bits; folding its halves leaves random bits at the end.
        let number = self.request_id.to_number();
        let mixed = (number ^ (number >> 64)) % u128::from(count.max(1));
        u8::try_from(mixed).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn submit(changes: serde_json::Value) -> Result<Submission> {
        let mut request = json!({
            "request_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
            "model_label": "premium",
            "bedrock_model_id": "anthropic.claude-sonnet-4-5-20250929-v1:0",
            "input_tokens": 1000,
            "output_tokens": 500,
            "status": "OK",
            "timestamp": "2026-01-23T14:00:00Z",
        });
        if let (Some(all), serde_json::Value::Object(more)) = (request.as_object_mut(), changes) {
            all.extend(more);
        }
        serde_json::from_value::<SubmissionRequest>(request).unwrap().check()
    }

    #[test]
    fn a_valid_submission_is_parsed() {
        let plain = submit(json!({})).unwrap();
        assert_eq!((plain.at_ms, plain.status), (1_769_176_800_000, CallStatus::Ok));
        let tokens = TokenUse { input: 1000, output: 500, ..TokenUse::default() };
        assert_eq!((plain.tokens, plain.stated_cost, plain.region), (tokens, None, None));
        let more =
            json!({"cached_read_tokens": 3, "cost_usd_micros": 9, "calling_region": "eu-west-1"});
        let full = submit(more).unwrap();
        assert_eq!((full.tokens.cached_read, full.stated_cost), (3, Some(MicroUsd(9))));
    }

    #[test]
    fn invalid_submissions_are_refused_by_field() {
        for (changes, expected) in [
            (json!({"request_id": "1"}), "request_id: \"1\" is not a UUID"),
            (json!({"bedrock_model_id": ""}), "bedrock_model_id: "),
            (json!({"bedrock_model_id": null}), "model_id: is required"),
            (json!({"model_id": "gpt-5"}), "model_id: is another name of bedrock_model_id"),
            (json!({"bedrock_model_id": null, "model_id": ""}), "model_id: "),
            (json!({"vendor": "Open AI"}), "vendor: \"Open AI\" is not a vendor"),
            (json!({"input_tokens": 1_000_000_000_001_u64}), "input_tokens: must be at most"),
            (
                json!({"cost_usd_micros": 1_000_000_000_001_u64}),
                "cost_usd_micros: is 1000000000001; one submission costs at most 1000000000000",
            ),
            (json!({"calling_region": "EU"}), "calling_region: \"EU\" is not a region"),
            (
                json!({"timestamp": "2026-01-23"}),
                "timestamp: \"2026-01-23\" is not an RFC 3339 time",
            ),
        ] {
            let error = submit(changes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error} is not {expected}");
        }
    }

    #[test]
    fn submissions_spread_over_all_shards() {
        for count in [8u8, 16, 32, 64] {
            let mut hits = vec![0u32; usize::from(count)];
            for _ in 0..u32::from(count) * 100 {
                let id = uuid::Uuid::new_v4().to_string();
                let submission = submit(json!({"request_id": id})).unwrap();
                assert_eq!(submission.shard(count), submission.shard(count));
                hits[usize::from(submission.shard(count))] += 1;
            }
            assert!(hits.iter().all(|hit| (30..300).contains(hit)), "{hits:?}");
        }
    }
}
