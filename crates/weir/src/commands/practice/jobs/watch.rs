//! `weir practice jobs watch`: follows a job by server-sent events until it ends.
//!
//! A stream that ends before the job is opened again after the last step that was printed, so no step is missed and none is
//! printed twice.

use std::time::Duration;

use clap::Args;
use weir_api::practice::{PracticeJob, PracticeJobStatus, ProgressStep};
use weir_framework::client::ServerEvent;

use super::{JobArgs, show};
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

/// How often in a row a stream is opened again without a new step.
const REOPENED_MAX: u32 = 30;
/// Time before a stream is opened again.
const REOPEN_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice jobs watch script-generation 77
  weir practice jobs watch script-generation 77 --json | jq -r .step

Prints each progress step on a line, with --json as a JSON object, and the job at the end. Exit code 0 says that the job is
COMPLETED, 4 that it FAILED, and 3 that it is CANCELLED.")]
pub(in super::super) struct WatchArgs {
    #[command(flatten)]
    job: JobArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: WatchArgs) -> Result<(), Failure> {
    if context.api.is_alone() {
        return look(context, &args.job).await;
    }
    follow(context, &args.job).await?;
    let job: PracticeJob = context.api.get(&args.job.path(context, &[])).await?;
    end(context, &job)
}

/// Prints steps until the job ends.
async fn follow(context: &ApiContext<'_>, job: &JobArgs) -> Result<(), Failure> {
    let path = job.path(context, &["progress"]);
    let (mut last, mut reopened) = (None, 0);
    loop {
        let before = last.clone();
        match read(context, &path, &mut last).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(failure) if failure.is_fault() && reopened < REOPENED_MAX => {}
            Err(failure) => return Err(failure),
        }
        reopened = if last == before { reopened + 1 } else { 0 };
        if reopened > REOPENED_MAX {
            return Err(Failure::fault("the server ends the stream of progress again and again"));
        }
        tokio::time::sleep(REOPEN_AFTER).await;
    }
}

/// Prints the steps of one stream after `last`, and moves it on. Returns whether the job has ended.
async fn read(
    context: &ApiContext<'_>,
    path: &str,
    last: &mut Option<String>,
) -> Result<bool, Failure> {
    let mut events = context.api.events(path, last.as_deref()).await?;
    while let Some(event) = events.next().await? {
        if event.name == "end" {
            return Ok(true);
        }
        print(context, &event)?;
        if event.id.is_some() {
            *last = event.id;
        }
    }
    Ok(false)
}

fn print(context: &ApiContext<'_>, event: &ServerEvent) -> Result<(), Failure> {
    if event.name != "progress" {
        return Ok(());
    }
    if context.json {
        return Ok(output::line(output::printable(&event.data))?);
    }
    let step: ProgressStep = serde_json::from_str(&event.data)
        .map_err(|error| Failure::fault("a progress step is unreadable").because(error))?;
    Ok(output::line(show::step_line(&step))?)
}

/// Prints the steps so far: while this process has the store open, nobody can work on the job.
async fn look(context: &ApiContext<'_>, args: &JobArgs) -> Result<(), Failure> {
    let steps: Vec<ProgressStep> = context.all(&args.path(context, &["progress"])).await?;
    for step in &steps {
        let line = match context.json {
            true => serde_json::to_string(step).unwrap_or_default(),
            false => show::step_line(step),
        };
        output::line(line)?;
    }
    let job: PracticeJob = context.api.get(&args.path(context, &[])).await?;
    end(context, &job)
}

/// Prints the job, and fails unless it is completed.
fn end(context: &ApiContext<'_>, job: &PracticeJob) -> Result<(), Failure> {
    match context.json {
        true => output::line(serde_json::to_string(job).unwrap_or_default())?,
        false => show::job(job)?,
    }
    match job.status {
        PracticeJobStatus::Completed => Ok(()),
        PracticeJobStatus::Failed => Err(Failure::differs(format!("job {} failed", job.id))),
        PracticeJobStatus::Cancelled => {
            Err(Failure::refused(format!("job {} was cancelled", job.id)))
        }
        PracticeJobStatus::Pending | PracticeJobStatus::Processing => {
            Err(Failure::refused(format!("job {} has not ended", job.id))
                .help("start a server: without one nobody can work on the job"))
        }
    }
}
