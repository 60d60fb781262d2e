//! Routes that record the usage of calls: one submission, or up to 100 at once.
//!
//! `/usage` is an alias of `/costs`, for clients of the original service.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use weir_api::keeper::{
    AppParam, OrgParam, SubmissionBatch, SubmissionBatchResponse, SubmissionFailure,
    SubmissionRequest, SubmissionResponse, SubmissionResult,
};
use weir_keeper::bounds::BATCH_MAX;
use weir_keeper::submit::{Accepted, Submission};

use super::convert;
use super::error::{KeeperError, api_error};
use super::metrics::metrics;
use super::path::{AppPath, keeper};
use super::rates::allowances;
use super::selection::unserializable;
use weir_framework::app::App;
use weir_framework::error::ApiError;
use weir_framework::extract::FastBody;
use weir_framework::time::rfc3339;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Characters of a malformed id that a failure repeats.
const ID_SHOWN_MAX: usize = 64;

async fn one(
    app: &App,
    AppPath(org, id): AppPath,
    FastBody(request): FastBody<SubmissionRequest>,
) -> Result<Response, KeeperError> {
    let recorded: Result<Accepted, KeeperError> = async {
        allowances(app)?.submissions(app, &org, 1).await?;
        Ok(keeper(app)?.submit(&org, &id, &convert::submission(request)?).await?)
    }
    .await;
    metrics(app)?.submitted(recorded.as_ref().map(|accepted| accepted.duplicate));
    let timestamp = rfc3339(app.now_ms());
    json(StatusCode::ACCEPTED, &convert::submission_response(&recorded?, &timestamp))
}

async fn many(
    app: &App,
    AppPath(org, id): AppPath,
    FastBody(batch): FastBody<SubmissionBatch>,
) -> Result<Response, KeeperError> {
    let count = batch.requests.len();
    if !(1..=BATCH_MAX).contains(&count) {
        let problem = format!("are {count}; a batch has 1 to {BATCH_MAX}");
        return Err(ApiError::invalid("requests", problem).into());
    }
    allowances(app)?.submissions(app, &org, count).await?;
    let parsed: Vec<Parsed> = batch.requests.iter().map(|request| parse(request)).collect();
    let valid: Vec<Submission> = parsed.iter().filter_map(|one| one.clone().ok()).collect();
    let recorded = keeper(app)?.submit_batch(&org, &id, &valid).await?.into_iter().zip(&valid);
    let recorded: Vec<Result<Accepted, SubmissionFailure<'_>>> = recorded
        .map(|(one, sent)| one.map_err(|error| failure(sent.request_id.as_str(), api_error(error))))
        .collect();
    let mut recorded = recorded.iter();
    let timestamp = rfc3339(app.now_ms());
    let results = parsed.iter().map(|one| match one {
        Err(failure) => SubmissionResult::Failed(failure.clone()),
        Ok(sent) => result(sent, recorded.next(), &timestamp),
    });
    let results: Vec<SubmissionResult<'_>> = results.collect();
    let metrics = metrics(app)?;
    for result in &results {
        metrics.submitted(match result {
            SubmissionResult::Accepted(accepted) => Ok(accepted.duplicate),
            SubmissionResult::Failed(_) => Err(()),
        });
    }
    let is_accepted =
        |result: &&SubmissionResult<'_>| matches!(result, SubmissionResult::Accepted(_));
    let accepted = results.iter().filter(is_accepted).count() as u64;
    let failed = results.len() as u64 - accepted;
    let timestamp = timestamp.clone();
    let response = SubmissionBatchResponse { accepted, failed, results, timestamp };
    json(StatusCode::MULTI_STATUS, &response)
}

fn json(status: StatusCode, body: &impl Serialize) -> Result<Response, KeeperError> {
    let body = serde_json::to_vec(body).map_err(unserializable)?;
    Ok((status, [(header::CONTENT_TYPE, JSON)], body).into_response())
}

fn result<'a>(
    sent: &'a Submission,
    recorded: Option<&'a Result<Accepted, SubmissionFailure<'a>>>,
    timestamp: &'a str,
) -> SubmissionResult<'a> {
    match recorded {
        Some(Ok(accepted)) => {
            SubmissionResult::Accepted(convert::submission_response(accepted, timestamp))
        }
        Some(Err(failure)) => SubmissionResult::Failed(failure.clone()),
        // The keeper returns one result for each submission; a missing one leaves the outcome unknown.
        None => {
            let error = api_error(weir_keeper::Error::Contended);
            SubmissionResult::Failed(failure(sent.request_id.as_str(), error))
        }
    }
}

fn failure<'a>(request_id: impl Into<Cow<'a, str>>, error: ApiError) -> SubmissionFailure<'a> {
    SubmissionFailure {
        request_id: request_id.into(),
        status: "FAILED".into(),
        error: error.code().name().into(),
        message: error.detail.into(),
    }
}

/// A submission of a batch, or why it cannot be recorded.
type Parsed = Result<Submission, SubmissionFailure<'static>>;

fn parse(request: &RawValue) -> Parsed {
    /// The id of a submission that is malformed elsewhere.
    #[derive(Deserialize)]
    struct Named {
        request_id: String,
    }
    let id = || {
        let named = serde_json::from_str::<Named>(request.get());
        named.map_or_else(|_| String::new(), |named| shortened(&named.request_id))
    };
    match serde_json::from_str::<SubmissionRequest>(request.get()) {
        Ok(sent) => convert::submission(sent).map_err(|error| failure(id(), api_error(error))),
        Err(error) => Err(failure(id(), ApiError::invalid("requests", error.to_string()))),
    }
}

fn shortened(id: &str) -> String {
    id.chars().take(ID_SHOWN_MAX).collect()
}

/// Records the usage of a call
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/costs", tag = "runtime",
    params(OrgParam, AppParam), request_body = SubmissionRequest, responses(
        (status = 202, description = "The submission is recorded, now or by an earlier request.", body = SubmissionResponse),
        (status = 409, description = "A submission with the same id and other content was recorded before.", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn costs(
    State(app): State<App>,
    path: AppPath,
    request: FastBody<SubmissionRequest>,
) -> Result<Response, KeeperError> {
    one(&app, path, request).await
}

/// Records the usage of a call; an alias of `/costs`
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/usage", tag = "runtime",
    params(OrgParam, AppParam), request_body = SubmissionRequest, responses(
        (status = 202, description = "The submission is recorded, now or by an earlier request.", body = SubmissionResponse),
        (status = 409, description = "A submission with the same id and other content was recorded before.", body = weir_framework::problem::Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn usage(
    State(app): State<App>,
    path: AppPath,
    request: FastBody<SubmissionRequest>,
) -> Result<Response, KeeperError> {
    one(&app, path, request).await
}

/// Records the usage of up to 100 calls
///
/// Each submission has its own result, in the order of the request; one that fails does not fail the others.
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/costs/batch", tag = "runtime",
    params(OrgParam, AppParam), request_body = SubmissionBatch, responses((status = 207, body = SubmissionBatchResponse)))]
pub(crate) async fn costs_batch(
    State(app): State<App>,
    path: AppPath,
    request: FastBody<SubmissionBatch>,
) -> Result<Response, KeeperError> {
    many(&app, path, request).await
}

/// Records the usage of up to 100 calls; an alias of `/costs/batch`
#[utoipa::path(post, path = "/api/v1/orgs/{org}/apps/{app}/usage/batch", tag = "runtime",
    params(OrgParam, AppParam), request_body = SubmissionBatch, responses((status = 207, body = SubmissionBatchResponse)))]
pub(crate) async fn usage_batch(
    State(app): State<App>,
    path: AppPath,
    request: FastBody<SubmissionBatch>,
) -> Result<Response, KeeperError> {
    many(&app, path, request).await
}
