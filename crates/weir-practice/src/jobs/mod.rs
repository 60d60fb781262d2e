//! Jobs of workers: script generation and problem extraction.
//!
//! 1. A client submits a job. It is `PENDING`.
//! 2. A worker claims it, by id or the oldest one, and gets a lease with a fencing number. The job is `PROCESSING`.
//! 3. The worker extends the lease with heartbeats and progress steps, and ends the job: `COMPLETED` or `FAILED`.
//! 4. An administrator puts a failed job back into the queue, or cancels a job that has not ended.
//!
//! A job has three items: `META` with its fields and its status, `IDX#STATUS` in the list of its status, and `IDX#LEASE`
//! with its lease. The lease has an item of its own because heartbeats and progress steps are frequent and `META` is large.
//! A lease is held exactly while the status is `PROCESSING`: every change of the status writes all three in one transaction.
//!
//! A job whose workers die is claimed again, but only so often ([`job_attempts_max`](crate::Settings::job_attempts_max)): then
//! it fails.
//!
//! Every claim raises the fencing number, and every write of a worker is on condition of it, so the writes of a worker that
//! lost its lease are refused. The module `observe` says when a lease is over; ADR 0036 says why no two clocks are compared.

mod administer;
mod check;
mod claim;
mod items;
mod lease;
pub(crate) mod observe;
mod progress;
mod read;
mod submit;
mod transition;
mod work;

use crate::ids::{IdempotencyKey, JobId, Platform, ProblemId, ProblemRef, Tag, TaskId, WorkerId};
use crate::kinds::{JobStatus, JobType};

pub use self::progress::{NewStep, ProgressEvents, ProgressStep, Reported};
pub use self::transition::{Decision, Transition, decide};

/// Names a job: its type, and its id within the type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobRef {
    /// The type.
    pub job_type: JobType,
    /// The id of the job within its type.
    pub id: JobId,
}

impl std::fmt::Display for JobRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.job_type, self.id)
    }
}

/// A job to submit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewJob {
    /// Id that the client chose. The same job submitted again under it is one job.
    pub id: Option<JobId>,
    /// Key of the request, instead of an id: the same job submitted again with it is one job.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Fields of the job.
    pub fields: JobFields,
    /// Code that solves the problem; only of script generation.
    pub solution_code: Option<String>,
    /// Constraints of the problem's input; only of script generation.
    pub constraints: Option<String>,
}

/// Fields of a job that lists have too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFields {
    /// Platform of the problem; script generation requires it.
    pub platform: Option<Platform>,
    /// Id of the problem on its platform; script generation requires it.
    pub problem_id: Option<ProblemId>,
    /// Title of the problem; only of script generation, which requires it.
    pub title: Option<String>,
    /// Address of the problem's page; problem extraction requires it.
    pub problem_url: Option<String>,
    /// What identifies the problem on its page; only of problem extraction.
    pub problem_identifier: Option<String>,
    /// Tags of the problem; only of script generation.
    pub tags: Vec<Tag>,
    /// Programming language of the solution; only of script generation.
    pub language: Option<String>,
    /// Task of the task queue that does the job.
    pub task_id: Option<TaskId>,
}

/// A job that was submitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The job as it is now.
    pub job: Job,
    /// Whether this request created it; false when it was submitted before.
    pub is_new: bool,
}

/// A job, without its large texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSummary {
    /// Type and id.
    pub job: JobRef,
    /// State.
    pub status: JobStatus,
    /// Fields.
    pub fields: JobFields,
    /// Why the job failed.
    pub error_message: Option<String>,
    /// Lease of the worker, while the job is `PROCESSING`.
    pub lease: Option<Lease>,
    /// How often the job was claimed since it was submitted or retried.
    pub attempts: u64,
    /// Newest progress step.
    pub last_step: Option<ProgressStep>,
    /// When the job was submitted, in seconds since 1970.
    pub created_s: i64,
    /// When the status last changed, in seconds since 1970.
    pub updated_s: i64,
}

impl JobSummary {
    /// Whether the lease has ended by this clock. It is a hint for people: whether the job may be claimed again is decided
    /// without comparing clocks.
    #[must_use]
    pub fn is_stalled(&self, now_ms: i64) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.until_ms <= now_ms)
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Everything but the large texts.
    pub summary: JobSummary,
    /// Code that solves the problem.
    pub solution_code: Option<String>,
    /// Constraints of the problem's input.
    pub constraints: Option<String>,
    /// Code that generates test cases: the result of script generation.
    pub generator_code: Option<String>,
}

/// The lease of a worker on a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The worker.
    pub worker: WorkerId,
    /// Fencing number, which every write of the worker carries.
    pub fence: u64,
    /// Length of the lease after each heartbeat, in milliseconds.
    pub lease_ms: i64,
    /// End of the lease by the clock of the server that took the last heartbeat, in milliseconds since 1970.
    pub until_ms: i64,
}

/// A request to claim a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The worker.
    pub worker: WorkerId,
    /// Length of the lease, in milliseconds; that of the settings if `None`.
    pub lease_ms: Option<i64>,
}

/// A job that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The job.
    pub job: Job,
    /// The lease of the worker.
    pub lease: Lease,
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completion {
    /// Code that generates test cases; only of script generation, which requires it.
    pub generator_code: Option<String>,
    /// The problem that was extracted; only of problem extraction.
    pub problem: Option<ProblemRef>,
}
