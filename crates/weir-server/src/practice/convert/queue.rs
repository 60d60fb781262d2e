//! Jobs of workers and their progress.

use weir_api::practice as api;
use weir_framework::time::time;
use weir_practice::ids::{IdempotencyKey, JobId, Platform, ProblemId, TaskId, WorkerId};
use weir_practice::jobs::{
    Claim, Claimed, Completion, Job, JobFields, JobSummary, Lease, NewJob, NewStep, ProgressStep,
};
use weir_practice::kinds::{JobStatus, JobType, StepStatus};
use weir_practice::{Error, Result};

use super::problems::{problem_ref, tags};
use super::{in_field, seconds};

/// Names of routes below a type of jobs, which no job may have as its id.
const ROUTES: [&str; 1] = ["claim-next"];

/// A job to submit.
pub(in crate::practice) fn new_job(request: api::NewPracticeJob) -> Result<NewJob> {
    let task = request.celery_task_id.as_deref().map(TaskId::new).transpose();
    Ok(NewJob {
        id: request.job_id.as_deref().map(job_id).transpose()?,
        idempotency_key: request.idempotency_key.as_deref().map(IdempotencyKey::new).transpose()?,
        fields: JobFields {
            platform: request.platform.as_deref().map(Platform::new).transpose()?,
            problem_id: request.problem_id.as_deref().map(ProblemId::new).transpose()?,
            title: request.title,
            problem_url: request.problem_url,
            problem_identifier: request.problem_identifier,
            tags: tags(request.tags)?,
            language: request.language,
            task_id: in_field("celery_task_id", task)?,
        },
        solution_code: request.solution_code,
        constraints: request.constraints,
    })
}

/// The id of a job that can be reached under it.
fn job_id(text: &str) -> Result<JobId> {
    if ROUTES.contains(&text) {
        return Err(Error::invalid("job_id", format!("{text:?} is the name of a route")));
    }
    JobId::new(text)
}

/// A claim of a worker.
pub(in crate::practice) fn claim(request: &api::ClaimRequest) -> Result<Claim> {
    Ok(Claim { worker: WorkerId::new(&request.worker_id)?, lease_ms: request.lease_ms })
}

/// A progress step to record.
pub(in crate::practice) fn new_step(request: api::NewProgressStep) -> NewStep {
    let status = match request.status {
        api::StepStatus::Started => StepStatus::Started,
        api::StepStatus::InProgress => StepStatus::InProgress,
        api::StepStatus::Completed => StepStatus::Completed,
        api::StepStatus::Failed => StepStatus::Failed,
    };
    NewStep { step: request.step, message: request.message, status }
}

/// The result of a job.
pub(in crate::practice) fn completion(request: api::CompleteJobRequest) -> Result<Completion> {
    let extracted = |problem: api::ExtractedProblem| {
        let found = problem_ref(&problem.platform, &problem.problem_id);
        found.map_err(|error| error.inside("problem"))
    };
    Ok(Completion {
        generator_code: request.generator_code,
        problem: request.problem.map(extracted).transpose()?,
    })
}

/// A state of a job of the domain.
pub(in crate::practice) fn to_job_status(status: api::PracticeJobStatus) -> JobStatus {
    match status {
        api::PracticeJobStatus::Pending => JobStatus::Pending,
        api::PracticeJobStatus::Processing => JobStatus::Processing,
        api::PracticeJobStatus::Completed => JobStatus::Completed,
        api::PracticeJobStatus::Failed => JobStatus::Failed,
        api::PracticeJobStatus::Cancelled => JobStatus::Cancelled,
    }
}

/// A state of a job.
pub(in crate::practice) fn job_status(status: JobStatus) -> api::PracticeJobStatus {
    match status {
        JobStatus::Pending => api::PracticeJobStatus::Pending,
        JobStatus::Processing => api::PracticeJobStatus::Processing,
        JobStatus::Completed => api::PracticeJobStatus::Completed,
        JobStatus::Failed => api::PracticeJobStatus::Failed,
        JobStatus::Cancelled => api::PracticeJobStatus::Cancelled,
    }
}

fn job_type(of: JobType) -> api::PracticeJobType {
    match of {
        JobType::ScriptGeneration => api::PracticeJobType::ScriptGeneration,
        JobType::ProblemExtraction => api::PracticeJobType::ProblemExtraction,
    }
}

/// A progress step.
pub(in crate::practice) fn progress_step(step: ProgressStep) -> api::ProgressStep {
    api::ProgressStep {
        id: step.position,
        at: time(step.at_ms),
        step: step.step,
        message: step.message,
        status: match step.status {
            StepStatus::Started => api::StepStatus::Started,
            StepStatus::InProgress => api::StepStatus::InProgress,
            StepStatus::Completed => api::StepStatus::Completed,
            StepStatus::Failed => api::StepStatus::Failed,
        },
    }
}

/// The lease of a worker.
pub(in crate::practice) fn lease(lease: Lease) -> api::JobLease {
    api::JobLease {
        worker_id: lease.worker.to_string(),
        fence: lease.fence,
        lease_ms: lease.lease_ms,
        expires_at: time(lease.until_ms),
    }
}

/// A job without its large texts.
pub(in crate::practice) fn job_summary(job: JobSummary) -> api::PracticeJob {
    let fields = job.fields;
    api::PracticeJob {
        id: job.job.id.to_string(),
        job_type: job_type(job.job.job_type),
        status: job_status(job.status),
        platform: fields.platform.map(|platform| platform.to_string()),
        problem_id: fields.problem_id.map(|id| id.to_string()),
        title: fields.title,
        problem_url: fields.problem_url,
        problem_identifier: fields.problem_identifier,
        tags: fields.tags.iter().map(ToString::to_string).collect(),
        language: fields.language,
        celery_task_id: fields.task_id.map(|task| task.to_string()),
        error_message: job.error_message,
        lease: job.lease.map(lease),
        attempts: job.attempts,
        last_step: job.last_step.map(progress_step),
        created_at: seconds(job.created_s),
        updated_at: seconds(job.updated_s),
        solution_code: None,
        constraints: None,
        generator_code: None,
    }
}

/// A job with its large texts.
pub(in crate::practice) fn job(job: Job) -> api::PracticeJob {
    api::PracticeJob {
        solution_code: job.solution_code,
        constraints: job.constraints,
        generator_code: job.generator_code,
        ..job_summary(job.summary)
    }
}

/// A job that a worker has claimed.
pub(in crate::practice) fn claimed(claimed: Claimed) -> api::ClaimedJob {
    api::ClaimedJob { fence: claimed.lease.fence, job: job(claimed.job) }
}
