//! What apps used, told after the fact: one by one, or up to a hundred at once.
//!
//! `/costs` and `/usage` are two names of one thing, which clients of the original service use.

use crate::keeper::error::{KeeperError, api_error};
use crate::keeper::metrics::metrics;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use weir_keeper::bounds::BATCH_MAX;
use weir_keeper::submit::{Accepted as Counted, BatchAnswer, BatchResult, Submission, Submit};

use super::place::{OrgApp, keeper};
use super::rates::allowances;
use super::selection::unwritable;
use super::shapes::{AppAt, ModelText, OrgAt, RegionText, UuidText, WordText};
use weir_framework::app::App;
use weir_framework::edge::express::{Asked, Sent};
use weir_framework::error::ApiError;
use weir_framework::extract::Body;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Characters of a wrong id that are told.
const ID_SHOWN_MAX: usize = 64;

/// One submission, counted.
async fn one(
    app: &App,
    OrgApp(org, id): OrgApp,
    Body(sent): Body<Submit>,
) -> Result<Response, KeeperError> {
    let counted: Result<Counted, KeeperError> = async {
        allowances(app)?.submissions(app, &org, 1).await?;
        Ok(keeper(app)?.submit(&org, &id, &sent.check()?).await?)
    }
    .await;
    metrics(app)?.submitted(counted.as_ref().map(|counted| counted.duplicate));
    answer(StatusCode::ACCEPTED, &counted?)
}

/// The same on the short way.
pub(super) async fn express(app: App, asked: Asked, sent: Sent) -> Result<Response, KeeperError> {
    let of = OrgApp::of(&asked)?;
    let sent = sent.object(&asked).await?;
    one(&app, of, Body(sent)).await
}

/// A batch, each counted by itself.
async fn many(
    app: &App,
    OrgApp(org, id): OrgApp,
    Body(batch): Body<Batch>,
) -> Result<Response, KeeperError> {
    let count = batch.requests.len();
    if !(1..=BATCH_MAX).contains(&count) {
        let problem = format!("are {count}; a batch has 1 to {BATCH_MAX}");
        return Err(ApiError::invalid("requests", problem).into());
    }
    allowances(app)?.submissions(app, &org, count).await?;
    let read: Vec<Read> = batch.requests.into_iter().map(One::read).collect();
    let good: Vec<Submission> = read.iter().filter_map(|one| one.clone().ok()).collect();
    let mut counted = keeper(app)?.submit_batch(&org, &id, &good).await?.into_iter();
    let results = read.into_iter().map(|one| match one {
        Err(failed) => failed,
        Ok(submission) => result(&submission, counted.next()),
    });
    let results: Vec<BatchResult> = results.collect();
    let is_good = |result: &&BatchResult| matches!(result, BatchResult::Accepted(_));
    let accepted = results.iter().filter(is_good).count();
    for result in &results {
        metrics(app)?.submitted(match result {
            BatchResult::Accepted(counted) => Ok(counted.duplicate),
            BatchResult::Failed { .. } => Err(&()),
        });
    }
    let failed = results.len() - accepted;
    answer(StatusCode::MULTI_STATUS, &BatchAnswer { accepted, failed, results })
}

fn answer(status: StatusCode, answer: &impl Serialize) -> Result<Response, KeeperError> {
    let body = serde_json::to_vec(answer).map_err(unwritable)?;
    Ok((status, [(header::CONTENT_TYPE, JSON)], body).into_response())
}

/// What became of one of a batch.
fn result(submission: &Submission, counted: Option<weir_keeper::Result<Counted>>) -> BatchResult {
    match counted {
        Some(Ok(counted)) => BatchResult::Accepted(counted),
        Some(Err(error)) => failed(submission.request_id.to_string(), api_error(error)),
        // There is an answer for each; without one nothing is known of it.
        None => {
            let lost = weir_keeper::Error::Contended;
            failed(submission.request_id.to_string(), api_error(lost))
        }
    }
}

fn failed(request_id: String, error: ApiError) -> BatchResult {
    BatchResult::Failed { request_id, error: error.code().name(), message: error.detail }
}

/// One of a batch, as far as it can be read: what is wrong with one is not the others' fault.
type Read = Result<Submission, BatchResult>;

/// Submissions at once.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    requests: Vec<One>,
}

/// One of a batch, not read yet.
#[derive(Debug)]
struct One(Box<RawValue>);

impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<One, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(One)
    }
}

impl One {
    fn read(self) -> Read {
        match serde_json::from_str::<Submit>(self.0.get()) {
            Ok(sent) => {
                sent.check().map_err(|error| failed(shown(&sent.request_id), api_error(error)))
            }
            Err(error) => {
                let wrong = ApiError::invalid("requests", error.to_string());
                Err(failed(self.id(), wrong))
            }
        }
    }

    /// The id of one that cannot be read, if it has any.
    fn id(&self) -> String {
        #[derive(Deserialize)]
        struct Named {
            request_id: String,
        }
        let named = serde_json::from_str::<Named>(self.0.get());
        named.map_or_else(|_| String::new(), |named| shown(&named.request_id))
    }
}

fn shown(id: &str) -> String {
    id.chars().take(ID_SHOWN_MAX).collect()
}

/// Submits what a call of a model used
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/costs", tag = "runtime",
    params(OrgAt, AppAt), request_body = NewSubmission, responses(
        (status = 202, description = "It is counted, now or before", body = Accepted),
        (status = 409, description = "Another submission had this id", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn costs(
    State(app): State<App>,
    of: OrgApp,
    sent: Body<Submit>,
) -> Result<Response, KeeperError> {
    one(&app, of, sent).await
}

/// Submits what a call of a model used, as `/costs` does
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/usage", tag = "runtime",
    params(OrgAt, AppAt), request_body = NewSubmission, responses(
        (status = 202, description = "It is counted, now or before", body = Accepted),
        (status = 409, description = "Another submission had this id", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn usage(
    State(app): State<App>,
    of: OrgApp,
    sent: Body<Submit>,
) -> Result<Response, KeeperError> {
    one(&app, of, sent).await
}

/// Submits what up to a hundred calls used
///
/// Each is answered by itself, in the order of the request; one that fails does not fail the others.
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/costs/batch", tag = "runtime",
    params(OrgAt, AppAt), request_body = NewBatch, responses((status = 207, body = BatchAccepted)))]
pub(crate) async fn costs_batch(
    State(app): State<App>,
    of: OrgApp,
    sent: Body<Batch>,
) -> Result<Response, KeeperError> {
    many(&app, of, sent).await
}

/// Submits what up to a hundred calls used, as `/costs/batch` does
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/usage/batch", tag = "runtime",
    params(OrgAt, AppAt), request_body = NewBatch, responses((status = 207, body = BatchAccepted)))]
pub(crate) async fn usage_batch(
    State(app): State<App>,
    of: OrgApp,
    sent: Body<Batch>,
) -> Result<Response, KeeperError> {
    many(&app, of, sent).await
}

/// What a call of a model used.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubmission {
    /// A UUID that the client made; the same again is the same submission.
    #[schema(value_type = UuidText)]
    pub request_id: String,
    /// The label that was used.
    #[schema(value_type = WordText)]
    pub model_label: String,
    /// The model that was used.
    #[schema(value_type = ModelText)]
    pub bedrock_model_id: String,
    /// Tokens read, without those of a cache.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub input_tokens: u64,
    /// Tokens written.
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub output_tokens: u64,
    /// Tokens read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cached_read_tokens: Option<u64>,
    /// Tokens put into a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_u64)]
    pub cached_write_tokens: Option<u64>,
    /// The region it was called in; needed where the label is an inference profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<RegionText>)]
    pub calling_region: Option<String>,
    /// What it cost, where the client knows; it is believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000_000_000_000_000_u64)]
    pub cost_usd_micros: Option<u64>,
    /// What became of the call: `OK` or `ERROR`; an error counts what it used.
    #[schema(pattern = "^(OK|ERROR)$", example = "OK")]
    pub status: String,
    /// When: not in the future, nor older than a day before the org's current day.
    #[schema(format = DateTime)]
    pub timestamp: String,
}

/// Submissions at once.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewBatch {
    /// The submissions.
    #[schema(min_items = 1, max_items = 100)]
    pub requests: Vec<NewSubmission>,
}

/// A submission that was counted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// Its id.
    pub request_id: String,
    /// `ACCEPTED`.
    pub status: String,
    /// Whether it had been counted before; all else is then as it was told first.
    pub duplicate: bool,
    /// What was done.
    pub processing: Processing,
    /// How the model does, as far as is summed up.
    pub daily_total: DailyTotal,
}

/// What was done with a submission.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Processing {
    /// The shard it was counted in.
    pub shard_id: u8,
    /// When totals will show it, by our aim.
    pub expected_aggregation_lag_secs: u32,
    /// What it cost.
    pub cost_usd_micros: u64,
}

/// How a model does on a day.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DailyTotal {
    /// What was spent.
    pub cost_usd_micros: u64,
    /// What may be.
    pub quota_usd_micros: u64,
    /// The first as a part of the second.
    pub quota_pct: f64,
    /// How closely to watch: `NORMAL` or `TIGHT`.
    pub mode: String,
}

/// What became of a batch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BatchAccepted {
    /// How many were counted, now or before.
    pub accepted: u64,
    /// How many were not.
    pub failed: u64,
    /// Each, in the order of the request.
    pub results: Vec<BatchOne>,
}

/// What became of one of a batch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum BatchOne {
    /// It was counted.
    Accepted(Accepted),
    /// It was not.
    Failed(Failed),
}

/// A submission that was not counted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Failed {
    /// Its id, as it came.
    pub request_id: String,
    /// The code of the error.
    pub error: String,
    /// What is wrong.
    pub message: String,
}
