//! `weir practice jobs submit|retry|cancel`.

use clap::Args;
use serde_json::json;
use weir_api::practice::{NewPracticeJob, PracticeJob};

use super::super::texts::Texts;
use super::{JobArgs, TypeArgs, show};
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

const SUBMIT_HELP: &str = "\
Examples:
  ID=$(weir practice jobs submit script-generation --platform baekjoon --problem 1000 --title A+B --solution-file sum.py)
  weir practice jobs submit problem-extraction --url https://www.acmicpc.net/problem/1000
  weir practice jobs submit problem-extraction --url https://www.acmicpc.net/problem/1000 --idempotency-key page-1000

Script generation requires --platform, --problem and --title; problem extraction requires --url. \
The same job with the same --id or --idempotency-key again changes nothing.";

#[derive(Debug, Args)]
#[command(after_help = SUBMIT_HELP)]
pub(in super::super) struct SubmitArgs {
    #[command(flatten)]
    job_type: TypeArgs,
    /// Platform of the problem, for example baekjoon
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Id of the problem on its platform, for example 1000
    #[arg(long, value_name = "ID")]
    problem: Option<String>,
    /// Title of the problem; only of script generation
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Address of the problem's page; only of problem extraction
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Identifier of the problem on its page; only of problem extraction
    #[arg(long, value_name = "TEXT")]
    identifier: Option<String>,
    /// Tag of the problem; repeatable, only of script generation
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Programming language of the solution; only of script generation
    #[arg(long, value_name = "NAME")]
    language: Option<String>,
    /// File with code that solves the problem, - for standard input; only of script generation
    #[arg(long, value_name = "FILE")]
    solution_file: Option<String>,
    /// Constraints of the problem's input, @FILE or - for standard input; only of script generation
    #[arg(long, value_name = "TEXT")]
    constraints: Option<String>,
    /// Task of the task queue that does the job
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Id of the job [default: a new one]
    #[arg(long, value_name = "ID", conflicts_with = "idempotency_key")]
    id: Option<String>,
    /// Key under which the job is submitted once, however often the command is repeated
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs list script-generation --status FAILED
  weir practice jobs retry script-generation 77")]
pub(in super::super) struct RetryArgs {
    #[command(flatten)]
    job: JobArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs cancel script-generation 77 --yes

A cancelled job stays so, and its worker is refused from then on.")]
pub(in super::super) struct CancelArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Cancel without asking for confirmation
    #[arg(long)]
    yes: bool,
}

/// Prints the id alone, so that a script can store it.
pub(super) async fn submit(context: &ApiContext<'_>, args: SubmitArgs) -> Result<(), Failure> {
    let path = args.job_type.path(context, &[]);
    let job: PracticeJob = context.api.post(&path, &new_job(args)?).await?;
    context.print(&job, |job| output::line(&job.id))
}

fn new_job(args: SubmitArgs) -> Result<NewPracticeJob, Failure> {
    let mut texts = Texts::default();
    Ok(NewPracticeJob {
        job_id: args.id,
        idempotency_key: args.idempotency_key,
        platform: args.platform,
        problem_id: args.problem,
        title: args.title,
        problem_url: args.url,
        problem_identifier: args.identifier,
        tags: args.tag,
        language: args.language,
        celery_task_id: args.task,
        solution_code: texts.file("--solution-file", args.solution_file.as_deref())?,
        constraints: texts.text("--constraints", args.constraints.as_deref())?,
    })
}

pub(super) async fn retry(context: &ApiContext<'_>, args: RetryArgs) -> Result<(), Failure> {
    let path = args.job.path(context, &["retry"]);
    let job: PracticeJob = context.api.post(&path, &json!({})).await?;
    context.print(&job, show::job)
}

pub(super) async fn cancel(context: &ApiContext<'_>, args: CancelArgs) -> Result<(), Failure> {
    let question = format!("cancel job {}? Its worker loses its work.", args.job.id);
    ApiContext::confirm(args.yes, &question)?;
    let path = args.job.path(context, &["cancel"]);
    let job: PracticeJob = context.api.post(&path, &json!({})).await?;
    context.print(&job, show::job)
}
