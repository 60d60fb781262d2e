//! Background jobs: how they are, and running one now.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::extract::Path;
use crate::jobs::{self, Kind, Outcome, RunResult, State as Doing};
use crate::page::Page;
use crate::time::rfc3339;
use crate::{ApiError, Code};

/// How a job is.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// What drives it.
    pub kind: Kind,
    /// How long after the end of a run the next one begins.
    pub every_secs: u64,
    /// What it does right now.
    pub state: Doing,
    /// When it last began.
    #[schema(format = DateTime)]
    pub last_started_at: Option<String>,
    /// When it last ended.
    #[schema(format = DateTime)]
    pub last_finished_at: Option<String>,
    /// How long it then took.
    pub last_duration_ms: Option<u64>,
    /// How it ended.
    pub last_outcome: Option<Outcome>,
    /// How many things it worked on.
    pub last_items: Option<u64>,
    /// Why it failed.
    pub last_error: Option<String>,
    /// Further details of the last run.
    pub last_detail: Option<String>,
    /// How often it ran, on all instances.
    pub runs: u64,
    /// How often it failed.
    pub failures: u64,
    /// How far it is behind.
    pub lag_ms: u64,
    /// The instance that has it.
    pub leased_by: Option<String>,
}

/// What a run came to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// The job.
    pub name: String,
    /// `done`, or `elsewhere` when another instance has the job's lease.
    pub outcome: String,
    /// How many things it worked on.
    pub items: u64,
    /// Further details of the last run.
    pub detail: Option<String>,
}

/// Tells how every job is
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs", responses((status = 200, body = Page<Job>)))]
pub(crate) async fn list(State(app): State<App>) -> Json<Page<Job>> {
    let statuses = app.jobs().map(jobs::Running::statuses).unwrap_or_default();
    let items = statuses.into_iter().map(Job::from).collect();
    Json(Page { items, next_cursor: None })
}

/// Runs a job now and tells what came of it
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

impl From<jobs::Status> for Job {
    fn from(status: jobs::Status) -> Job {
        Job {
            name: status.name,
            kind: status.kind,
            every_secs: status.every_secs,
            state: status.state,
            last_started_at: status.last_started_at.map(rfc3339),
            last_finished_at: status.last_finished_at.map(rfc3339),
            last_duration_ms: status.last_duration_ms,
            last_outcome: status.last_outcome,
            last_items: status.last_items,
            last_error: status.last_error,
            last_detail: status.last_detail,
            runs: status.runs,
            failures: status.failures,
            lag_ms: status.lag_ms,
            leased_by: status.leased_by,
        }
    }
}
