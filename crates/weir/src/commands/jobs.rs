//! `weir jobs`: the status of background jobs, and running one now.

use clap::{Args, Subcommand};
use weir_api::server::{Job, JobState, Run};
use weir_framework::page::Page;

use crate::api::{Api, ApiFlags, part};
use crate::config::Source;
use crate::failure::Failure;
use crate::{output, time};

const AFTER_HELP: &str = "\
Examples:
  weir jobs list
  weir jobs run limiter-usage

Jobs run in servers. Without a server that has the store open there are no jobs to list or run.";

/// Flags of `weir jobs`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct JobsArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the status of every job
    List,
    /// Run a job now and show the result
    Run(RunArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Name of the job
    name: String,
}

/// Runs the verb.
pub(crate) async fn run(args: JobsArgs, source: &Source) -> Result<(), Failure> {
    let json = args.api.json;
    Api::with(&args.api.load(source)?, async |api| match args.verb {
        Verb::List => list(api, json).await,
        Verb::Run(args) => run_now(api, &args.name, json).await,
    })
    .await
}

async fn list(api: &Api, json: bool) -> Result<(), Failure> {
    let jobs: Page<Job> = api.get("/v1/jobs").await?;
    if json {
        return Ok(output::json(&jobs)?);
    }
    if jobs.items.is_empty() {
        output::note("no jobs run here");
        return Ok(());
    }
    let header =
        ["job", "kind", "state", "last run", "outcome", "items", "runs", "failures", "lag"];
    let rows = jobs.items.into_iter().map(|job| {
        let state = state(&job);
        let outcome = job.last_error.unwrap_or_else(|| output::word(&job.last_outcome));
        vec![
            job.name,
            output::word(&job.kind),
            state,
            job.last_finished_at.map(|at| time::relative(&at)).unwrap_or_default(),
            output::printable(&outcome),
            job.last_items.map(output::thousands).unwrap_or_default(),
            output::thousands(job.runs),
            // Zeros would say nothing, on a line of their own in a narrow terminal.
            if job.failures > 0 { output::thousands(job.failures) } else { String::new() },
            if job.lag_ms > 0 { time::length(job.lag_ms) } else { String::new() },
        ]
    });
    Ok(output::table(header.map(str::to_owned).to_vec(), rows, &[5, 6, 7, 8])?)
}

/// The state in a word, or that the job is late.
fn state(job: &Job) -> String {
    match job.state {
        JobState::Idle | JobState::Running if job.late => "late".to_owned(),
        state => output::word(&state),
    }
}

async fn run_now(api: &Api, name: &str, json: bool) -> Result<(), Failure> {
    let run: Run = api.post(&format!("/v1/jobs/{}/run", part(name)), &()).await?;
    if json {
        return Ok(output::json(&run)?);
    }
    if run.outcome != "done" {
        return Err(Failure::refused(format!("{name} runs on another instance")));
    }
    Ok(output::line(format!("{name} worked on {}", output::counted(run.items, "item")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_job_is_late_unless_it_says_something_worse() {
        let job = |state: &str, late: bool| {
            let job = serde_json::json!({"name": "sums", "kind": "feed", "every_secs": 1, "state": state, "runs": 1,
                "failures": 0, "lag_ms": 1, "late": late});
            serde_json::from_value::<Job>(job).unwrap()
        };
        for (shown, late, expected) in [
            ("idle", false, "idle"),
            ("idle", true, "late"),
            ("running", true, "late"),
            ("failed", true, "failed"),
        ] {
            assert_eq!(state(&job(shown, late)), expected, "{shown} {late}");
        }
    }
}
