//! Background jobs: `/v1/jobs`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of a background job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Name of the job.
    pub name: String,
    /// Trigger of the job.
    pub kind: JobKind,
    /// Pause between the end of a run and the next one.
    pub every_secs: u64,
    /// Present state on this instance.
    pub state: JobState,
    /// Start of the last run.
    #[schema(format = DateTime)]
    pub last_started_at: Option<String>,
    /// End of the last run.
    #[schema(format = DateTime)]
    pub last_finished_at: Option<String>,
    /// Duration of the last run.
    pub last_duration_ms: Option<u64>,
    /// Outcome of the last run.
    pub last_outcome: Option<JobOutcome>,
    /// Items that the last run processed.
    pub last_items: Option<u64>,
    /// Error of the last run, if it failed.
    pub last_error: Option<String>,
    /// Further details of the last run.
    pub last_detail: Option<String>,
    /// Number of runs on all instances.
    pub runs: u64,
    /// Number of failed runs on all instances.
    pub failures: u64,
    /// Delay behind the changes that the job follows.
    pub lag_ms: u64,
    /// Whether the job is late: the delay exceeds a minute and three of the job's pauses, and no other instance runs the job.
    pub late: bool,
    /// Instance that holds the job's lease.
    pub leased_by: Option<String>,
}

/// The result of a run.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Run {
    /// Name of the job.
    pub name: String,
    /// `done`, or `elsewhere` when another instance has the job's lease.
    pub outcome: String,
    /// Items that the last run processed.
    pub items: u64,
    /// Further details of the last run.
    pub detail: Option<String>,
}

/// The trigger of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// A schedule.
    Periodic,
    /// The changes of a table.
    Feed,
}

/// The present state of a job on this instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// The next run is not due yet.
    Idle,
    /// A run is in progress.
    Running,
    /// The job is due, and another instance runs it.
    WaitingForLease,
    /// The last run failed; the job waits before it tries again.
    Failed,
    /// The server is stopping.
    Stopping,
}

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    /// The run succeeded.
    Ok,
    /// The run failed; the error says why.
    Failed,
}
