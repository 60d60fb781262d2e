//! Jobs of workers: script generation and problem extraction.
//!
//! An administrator submits, retries and cancels jobs. A worker claims one and reports on it with the fencing number of its
//! claim; a worker that no longer holds the job gets a 409 with the code `LEASE_LOST`.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use utoipa_axum::routes;
use weir_api::practice::{
    ClaimRequest, ClaimedJob, CompleteJobRequest, FailJobRequest, HeartbeatRequest, JobLease,
    JobParam, JobTypeParam, JobsParams, NewPracticeJob, NewProgressStep, PracticeJob, ProgressStep,
};
use weir_framework::actor::Actor;
use weir_framework::api::Api;
use weir_framework::app::App;
use weir_framework::extract::{Body, QueryParts};
use weir_framework::limits::RateLimitHeader;
use weir_framework::page::{Page, PageParams, page_response};
use weir_framework::prelude::Created;
use weir_framework::{ApiError, Code};
use weir_practice::bounds::{JSON_BODY_MAX, PROGRESS_STEPS_PER_SECOND_MAX};
use weir_practice::jobs::{JobRef, Reported};
use weir_practice::{Error, Result as DomainResult};

use super::convert;
use super::error::{PracticeError, Reply};
use super::metrics::{JobEvent, metrics};
use super::path::{JobPath, JobTypePath, practice};
use super::progress;
use super::scopes::{ADMINISTRATOR, ANY_WORKER};

/// When a worker that found no job may ask again, in seconds.
const IDLE_RETRY_SECS: &str = "1";

/// Declares the routes.
pub(super) fn routes(api: Api) -> Api {
    api.route_with_body(ADMINISTRATOR, routes!(submit), JSON_BODY_MAX)
        .route(ANY_WORKER, routes!(list))
        .route(ANY_WORKER, routes!(get))
        .route(ANY_WORKER, routes!(claim))
        .route(ANY_WORKER, routes!(claim_next))
        .route(ANY_WORKER, routes!(heartbeat))
        .route(ANY_WORKER, routes!(report))
        .route(ANY_WORKER, routes!(progress::follow))
        .route_with_body(ANY_WORKER, routes!(complete), JSON_BODY_MAX)
        .route(ANY_WORKER, routes!(fail))
        .route(ADMINISTRATOR, routes!(retry))
        .route(ADMINISTRATOR, routes!(cancel))
}

/// Submits a job
///
/// The same job with the same `job_id` or `idempotency_key` again changes nothing and returns 200.
#[utoipa::path(post, path = "/v1/practice/jobs/{type}", tag = "practice-jobs", params(JobTypeParam),
    request_body = NewPracticeJob, responses(
        (status = 200, description = "The job was submitted before", body = PracticeJob),
        (status = 201, description = "The job is submitted", body = PracticeJob)))]
pub(crate) async fn submit(
    State(app): State<App>,
    JobTypePath(job_type): JobTypePath,
    Body(request): Body<NewPracticeJob>,
) -> Result<Response, PracticeError> {
    let submitted = practice(&app)?.submit_job(job_type, &convert::new_job(request)?).await?;
    let job = convert::job(submitted.job);
    if submitted.is_new {
        metrics(&app)?.job(job_type, JobEvent::Submitted);
    }
    Ok(match submitted.is_new {
        true => Created(job).into_response(),
        false => Json(job).into_response(),
    })
}

/// Lists jobs of a type, newest first
///
/// Stalled jobs are listed by the end of their lease instead. A page has at most 50 jobs, and may be short while there are
/// more.
#[utoipa::path(get, path = "/v1/practice/jobs/{type}", tag = "practice-jobs",
    params(JobTypeParam, JobsParams, PageParams),
    responses((status = 200, body = Page<PracticeJob>)))]
pub(crate) async fn list(
    State(app): State<App>,
    JobTypePath(job_type): JobTypePath,
    QueryParts((page, by)): QueryParts<(PageParams, JobsParams)>,
) -> Reply<Page<PracticeJob>> {
    let (practice, page) = (practice(&app)?, convert::page_request(page)?);
    let found = match (by.stalled, by.status) {
        (false, status) => {
            practice.jobs(job_type, status.map(convert::to_job_status), &page).await?
        }
        (true, None) => practice.stalled_jobs(job_type, &page).await?,
        (true, Some(_)) => {
            let problem = "cannot be sent with stalled: all stalled jobs are PROCESSING";
            return Err(ApiError::invalid("status", problem).into());
        }
    };
    Ok(page_response(found, convert::job_summary))
}

/// Returns a job
#[utoipa::path(get, path = "/v1/practice/jobs/{type}/{id}", tag = "practice-jobs", params(JobParam),
    responses((status = 200, body = PracticeJob)))]
pub(crate) async fn get(State(app): State<App>, JobPath(job): JobPath) -> Reply<PracticeJob> {
    Ok(Json(convert::job(practice(&app)?.job(&job).await?)))
}

/// Claims a job that is pending, or whose worker is gone
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/{id}/claim", tag = "practice-jobs",
    params(JobParam), request_body = ClaimRequest, responses((status = 200, body = ClaimedJob)))]
pub(crate) async fn claim(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(request): Body<ClaimRequest>,
) -> Reply<ClaimedJob> {
    let claimed = practice(&app)?.claim_job(&job, &convert::claim(&request)?).await;
    Ok(Json(convert::claimed(counted(&app, &job, JobEvent::Claimed, claimed)?)))
}

/// Claims the next job of a type
///
/// The next job is one whose worker is gone, or the oldest pending one. Without one the response is 204, and the worker asks
/// again after the time in `Retry-After`.
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/claim-next", tag = "practice-jobs",
    params(JobTypeParam), request_body = ClaimRequest, responses(
        (status = 200, description = "The worker holds the job", body = ClaimedJob),
        (status = 204, description = "There is no job to claim",
            headers(("Retry-After" = u64, description = "Seconds until the worker asks again")))))]
pub(crate) async fn claim_next(
    State(app): State<App>,
    JobTypePath(job_type): JobTypePath,
    Body(request): Body<ClaimRequest>,
) -> Result<Response, PracticeError> {
    let claim = convert::claim(&request)?;
    Ok(match practice(&app)?.claim_next_job(job_type, &claim).await? {
        Some(claimed) => {
            metrics(&app)?.job(job_type, JobEvent::Claimed);
            Json(convert::claimed(claimed)).into_response()
        }
        None => {
            let later = [(header::RETRY_AFTER, IDLE_RETRY_SECS)];
            (StatusCode::NO_CONTENT, later).into_response()
        }
    })
}

/// Extends the lease of the worker that holds a job
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/{id}/heartbeat", tag = "practice-jobs",
    params(JobParam), request_body = HeartbeatRequest, responses((status = 200, body = JobLease)))]
pub(crate) async fn heartbeat(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(request): Body<HeartbeatRequest>,
) -> Reply<JobLease> {
    let practice = practice(&app)?;
    let lease = practice.heartbeat_job(&job, request.fence, request.lease_ms).await;
    Ok(Json(convert::lease(held(&app, &job, lease)?)))
}

/// Reports a progress step of a job, which also extends the lease
///
/// A job has at most 100 steps in a second; more are refused with 429.
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/{id}/progress", tag = "practice-jobs",
    params(JobParam), request_body = NewProgressStep,
    responses((status = 201, body = ProgressStep)))]
pub(crate) async fn report(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(request): Body<NewProgressStep>,
) -> Result<Created<ProgressStep>, PracticeError> {
    let fence = request.fence;
    let step = convert::new_step(request);
    let reported = practice(&app)?.report_progress(&job, fence, &step).await;
    match held(&app, &job, reported)? {
        Reported::Recorded(step) => Ok(Created(convert::progress_step(step))),
        Reported::RateLimited { retry_after_ms } => Err(too_fast(retry_after_ms).into()),
    }
}

fn too_fast(retry_after_ms: i64) -> ApiError {
    let quota = u64::from(PROGRESS_STEPS_PER_SECOND_MAX);
    let detail = format!("the job has {quota} progress steps in this second");
    let limit = RateLimitHeader {
        name: "practice-progress-steps".into(),
        quota,
        window_secs: 1,
        remaining: 0,
        reset_secs: u64::try_from(retry_after_ms).unwrap_or_default().div_ceil(1000),
    };
    limit.refuse(ApiError::new(Code::RATE_LIMIT_EXCEEDED, detail))
}

/// Completes the job that a worker holds
///
/// The same request of the same worker again changes nothing.
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/{id}/complete", tag = "practice-jobs",
    params(JobParam), request_body = CompleteJobRequest,
    responses((status = 200, body = PracticeJob)))]
pub(crate) async fn complete(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(request): Body<CompleteJobRequest>,
) -> Reply<PracticeJob> {
    let fence = request.fence;
    let completion = convert::completion(request)?;
    let completed = practice(&app)?.complete_job(&job, fence, &completion).await;
    Ok(Json(convert::job(counted(&app, &job, JobEvent::Completed, completed)?)))
}

/// Ends the job that a worker holds with an error
///
/// The same request of the same worker again changes nothing.
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/{id}/fail", tag = "practice-jobs",
    params(JobParam), request_body = FailJobRequest, responses((status = 200, body = PracticeJob)))]
pub(crate) async fn fail(
    State(app): State<App>,
    JobPath(job): JobPath,
    Body(request): Body<FailJobRequest>,
) -> Reply<PracticeJob> {
    let failed = practice(&app)?.fail_job(&job, request.fence, &request.error_message).await;
    Ok(Json(convert::job(counted(&app, &job, JobEvent::Failed, failed)?)))
}

/// Puts a failed job back into the queue
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/{id}/retry", tag = "practice-jobs",
    params(JobParam), responses((status = 200, body = PracticeJob)))]
pub(crate) async fn retry(
    State(app): State<App>,
    actor: Actor,
    JobPath(job): JobPath,
) -> Reply<PracticeJob> {
    let retried = practice(&app)?.retry_job(&job, actor.name()).await;
    Ok(Json(convert::job(counted(&app, &job, JobEvent::Retried, retried)?)))
}

/// Cancels a job that has not ended
///
/// The worker of the job is refused from now on. The same request again changes nothing.
#[utoipa::path(post, path = "/v1/practice/jobs/{type}/{id}/cancel", tag = "practice-jobs",
    params(JobParam), responses((status = 200, body = PracticeJob)))]
pub(crate) async fn cancel(
    State(app): State<App>,
    actor: Actor,
    JobPath(job): JobPath,
) -> Reply<PracticeJob> {
    let cancelled = practice(&app)?.cancel_job(&job, actor.name()).await;
    Ok(Json(convert::job(counted(&app, &job, JobEvent::Cancelled, cancelled)?)))
}

/// The result of a request about a job, counted by its outcome.
fn counted<T>(
    app: &App,
    job: &JobRef,
    outcome: JobEvent,
    done: DomainResult<T>,
) -> Result<T, PracticeError> {
    if done.is_ok() {
        metrics(app)?.job(job.job_type, outcome);
    }
    held(app, job, done)
}

/// The result of a request of a worker; a worker that no longer holds the job is counted.
fn held<T>(app: &App, job: &JobRef, done: DomainResult<T>) -> Result<T, PracticeError> {
    if let Err(Error::LeaseLost { .. }) = &done {
        metrics(app)?.job(job.job_type, JobEvent::LeaseLost);
    }
    Ok(done?)
}
