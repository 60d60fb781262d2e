//! Submissions: what an app used, told after the fact.
//!
//! 1. A submission is checked and planned: its day by its own timestamp and the zone that was in force then, its cost by the
//!    price of now, its shard by its id, so that the same submission told twice meets itself.
//! 2. One transaction puts the record of its id, unless there is one, and adds to the shard; where the quota is the org's,
//!    also to the app's own counter. So it is counted once through any retry and crash.
//! 3. Is the record there already, nothing is added. The same payload is a duplicate and gets the first answer; another
//!    payload contradicts it.
//!
//! Totals of the day lag behind, and so does the total in the answer.

mod answer;
mod batch;
mod count;
mod payload;
mod plan;
mod record;
mod single;

use serde::{Deserialize, Serialize};

pub use self::answer::{Accepted, BatchAnswer, BatchResult, DailyTotal, Processing};
pub(crate) use self::plan::kept_until_ms;
use crate::bounds::USD_MICROS_MAX;
use crate::day::parse_rfc3339;
use crate::error::{Error, Result};
use crate::ids::{AppId, ModelId, OrgId, RequestId, shown};
use crate::money::{MicroUsd, TokenUse};

/// What became of the call that is submitted. An error counts what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CallStatus {
    /// It went well.
    Ok,
    /// It did not.
    Error,
}

/// A submission as a client sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// A UUID that the client made; the same again is the same submission.
    pub request_id: String,
    /// The label that was used.
    pub model_label: String,
    /// The model that was used.
    pub bedrock_model_id: String,
    /// Tokens read, without those of a cache.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_read_tokens: Option<u64>,
    /// Tokens put into a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_write_tokens: Option<u64>,
    /// The region it was called in; needed where the label is an inference profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calling_region: Option<String>,
    /// What it cost, where the client knows; it is believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd_micros: Option<u64>,
    /// What became of it.
    pub status: CallStatus,
    /// When, as RFC 3339.
    pub timestamp: String,
}

/// A submission, checked. Its label is not: that takes the app's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// Its id.
    pub request_id: RequestId,
    /// The label, as it came.
    pub label: String,
    /// The model.
    pub model: ModelId,
    /// What was used.
    pub tokens: TokenUse,
    /// The region.
    pub region: Option<String>,
    /// What it cost, by the client.
    pub stated_cost: Option<MicroUsd>,
    /// What became of it.
    pub status: CallStatus,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// Whose submission it is.
type Owner<'a> = (&'a OrgId, &'a AppId);

/// Characters of a region's name at most.
const REGION_MAX: usize = 32;

impl Submit {
    /// Checks all that can be without knowing the app.
    ///
    /// # Errors
    /// Names what is wrong.
    pub fn check(&self) -> Result<Submission> {
        let tokens = TokenUse {
            input: self.input_tokens,
            output: self.output_tokens,
            cached_read: self.cached_read_tokens.unwrap_or_default(),
            cached_write: self.cached_write_tokens.unwrap_or_default(),
        };
        tokens.check()?;
        if self.cost_usd_micros.is_some_and(|cost| cost > USD_MICROS_MAX) {
            return Err(Error::invalid("cost_usd_micros", format!("is above {USD_MICROS_MAX}")));
        }
        let is_region = |text: &&String| {
            let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            (1..=REGION_MAX).contains(&text.len()) && text.bytes().all(good)
        };
        if let Some(region) = self.calling_region.as_ref().filter(|text| !is_region(text)) {
            let problem = format!("{} is no region like us-east-1", shown(region));
            return Err(Error::invalid("calling_region", problem));
        }
        Ok(Submission {
            request_id: RequestId::new(&self.request_id)?,
            label: self.model_label.clone(),
            model: ModelId::new(&self.bedrock_model_id)?,
            tokens,
            region: self.calling_region.clone(),
            stated_cost: self.cost_usd_micros.map(MicroUsd),
            status: self.status,
            at_ms: parse_rfc3339("timestamp", &self.timestamp)?,
        })
    }
}

impl Submission {
    /// The shard it is counted in, of so many. Each time the same, on every instance.
    #[must_use]
    pub fn shard(&self, count: u8) -> u8 {
        // A UUID has fixed bits; its halves together have random ones at the end.
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
        serde_json::from_value::<Submit>(request).unwrap().check()
    }

    #[test]
    fn a_submission_is_read_as_it_was_meant() {
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
    fn wrong_submissions_are_refused_by_name() {
        for (changes, expected) in [
            (json!({"request_id": "1"}), "request_id: \"1\" is not a UUID"),
            (json!({"bedrock_model_id": ""}), "bedrock_model_id: "),
            (json!({"input_tokens": 1_000_000_000_001_u64}), "input_tokens: is above"),
            (json!({"cost_usd_micros": 1_000_000_000_000_001_u64}), "cost_usd_micros: is above"),
            (json!({"calling_region": "EU"}), "calling_region: \"EU\" is no region"),
            (json!({"timestamp": "2026-01-23"}), "timestamp: \"2026-01-23\" is no time"),
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
