//! `weir practice jobs claim|heartbeat|progress|complete|fail`: what a worker does, for scripts and for trying out.

use clap::Args;
use weir_api::practice::{
    ClaimRequest, ClaimedJob, CompleteJobRequest, ExtractedProblem, FailJobRequest,
    HeartbeatRequest, JobLease, NewProgressStep, PracticeJob, ProgressStep, StepStatus,
};

use super::super::texts::Texts;
use super::{JobArgs, TypeArgs, show};
use crate::commands::api_context::{ApiContext, one_of};
use crate::failure::Failure;
use crate::{output, time};

/// The states of progress steps.
const STEP_STATUSES: &[&str] = &["started", "in_progress", "completed", "failed"];

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs claim script-generation --worker host-1
  weir practice jobs claim script-generation 77 --worker host-1 --lease-secs 300
  FENCE=$(weir practice jobs claim script-generation 77 --worker host-1 --print-fence)

Every later command of the worker carries the fence, the number of its claim. When the lease has ended, another worker can
claim the job, and the first one is refused. Exit code 3 says that no job waits.")]
pub(in super::super) struct ClaimArgs {
    #[command(flatten)]
    job_type: TypeArgs,
    /// Id of the job [default: one whose worker is gone, or the oldest that waits]
    id: Option<String>,
    /// Name of the worker
    #[arg(long, value_name = "NAME")]
    worker: String,
    #[command(flatten)]
    lease: LeaseArgs,
    /// Print only the fence
    #[arg(long)]
    print_fence: bool,
}

/// How long a worker holds a job.
#[derive(Debug, Args)]
struct LeaseArgs {
    /// Seconds until the job is free for others, unless the worker reports before
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..=3_600))]
    lease_secs: Option<i64>,
}

impl LeaseArgs {
    fn ms(&self) -> Option<i64> {
        self.lease_secs.map(|secs| secs.saturating_mul(1_000))
    }
}

/// The claim of a worker.
#[derive(Debug, Args)]
struct FenceArgs {
    /// Number that `claim` printed
    #[arg(long, value_name = "N")]
    fence: u64,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs heartbeat script-generation 77 --fence 1
  weir practice jobs heartbeat script-generation 77 --fence 1 --lease-secs 600")]
pub(in super::super) struct HeartbeatArgs {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    fence: FenceArgs,
    #[command(flatten)]
    lease: LeaseArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs progress script-generation 77 --fence 1 --step parsing --status completed
  weir practice jobs progress script-generation 77 --fence 1 --step testing --status in_progress --message '3 of 10'")]
pub(in super::super) struct ProgressArgs {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    fence: FenceArgs,
    /// Name of the step
    #[arg(long, value_name = "NAME")]
    step: String,
    /// State of the step
    #[arg(long, value_parser = one_of::<StepStatus>(STEP_STATUSES))]
    status: StepStatus,
    /// Message for people; @FILE or - for standard input
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs complete script-generation 77 --fence 1 --generator-file generate.py
  weir practice jobs complete problem-extraction 78 --fence 1 --platform baekjoon --problem 1000

Script generation requires --generator-file; problem extraction can name the problem that it created.")]
pub(in super::super) struct CompleteArgs {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    fence: FenceArgs,
    /// File with code that generates test cases; - for standard input
    #[arg(long, value_name = "FILE")]
    generator_file: Option<String>,
    /// Platform of the problem that was extracted
    #[arg(long, value_name = "NAME", requires = "problem")]
    platform: Option<String>,
    /// Id of the problem that was extracted
    #[arg(long, value_name = "ID", requires = "platform")]
    problem: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs fail script-generation 77 --fence 1 --error 'the solution does not compile'
  weir practice jobs fail script-generation 77 --fence 1 --error @error.txt")]
pub(in super::super) struct FailArgs {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    fence: FenceArgs,
    /// Reason of the failure; @FILE or - for standard input
    #[arg(long, value_name = "TEXT")]
    error: String,
}

pub(super) async fn claim(context: &ApiContext<'_>, args: ClaimArgs) -> Result<(), Failure> {
    let request = ClaimRequest { lease_ms: args.lease.ms(), worker_id: args.worker };
    let path = match &args.id {
        Some(id) => args.job_type.path(context, &[id, "claim"]),
        None => args.job_type.path(context, &["claim-next"]),
    };
    // No content says that no job waits.
    let claimed: Option<ClaimedJob> = context.api.post(&path, &request).await?;
    let Some(claimed) = claimed else {
        let job_type = output::word(&args.job_type.job_type);
        return Err(Failure::refused(format!("no {job_type} job waits")));
    };
    if args.print_fence {
        return Ok(output::line(claimed.fence.to_string())?);
    }
    context.print(&claimed, |claimed| show::job(&claimed.job))
}

pub(super) async fn heartbeat(
    context: &ApiContext<'_>,
    args: HeartbeatArgs,
) -> Result<(), Failure> {
    let request = HeartbeatRequest { fence: args.fence.fence, lease_ms: args.lease.ms() };
    let path = args.job.path(context, &["heartbeat"]);
    let lease: JobLease = context.api.post(&path, &request).await?;
    context.print(&lease, |lease| {
        output::line(format!("the lease ends at {}", time::until(&lease.expires_at)))
    })
}

pub(super) async fn progress(context: &ApiContext<'_>, args: ProgressArgs) -> Result<(), Failure> {
    let message = Texts::default().text("--message", args.message.as_deref())?;
    let request = NewProgressStep {
        fence: args.fence.fence,
        step: args.step,
        message: message.unwrap_or_default(),
        status: args.status,
    };
    let path = args.job.path(context, &["progress"]);
    let step: ProgressStep = context.api.post(&path, &request).await?;
    context.print(&step, |step| output::line(show::step_line(step)))
}

pub(super) async fn complete(context: &ApiContext<'_>, args: CompleteArgs) -> Result<(), Failure> {
    let generator = Texts::default().file("--generator-file", args.generator_file.as_deref())?;
    let problem = args.platform.zip(args.problem);
    let request = CompleteJobRequest {
        fence: args.fence.fence,
        generator_code: generator,
        problem: problem.map(|(platform, problem_id)| ExtractedProblem { platform, problem_id }),
    };
    let path = args.job.path(context, &["complete"]);
    let job: PracticeJob = context.api.post(&path, &request).await?;
    context.print(&job, show::job)
}

pub(super) async fn fail(context: &ApiContext<'_>, args: FailArgs) -> Result<(), Failure> {
    let error = Texts::default().text("--error", Some(&args.error))?;
    let request =
        FailJobRequest { fence: args.fence.fence, error_message: error.unwrap_or_default() };
    let path = args.job.path(context, &["fail"]);
    let job: PracticeJob = context.api.post(&path, &request).await?;
    context.print(&job, show::job)
}
