//! `weir practice problems`: problems of platforms.

mod edit;
mod show;

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::practice::{
    DeleteProblemParams, PracticeProblem, ProblemReviewRequest, ProblemStatus, ProblemsParams,
};

use super::counters;
use super::problem_ref::ProblemArgs;
use super::texts::Texts;
use crate::commands::api_context::{ApiContext, LimitArgs, one_of, rows, with_params};
use crate::failure::Failure;
use crate::{output, time};

/// The lists that a problem can be in.
const STATUSES: &[&str] = &["draft", "published", "needs_review", "verified", "deleted"];

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Create a problem
    Create(Box<edit::CreateArgs>),
    /// List problems, newest first
    List(ListArgs),
    /// Show a problem, with its test cases, or print one of its texts
    Show(show::ShowArgs),
    /// Change fields of a problem
    Update(Box<edit::UpdateArgs>),
    /// Publish a problem
    Publish(PublishArgs),
    /// Delete a problem, so that it can be restored, or for good
    Delete(DeleteArgs),
    /// Restore a deleted problem
    Restore(RestoreArgs),
    /// Mark a problem for review
    Review(ReviewArgs),
    /// Verify a problem, which ends its review
    Verify(VerifyArgs),
    /// Count the test cases of a problem again, and report a counter that differs
    Recount(RecountArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems list
  weir practice problems list --status needs_review
  weir practice problems list --platform baekjoon --tag math --limit 200")]
pub(super) struct ListArgs {
    /// Status of the problems; deleted ones are listed only by it
    #[arg(long, value_parser = one_of::<ProblemStatus>(STATUSES))]
    status: Option<ProblemStatus>,
    /// Platform of the problems, for example baekjoon
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Tag of the problems, for example math
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    #[command(flatten)]
    limit: LimitArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems publish baekjoon 1000")]
pub(super) struct PublishArgs {
    #[command(flatten)]
    at: ProblemArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems delete baekjoon 1000 --reason 'a duplicate of 1001'
  weir practice problems delete baekjoon 1000 --hard --yes

A deleted problem is in no list but that of deleted ones, and `restore` brings it back. With --hard it goes for good, with its
test cases.")]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// Reason of the deletion; @FILE or - for standard input
    #[arg(long, value_name = "TEXT", conflicts_with = "hard")]
    reason: Option<String>,
    /// Remove the problem with its test cases, for good
    #[arg(long)]
    hard: bool,
    /// Remove without asking for confirmation
    #[arg(long, requires = "hard")]
    yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems restore baekjoon 1000")]
pub(super) struct RestoreArgs {
    #[command(flatten)]
    at: ProblemArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems review baekjoon 1000 --notes 'the third test case is wrong'
  weir practice problems list --status needs_review")]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// Notes for the reviewer; @FILE or - for standard input
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems verify baekjoon 1000")]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    at: ProblemArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems recount baekjoon 1000
  weir practice problems recount baekjoon 1000 --repair

Exit code 4 says that the counter differs and was not corrected.")]
pub(super) struct RecountArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// Correct the counter if it differs
    #[arg(long)]
    repair: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let problem: PracticeProblem = match verb {
        Verb::List(args) => return list(context, args).await,
        Verb::Show(args) => return show::run(context, args).await,
        Verb::Recount(args) => {
            let path = args.at.path(context, &["recount"]);
            return counters::recount(context, &path, args.repair).await;
        }
        Verb::Delete(args) if args.hard => return remove(context, args).await,
        Verb::Create(args) => edit::create(context, *args).await?,
        Verb::Update(args) => edit::update(context, *args).await?,
        Verb::Publish(args) => step(context, &args.at, "publish").await?,
        Verb::Restore(args) => step(context, &args.at, "restore").await?,
        Verb::Verify(args) => step(context, &args.at, "verify").await?,
        Verb::Delete(args) => {
            let reason = Texts::default().text("--reason", args.reason.as_deref())?;
            let params = DeleteProblemParams { hard: false, reason };
            let path = with_params(&args.at.path(context, &[]), &params)?;
            context.api.delete(&path).await?
        }
        Verb::Review(args) => {
            let notes = Texts::default().text("--notes", args.notes.as_deref())?;
            let request = ProblemReviewRequest { review_notes: notes };
            context.api.post(&args.at.path(context, &["review"]), &request).await?
        }
    };
    context.print(&problem, |problem| table(std::slice::from_ref(problem)))
}

/// A change of the state that has no details.
async fn step(
    context: &ApiContext<'_>,
    at: &ProblemArgs,
    name: &str,
) -> Result<PracticeProblem, Failure> {
    context.api.post(&at.path(context, &[name]), &json!({})).await
}

async fn list(context: &ApiContext<'_>, args: ListArgs) -> Result<(), Failure> {
    let by = ProblemsParams { status: args.status, platform: args.platform, tag: args.tag };
    let path = with_params(&context.path(&["problems"]), &by)?;
    context.list::<PracticeProblem>(&path, &args.limit, table).await
}

/// Removes a problem for good.
async fn remove(context: &ApiContext<'_>, args: DeleteArgs) -> Result<(), Failure> {
    let name = args.at.name();
    let question = format!("remove problem {name} with its test cases, for good?");
    ApiContext::confirm(args.yes, &question)?;
    let params = DeleteProblemParams { hard: true, reason: None };
    context.api.delete::<()>(&with_params(&args.at.path(context, &[]), &params)?).await?;
    let removed = json!({"id": name, "removed": true});
    context.print(&removed, |_| {
        output::line(format!("problem {} was removed for good", output::printable(&name)))
    })
}

/// A row for each problem.
fn table(problems: &[PracticeProblem]) -> std::io::Result<()> {
    rows(
        problems,
        &[
            ("platform", |one| one.platform.clone()),
            ("problem", |one| one.problem_id.clone()),
            ("title", |one| output::printable(&one.title)),
            ("status", status),
            ("tags", |one| output::printable(&one.tags.join(", "))),
            ("language", |one| output::printable(one.language.as_deref().unwrap_or_default())),
            ("version", |one| one.version.to_string()),
            ("updated", |one| time::relative(&one.updated_at)),
        ],
    )
}

/// The lists that a problem is in, as `--status` names them.
fn status(problem: &PracticeProblem) -> String {
    if problem.is_deleted {
        return "deleted".to_owned();
    }
    let mut words = vec![if problem.is_completed { "published" } else { "draft" }];
    words.extend(problem.needs_review.then_some("needs_review"));
    words.extend(problem.verified_by_admin.then_some("verified"));
    words.join(", ")
}
