//! `weir practice tasks`: results of tasks of a task queue.

use clap::{Args, Subcommand};
use serde_json::Value;
use weir_api::practice::{TaskResult, TaskResultRequest};

use super::texts::Texts;
use crate::commands::api_context::{ApiContext, rows};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Store the result of a task
    Put(PutArgs),
    /// Show the result of a task
    Show(ShowArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice tasks put 9f1c3c0e --status STARTED
  weir practice tasks put 9f1c3c0e --status SUCCESS --result '{\"passed\": 3}'
  weir practice tasks put 9f1c3c0e --status FAILURE --traceback @error.txt

A task that has ended with SUCCESS, FAILURE or REVOKED does not go back to another state.")]
pub(super) struct PutArgs {
    /// Id of the task
    task: String,
    /// State of the task, like those of Celery
    #[arg(long, value_name = "STATE")]
    status: String,
    /// Value that the task returned: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
    /// Place where the task failed; @FILE or - for standard input
    #[arg(long, value_name = "TEXT")]
    traceback: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice tasks show 9f1c3c0e
  weir practice tasks show 9f1c3c0e --json")]
pub(super) struct ShowArgs {
    /// Id of the task
    task: String,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let result: TaskResult = match verb {
        Verb::Put(args) => put(context, args).await?,
        Verb::Show(args) => context.api.get(&context.path(&["tasks", &args.task])).await?,
    };
    context.print(&result, show)
}

async fn put(context: &ApiContext<'_>, args: PutArgs) -> Result<TaskResult, Failure> {
    let mut texts = Texts::default();
    let request = TaskResultRequest {
        status: args.status,
        result: texts.json::<Value>("--result", args.result.as_deref())?,
        traceback: texts.text("--traceback", args.traceback.as_deref())?,
    };
    context.api.put(&context.path(&["tasks", &args.task]), &request).await
}

fn show(task: &TaskResult) -> std::io::Result<()> {
    rows(
        std::slice::from_ref(task),
        &[
            ("task", |task| task.id.clone()),
            ("status", |task| task.status.clone()),
            ("created", |task| time::relative(&task.created_at)),
            ("updated", |task| time::relative(&task.updated_at)),
            ("expires", |task| task.expires_at.as_deref().map(time::relative).unwrap_or_default()),
        ],
    )?;
    if let Some(result) = &task.result {
        output::line(format!("result: {}", output::printable(&result.to_string())))?;
    }
    match &task.traceback {
        Some(text) => text.lines().try_for_each(|line| output::line(output::printable(line))),
        None => Ok(()),
    }
}
