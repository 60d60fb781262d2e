//! `weir reviews costs`: what the reviews of a repository cost, by model.

use clap::Args;
use weir_api::TimeRangeParams;
use weir_api::reviews::CostMetric;

use super::amount;
use super::repository::Repository;
use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, header, with_params};
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir reviews costs acme/shop
  weir reviews costs acme/shop --from 30d --limit 10000 --json";

/// Flags of `weir reviews costs`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CostsArgs {
    /// Repository, for example acme/shop
    #[arg(value_name = "OWNER/REPO")]
    repo: Repository,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: CostsArgs) -> Result<(), Failure> {
    let path = context.path(&["repos", &args.repo.owner, &args.repo.repo, "costs"]);
    let path = with_params(&path, &TimeRangeParams::from(args.range))?;
    context.list::<CostMetric>(&path, &args.limit, table).await
}

fn table(all: &[CostMetric]) -> std::io::Result<()> {
    let rows = all.iter().map(|one| {
        vec![
            one.review.created_at.clone(),
            one.review.review_id.clone(),
            one.review.pr_number.to_string(),
            output::printable(&one.model_id),
            output::thousands(one.input_tokens),
            output::thousands(one.output_tokens),
            amount::dollars(&one.cost_usd),
        ]
    });
    let names = ["at", "review", "pull request", "model", "input", "output", "cost"];
    output::table(header(names), rows, &[2, 4, 5, 6])?;
    let micros = all.iter().filter_map(|one| amount::micros(&one.cost_usd));
    let total = amount::dollars_of_micros(micros.fold(0, u64::saturating_add));
    output::line(format!("{total} for {}", output::counted(all.len() as u64, "response")))
}
