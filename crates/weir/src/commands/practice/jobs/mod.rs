//! `weir practice jobs`: script generation and problem extraction, for those who submit jobs and for workers.

mod administer;
mod show;
mod watch;
mod work;

use clap::{Args, Subcommand};
use weir_api::practice::PracticeJobType;

use crate::commands::api_context::{ApiContext, one_of};
use crate::failure::Failure;
use crate::output;

/// The types of jobs.
const TYPES: &[&str] = &["script-generation", "problem-extraction"];

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Submit a job, and print its id
    Submit(administer::SubmitArgs),
    /// List jobs of a type, newest first
    List(show::ListArgs),
    /// Show a job, its progress steps, or one of its texts
    Show(show::ShowArgs),
    /// Claim a job, or the next one, for a worker
    Claim(work::ClaimArgs),
    /// Extend the lease of the worker that holds a job
    Heartbeat(work::HeartbeatArgs),
    /// Report a progress step, which also extends the lease
    Progress(work::ProgressArgs),
    /// Complete the job that a worker holds
    Complete(work::CompleteArgs),
    /// End the job that a worker holds with an error
    Fail(work::FailArgs),
    /// Put a failed job back into the queue
    Retry(administer::RetryArgs),
    /// Cancel a job that has not ended
    Cancel(administer::CancelArgs),
    /// List jobs whose lease has ended, because their workers are probably gone
    Stalled(show::StalledArgs),
    /// Follow the progress of a job until it ends; the exit code says how
    Watch(watch::WatchArgs),
}

/// A type of jobs.
#[derive(Debug, Args)]
struct TypeArgs {
    /// Type of the job
    #[arg(value_name = "TYPE", value_parser = one_of::<PracticeJobType>(TYPES))]
    job_type: PracticeJobType,
}

/// A job by its type and its id.
#[derive(Debug, Args)]
struct JobArgs {
    #[command(flatten)]
    job_type: TypeArgs,
    /// Id of the job
    id: String,
}

impl TypeArgs {
    /// The path of the jobs of the type, and `parts` below it.
    fn path(&self, context: &ApiContext<'_>, parts: &[&str]) -> String {
        let job_type = output::word(&self.job_type);
        context.path(&[&["jobs", job_type.as_str()], parts].concat())
    }
}

impl JobArgs {
    /// The path of the job, and `parts` below it.
    fn path(&self, context: &ApiContext<'_>, parts: &[&str]) -> String {
        self.job_type.path(context, &[&[self.id.as_str()], parts].concat())
    }
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Submit(args) => administer::submit(context, args).await,
        Verb::List(args) => show::list(context, args).await,
        Verb::Show(args) => show::run(context, args).await,
        Verb::Claim(args) => work::claim(context, args).await,
        Verb::Heartbeat(args) => work::heartbeat(context, args).await,
        Verb::Progress(args) => work::progress(context, args).await,
        Verb::Complete(args) => work::complete(context, args).await,
        Verb::Fail(args) => work::fail(context, args).await,
        Verb::Retry(args) => administer::retry(context, args).await,
        Verb::Cancel(args) => administer::cancel(context, args).await,
        Verb::Stalled(args) => show::stalled(context, args).await,
        Verb::Watch(args) => watch::run(context, args).await,
    }
}
