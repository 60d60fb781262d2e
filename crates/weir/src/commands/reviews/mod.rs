//! `weir reviews`: what several AI models found in pull requests, from the command line. Every verb calls the API; `record`
//! and `add-response` also read SARIF.

mod amount;
mod compare;
mod consensus;
mod costs;
mod delete;
mod feedback;
mod findings;
mod head;
mod list;
mod raw;
mod record;
mod report;
mod repository;
mod rollups;
mod severity;
mod show;
mod steps;
mod threshold;

use clap::{Args, Subcommand};

use crate::api::{Api, ApiFlags};
use crate::commands::api_context::ApiContext;
use crate::config::Source;
use crate::failure::Failure;

const ROOT: &str = "/v1/reviews";

const AFTER_HELP: &str = "\
Examples:
  weir reviews record review.json --fail-on high
  weir reviews record gpt.sarif claude.sarif --model gpt-5 --model claude-sonnet-4 --owner acme --repo shop --pr 42
  weir reviews report 7f3a --format markdown
  weir reviews list --repo acme/shop
  weir reviews findings --severity critical
  weir reviews feedback 7f3a gpt-5 finding-001 --accept --by octocat
  weir reviews compare --repo acme/shop --from 2026-01-01

A review has one response of each model, with its findings in a pull request. Issues that \
several models found form a consensus.";

/// Flags of `weir reviews`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ReviewsArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Record a whole review from JSON or SARIF files, and fail a build by its issues
    Record(Box<record::RecordArgs>),
    /// Open a review whose responses are added one by one, and print its id
    Open(Box<steps::OpenArgs>),
    /// Add the response of a model to an open review, from JSON or SARIF
    AddResponse(Box<steps::AddResponseArgs>),
    /// Complete an open review, or give it up
    Complete(steps::CompleteArgs),
    /// Print the report of a review
    Report(report::ReportArgs),
    /// Show a review with its models and the issues they agree on
    Show(show::ShowArgs),
    /// List reviews, newest first
    List(list::ListArgs),
    /// List findings: of a review, of a severity or of a category
    Findings(findings::FindingsArgs),
    /// List issues that several models found: of a review, or of all
    Consensus(consensus::ConsensusArgs),
    /// List the costs of a repository's reviews
    Costs(costs::CostsArgs),
    /// Accept or dismiss a finding
    Feedback(feedback::FeedbackArgs),
    /// Print the raw output of a model
    Raw(raw::RawArgs),
    /// Delete a review with everything that was recorded for it
    Delete(delete::DeleteArgs),
    /// Compare models: what they find, how far they agree, what they cost
    Compare(compare::CompareArgs),
    /// Verify the sums that comparisons read
    #[command(subcommand)]
    Rollups(rollups::Verb),
}

/// Runs the verb.
pub(crate) async fn run(args: ReviewsArgs, source: &Source) -> Result<(), Failure> {
    call(args, source).await.map_err(|failure| match failure.missing_kind() {
        Some("review") => failure.help("`weir reviews list` shows those that exist"),
        _ => failure,
    })
}

async fn call(args: ReviewsArgs, source: &Source) -> Result<(), Failure> {
    let loaded = args.api.load(source)?;
    Api::with(&loaded, async |api| {
        let context = ApiContext::new(api, ROOT, args.api.json);
        match args.verb {
            Verb::Record(args) => record::run(&context, *args).await,
            Verb::Open(args) => steps::open(&context, *args).await,
            Verb::AddResponse(args) => steps::add_response(&context, *args).await,
            Verb::Complete(args) => steps::complete(&context, args).await,
            Verb::Report(args) => report::run(&context, args).await,
            Verb::Show(args) => show::run(&context, args).await,
            Verb::List(args) => list::run(&context, args).await,
            Verb::Findings(args) => findings::run(&context, args).await,
            Verb::Consensus(args) => consensus::run(&context, args).await,
            Verb::Costs(args) => costs::run(&context, args).await,
            Verb::Feedback(args) => feedback::run(&context, args).await,
            Verb::Raw(args) => raw::run(&context, args).await,
            Verb::Delete(args) => delete::run(&context, args).await,
            Verb::Compare(args) => compare::run(&context, args).await,
            Verb::Rollups(verb) => rollups::run(&context, verb).await,
        }
    })
    .await
}
