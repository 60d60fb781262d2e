//! `weir practice jobs list|stalled|show`.

use clap::{Args, ValueEnum};
use weir_api::practice::{JobsParams, PracticeJob, PracticeJobStatus, ProgressStep};

use super::{JobArgs, TypeArgs};
use crate::commands::api_context::{ApiContext, LimitArgs, one_of, rows, with_params};
use crate::failure::Failure;
use crate::{output, time};

/// The states of jobs.
const STATUSES: &[&str] = &["PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs list script-generation
  weir practice jobs list problem-extraction --status FAILED --limit 200")]
pub(in super::super) struct ListArgs {
    #[command(flatten)]
    job_type: TypeArgs,
    /// State of the jobs [default: all]
    #[arg(long, value_parser = one_of::<PracticeJobStatus>(STATUSES))]
    status: Option<PracticeJobStatus>,
    #[command(flatten)]
    limit: LimitArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs stalled script-generation

Another worker can claim such a job. Those whose lease ended first come first.")]
pub(in super::super) struct StalledArgs {
    #[command(flatten)]
    job_type: TypeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs show script-generation 77
  weir practice jobs show script-generation 77 --steps
  weir practice jobs show script-generation 77 --print generator > generate.py")]
pub(in super::super) struct ShowArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Show the progress steps instead
    #[arg(long, conflicts_with = "print")]
    steps: bool,
    /// Print only this text, as it is
    #[arg(long, value_enum, value_name = "TEXT")]
    print: Option<JobText>,
}

/// A text of a job.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum JobText {
    /// Code that solves the problem
    Solution,
    /// Constraints of the problem's input
    Constraints,
    /// Code that generates test cases
    Generator,
}

pub(super) async fn list(context: &ApiContext<'_>, args: ListArgs) -> Result<(), Failure> {
    let by = JobsParams { status: args.status, stalled: false };
    page(context, &args.job_type, by, &args.limit).await
}

pub(super) async fn stalled(context: &ApiContext<'_>, args: StalledArgs) -> Result<(), Failure> {
    let by = JobsParams { status: None, stalled: true };
    page(context, &args.job_type, by, &args.limit).await
}

async fn page(
    context: &ApiContext<'_>,
    job_type: &TypeArgs,
    by: JobsParams,
    limit: &LimitArgs,
) -> Result<(), Failure> {
    let path = with_params(&job_type.path(context, &[]), &by)?;
    context.list::<PracticeJob>(&path, limit, table).await
}

pub(super) async fn run(context: &ApiContext<'_>, args: ShowArgs) -> Result<(), Failure> {
    if args.steps {
        let steps: Vec<ProgressStep> = context.all(&args.job.path(context, &["progress"])).await?;
        return context.print_all(steps, step_table);
    }
    let found: PracticeJob = context.api.get(&args.job.path(context, &[])).await?;
    match args.print {
        Some(text) => print(&found, text),
        None => context.print(&found, job),
    }
}

fn print(job: &PracticeJob, text: JobText) -> Result<(), Failure> {
    let (name, text) = match text {
        JobText::Solution => ("solution", &job.solution_code),
        JobText::Constraints => ("constraints", &job.constraints),
        JobText::Generator => ("generator", &job.generator_code),
    };
    match text {
        Some(text) => Ok(output::bytes(text.as_bytes())?),
        None => Err(Failure::refused(format!("job {} has no {name}", job.id))),
    }
}

/// A job: its row, its error and its lease.
pub(super) fn job(job: &PracticeJob) -> std::io::Result<()> {
    table(std::slice::from_ref(job))?;
    if let Some(error) = &job.error_message {
        output::line(format!("error: {}", output::printable(error)))?;
    }
    match &job.lease {
        Some(lease) => output::line(format!(
            "{} holds it with fence {} until {}",
            output::printable(&lease.worker_id),
            lease.fence,
            time::until(&lease.expires_at)
        )),
        None => Ok(()),
    }
}

fn table(jobs: &[PracticeJob]) -> std::io::Result<()> {
    rows(
        jobs,
        &[
            ("job", |job| job.id.clone()),
            ("status", |job| output::word(&job.status)),
            ("problem", subject),
            ("attempts", |job| job.attempts.to_string()),
            ("last step", |job| job.last_step.as_ref().map(step_text).unwrap_or_default()),
            ("created", |job| time::relative(&job.created_at)),
            ("updated", |job| time::relative(&job.updated_at)),
        ],
    )
}

/// The problem of a job, or the page that it is on.
fn subject(job: &PracticeJob) -> String {
    match (&job.platform, &job.problem_id, &job.problem_url) {
        (Some(platform), Some(problem), _) => output::printable(&format!("{platform}/{problem}")),
        (_, _, Some(url)) => output::printable(url),
        _ => String::new(),
    }
}

fn step_text(step: &ProgressStep) -> String {
    format!("{} {}", output::printable(&step.step), output::word(&step.status))
}

fn step_table(steps: &[ProgressStep]) -> std::io::Result<()> {
    rows(
        steps,
        &[
            ("at", |step| step.at.clone()),
            ("step", |step| output::printable(&step.step)),
            ("status", |step| output::word(&step.status)),
            ("message", |step| output::printable(&step.message)),
        ],
    )
}

/// A progress step on one line.
pub(super) fn step_line(step: &ProgressStep) -> String {
    let message = match step.message.as_str() {
        "" => String::new(),
        message => format!(": {}", output::printable(message)),
    };
    format!("{}  {}{message}", step.at, step_text(step))
}
