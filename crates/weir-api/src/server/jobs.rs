//! Background jobs: `/v1/jobs`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// What drives it.
    pub kind: JobKind,
    /// How long after the end of a run the next one begins.
    pub every_secs: u64,
    /// What it does right now.
    pub state: JobState,
    /// When it last began.
    #[schema(format = DateTime)]
    pub last_started_at: Option<String>,
    /// When it last ended.
    #[schema(format = DateTime)]
    pub last_finished_at: Option<String>,
    /// How long it then took.
    pub last_duration_ms: Option<u64>,
    /// How it ended.
    pub last_outcome: Option<JobOutcome>,
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

/// What drives a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Time.
    Periodic,
    /// The changes of a table.
    Feed,
}

/// What a job does right now on this instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It waits until it is due.
    Idle,
    /// It runs.
    Running,
    /// It is due, and another instance runs it.
    WaitingForLease,
    /// The last run failed; the next one comes after a while.
    Failed,
    /// The driver is stopping, or has stopped.
    Stopping,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    /// It did what it was to do.
    Ok,
    /// It did not; the error says why.
    Failed,
}
