//! `weir reviews consensus`: issues that several models found.

use clap::Args;
use weir_api::TimeRangeParams;
use weir_api::reviews::{Consensus, ListedConsensus};

use super::{amount, list};
use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::failure::Failure;
use crate::output;

/// Characters of a title in a table.
const TITLE_MAX: usize = 60;

/// Flags of `weir reviews consensus`.
#[derive(Debug, Args)]
pub(super) struct ConsensusArgs {
    /// Id of the review [default: all reviews, newest first]
    #[arg(conflicts_with_all = ["from", "to"])]
    review: Option<String>,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: ConsensusArgs) -> Result<(), Failure> {
    if let Some(review) = &args.review {
        let path = context.path(&[review, "consensus"]);
        return context.list::<Consensus>(&path, &args.limit, table).await;
    }
    let path = with_params(&context.path(&["consensus"]), &TimeRangeParams::from(args.range))?;
    context.list::<ListedConsensus>(&path, &args.limit, listed).await
}

/// A row for each issue.
pub(super) fn table(all: &[Consensus]) -> std::io::Result<()> {
    rows(
        all,
        &[
            ("severity", |one| output::word(&one.severity)),
            ("agreement", |one| {
                format!(
                    "{} of {}, {}",
                    one.agreement_count,
                    one.models_asked,
                    output::word(&one.confidence)
                )
            }),
            ("lines", |one| amount::lines(&one.file_path, one.line_start, one.line_end)),
            ("title", |one| title(&one.title)),
            ("models", |one| output::printable(&one.agreeing_models.join(", "))),
        ],
    )
}

fn listed(all: &[ListedConsensus]) -> std::io::Result<()> {
    rows(
        all,
        &[
            ("at", |one| one.review.created_at.clone()),
            ("review", |one| one.review.review_id.clone()),
            ("pull request", |one| list::pull_request(&one.review)),
            ("severity", |one| output::word(&one.consensus.severity)),
            ("agreement", |one| {
                format!("{} of {}", one.consensus.agreement_count, one.consensus.models_asked)
            }),
            ("lines", |one| {
                let of = &one.consensus;
                amount::lines(&of.file_path, of.line_start, of.line_end)
            }),
            ("title", |one| title(&one.consensus.title)),
        ],
    )
}

/// The beginning of a title.
pub(super) fn title(text: &str) -> String {
    output::printable(&output::cut(text, TITLE_MAX))
}
