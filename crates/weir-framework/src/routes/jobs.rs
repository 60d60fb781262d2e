//! Background jobs: how they are, and running one now.

use axum::Json;
use axum::extract::State;
use weir_api::server::{Job, Run};

use crate::app::App;
use crate::extract::Path;
use crate::jobs::{self, RunResult};
use crate::page::Page;
use crate::{ApiError, Code};

/// Lists background jobs and their state
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", responses((status = 200, body = Page<Job>)))]
pub(crate) async fn list(State(app): State<App>) -> Json<Page<Job>> {
    let items = app.jobs().map(jobs::Running::statuses).unwrap_or_default();
    Json(Page { items, next_cursor: None })
}

/// Runs a job now and returns the result
#[utoipa::path(post, path = "/v1/jobs/{name}/run", tag = "jobs",
    params(("name" = String, Path, description = "The job's name", min_length = 1, max_length = 64, pattern = "^[a-z0-9_-]+$")),
    responses((status = 200, body = Run)))]
pub(crate) async fn run(
    State(app): State<App>,
    Path(name): Path<String>,
) -> Result<Json<Run>, ApiError> {
    let jobs = app
        .jobs()
        .ok_or_else(|| ApiError::new(Code::SERVICE_UNAVAILABLE, "this instance runs no jobs"))?;
    if !jobs.statuses().iter().any(|status| status.name == name) {
        return Err(ApiError::not_found(format!("job {name:?}")));
    }
    let (outcome, done) = match jobs.run_now(&name).await? {
        RunResult::Done(done) => ("done", done),
        RunResult::Elsewhere(_) => ("elsewhere", jobs::Done::default()),
        RunResult::Stopping => {
            return Err(ApiError::new(Code::SERVICE_UNAVAILABLE, "the server is stopping"));
        }
        RunResult::Failed(failure) => {
            let error =
                ApiError::new(Code::INTERNAL_ERROR, "the job failed; GET /v1/jobs says how");
            return Err(error.because(failure.text()));
        }
    };
    Ok(Json(Run { name, outcome: outcome.to_owned(), items: done.items, detail: done.detail }))
}
