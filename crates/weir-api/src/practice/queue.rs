//! Jobs of workers: script generation and problem extraction.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::formats::{
    IdempotencyKey, JobErrorText, JobLine, Line, PlatformName, PracticeJobId, PracticeProblemId,
    ProblemTag, ProblemTitle, TaskId, WebUrl, WorkerName,
};

/// The type of jobs that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct JobTypeParam {
    /// Type of the jobs.
    #[param(inline, rename = "type")]
    pub job_type: PracticeJobType,
}

/// The job that a path names.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct JobParam {
    /// Type of the job.
    #[param(inline, rename = "type")]
    pub job_type: PracticeJobType,
    /// Id of the job within its type.
    #[param(value_type = PracticeJobId, inline)]
    pub id: String,
}

/// Type of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
#[schema(example = "script-generation")]
pub enum PracticeJobType {
    /// Generates a script that makes test cases.
    ScriptGeneration,
    /// Extracts a problem from its page.
    ProblemExtraction,
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum PracticeJobStatus {
    /// Waits for a worker.
    Pending,
    /// A worker holds its lease.
    Processing,
    /// Ended well.
    Completed,
    /// Ended with an error; it can be retried.
    Failed,
    /// Cancelled before its end.
    Cancelled,
}

/// State of a progress step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// The step has started.
    Started,
    /// The step goes on.
    InProgress,
    /// The step ended well.
    Completed,
    /// The step ended with an error.
    Failed,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct JobsParams {
    /// State of the jobs; excludes `stalled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub status: Option<PracticeJobStatus>,
    /// Whether to list only jobs whose lease has ended, because their workers are probably gone.
    #[serde(default)]
    #[param(required = false, default = false)]
    pub stalled: bool,
}

/// A job to submit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPracticeJob {
    /// Id of the job; a new one by default. Submitting the same job with the same id again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PracticeJobId>)]
    pub job_id: Option<String>,
    /// Key with which the request is repeated safely; excludes `job_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdempotencyKey>)]
    pub idempotency_key: Option<String>,
    /// Platform of the problem; script generation requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PlatformName>)]
    pub platform: Option<String>,
    /// Id of the problem on its platform; script generation requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PracticeProblemId>)]
    pub problem_id: Option<String>,
    /// Title of the problem; script generation requires it, and only it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemTitle>)]
    pub title: Option<String>,
    /// Address of the problem's page; problem extraction requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<WebUrl>)]
    pub problem_url: Option<String>,
    /// Identifier of the problem on its page; only of problem extraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<JobLine>)]
    pub problem_identifier: Option<String>,
    /// Tags of the problem; only of script generation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<ProblemTag>, max_items = 30)]
    pub tags: Vec<String>,
    /// Programming language of the solution; only of script generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Line>)]
    pub language: Option<String>,
    /// Task of the task queue that does the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TaskId>)]
    pub celery_task_id: Option<String>,
    /// Code that solves the problem, up to 1 MiB; only of script generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_048_576)]
    pub solution_code: Option<String>,
    /// Constraints of the problem's input, up to 1 MiB; only of script generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_048_576)]
    pub constraints: Option<String>,
}

/// A request of a worker to claim a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// Worker that claims the job.
    #[schema(value_type = WorkerName)]
    pub worker_id: String,
    /// Length of the lease in milliseconds; a minute unless the server is configured otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1_000, maximum = 3_600_000)]
    pub lease_ms: Option<i64>,
}

/// A sign of life of the worker that holds a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HeartbeatRequest {
    /// Fencing number of the worker's claim.
    pub fence: u64,
    /// Length of the lease from now on in milliseconds; unchanged by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1_000, maximum = 3_600_000)]
    pub lease_ms: Option<i64>,
}

/// A progress step to report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProgressStep {
    /// Fencing number of the worker's claim.
    pub fence: u64,
    /// Name of the step.
    #[schema(value_type = Line)]
    pub step: String,
    /// Message for people, up to 8 KiB.
    #[serde(default)]
    #[schema(max_length = 8_192)]
    pub message: String,
    /// State of the step.
    pub status: StepStatus,
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteJobRequest {
    /// Fencing number of the worker's claim.
    pub fence: u64,
    /// Code that generates test cases, up to 1 MiB; script generation requires it, and only it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_048_576)]
    pub generator_code: Option<String>,
    /// Problem that was extracted; only of problem extraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ExtractedProblem>,
}

/// The problem that a job has extracted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractedProblem {
    /// Platform of the problem.
    #[schema(value_type = PlatformName)]
    pub platform: String,
    /// Id of the problem on its platform.
    #[schema(value_type = PracticeProblemId)]
    pub problem_id: String,
}

/// The end of a job with an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailJobRequest {
    /// Fencing number of the worker's claim.
    pub fence: u64,
    /// Reason of the failure, up to 64 KiB.
    #[schema(value_type = JobErrorText)]
    pub error_message: String,
}

/// The lease of a worker on a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobLease {
    /// Worker that holds the job.
    pub worker_id: String,
    /// Fencing number, which every write of the worker carries.
    pub fence: u64,
    /// Length of the lease after each heartbeat, in milliseconds.
    pub lease_ms: i64,
    /// End of the lease, unless the worker sends a heartbeat before.
    #[schema(format = DateTime)]
    pub expires_at: String,
}

/// A progress step of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProgressStep {
    /// Position among the steps of the job, which is the id of its server-sent event.
    pub id: String,
    /// Time of the report.
    #[schema(format = DateTime)]
    pub at: String,
    /// Name of the step.
    pub step: String,
    /// Message for people.
    pub message: String,
    /// State of the step.
    pub status: StepStatus,
}

/// A job of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PracticeJob {
    /// Id of the job within its type.
    pub id: String,
    /// Type of the job.
    #[serde(rename = "type")]
    pub job_type: PracticeJobType,
    /// State of the job.
    pub status: PracticeJobStatus,
    /// Platform of the problem.
    pub platform: Option<String>,
    /// Id of the problem on its platform.
    pub problem_id: Option<String>,
    /// Title of the problem.
    pub title: Option<String>,
    /// Address of the problem's page.
    pub problem_url: Option<String>,
    /// Identifier of the problem on its page.
    pub problem_identifier: Option<String>,
    /// Tags of the problem.
    pub tags: Vec<String>,
    /// Programming language of the solution.
    pub language: Option<String>,
    /// Task of the task queue that does the job.
    pub celery_task_id: Option<String>,
    /// Reason of the failure.
    pub error_message: Option<String>,
    /// Lease of the worker, while one holds the job.
    pub lease: Option<JobLease>,
    /// Number of claims so far.
    pub attempts: u64,
    /// Newest progress step.
    pub last_step: Option<ProgressStep>,
    /// Time of the submission.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// Time of the last change of the state.
    #[schema(format = DateTime)]
    pub updated_at: String,
    /// Code that solves the problem; absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solution_code: Option<String>,
    /// Constraints of the problem's input; absent in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
    /// Code that generates test cases; absent in lists, and before script generation has completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_code: Option<String>,
}

/// A job that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimedJob {
    /// Fencing number, which every write of the worker carries.
    pub fence: u64,
    /// Job that the worker holds, with its lease.
    pub job: PracticeJob,
}

/// The end of a stream of progress steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProgressEnd {
    /// State in which the job has ended.
    pub status: PracticeJobStatus,
}
