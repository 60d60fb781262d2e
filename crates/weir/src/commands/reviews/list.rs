//! `weir reviews list`: all reviews, or those of a repository, a model, a day or a user.

use clap::Args;
use weir_api::TimeRangeParams;
use weir_api::reviews::{ListedResponse, Review, ReviewRef};

use super::repository::Repository;
use super::{amount, show};
use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::failure::Failure;
use crate::output;
use crate::time::GivenTime;

const AFTER_HELP: &str = "\
Examples:
  weir reviews list
  weir reviews list --repo acme/shop --from 7d
  weir reviews list --model gpt-5 --limit 200
  weir reviews list --date yesterday";

/// Flags of `weir reviews list`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ListArgs {
    /// Repository whose reviews to list, for example acme/shop
    #[arg(long, value_name = "OWNER/REPO", conflicts_with_all = ["model", "date", "user"])]
    repo: Option<Repository>,
    /// Model whose responses to list, for example gpt-5
    #[arg(long, value_name = "ID", conflicts_with_all = ["date", "user"])]
    model: Option<String>,
    /// Day whose reviews to list, in UTC: 2026-01-31, 7d (ago), today or yesterday
    #[arg(long, value_name = "DAY", conflicts_with = "user")]
    date: Option<GivenTime>,
    /// User whose requested reviews to list, for example octocat
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: ListArgs) -> Result<(), Failure> {
    let range = TimeRangeParams::from(args.range);
    if let Some(model) = &args.model {
        let path = with_params(&context.path(&["models", model]), &range)?;
        return context.list::<ListedResponse>(&path, &args.limit, responses).await;
    }
    let path = match (&args.repo, &args.date, &args.user) {
        (Some(Repository { owner, repo }), _, _) => context.path(&["repos", owner, repo]),
        (_, Some(day), _) => context.path(&["dates", &day.utc_day()?]),
        (_, _, Some(user)) => context.path(&["users", user]),
        _ => context.path(&[]),
    };
    context.list::<Review>(&with_params(&path, &range)?, &args.limit, reviews).await
}

fn reviews(all: &[Review]) -> std::io::Result<()> {
    rows(
        all,
        &[
            ("at", |review| review.created_at.clone()),
            ("review", |review| review.review_id.clone()),
            ("pull request", show::name),
            ("status", |review| output::word(&review.status)),
            ("models", |review| review.models_used.len().to_string()),
            ("findings", |review| output::thousands(review.total_findings)),
            ("consensus", |review| output::thousands(review.consensus_findings)),
            ("cost", |review| amount::dollars(&review.total_cost_usd)),
        ],
    )
}

fn responses(all: &[ListedResponse]) -> std::io::Result<()> {
    rows(
        all,
        &[
            ("at", |one| one.review.created_at.clone()),
            ("review", |one| one.review.review_id.clone()),
            ("pull request", |one| pull_request(&one.review)),
            ("status", |one| output::word(&one.response.status)),
            ("findings", |one| output::thousands(one.response.findings_count)),
            ("latency", |one| amount::seconds(one.response.latency_ms)),
            ("cost", |one| amount::dollars(&one.response.cost_usd)),
        ],
    )
}

/// The pull request of an item: `acme/shop#42`.
pub(super) fn pull_request(review: &ReviewRef) -> String {
    format!("{}/{}#{}", review.owner, review.repo, review.pr_number)
}
