//! `weir reviews findings`: of a review, of a severity or of a category.

use clap::Args;
use weir_api::TimeRangeParams;
use weir_api::reviews::{Finding, FindingsParams, ListedFinding, Severity};

use super::{amount, consensus, list, severity};
use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir reviews findings 7f3a
  weir reviews findings --severity critical --from 2026-01-01
  weir reviews findings --category security --limit 200";

/// Flags of `weir reviews findings`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct FindingsArgs {
    /// Id of the review
    #[arg(conflicts_with_all = ["severity", "category", "from", "to"])]
    review: Option<String>,
    /// Severity of the findings, in all reviews
    #[arg(long, value_name = "SEVERITY", value_parser = severity::parser(), conflicts_with = "category")]
    severity: Option<Severity>,
    /// Category of the findings, in all reviews, for example security
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: FindingsArgs) -> Result<(), Failure> {
    if let Some(review) = &args.review {
        let path = context.path(&[review, "findings"]);
        return context.list::<Finding>(&path, &args.limit, table).await;
    }
    if args.severity.is_none() && args.category.is_none() {
        let message = "name a review, --severity SEVERITY or --category NAME";
        return Err(Failure::usage(message));
    }
    let params = FindingsParams { severity: args.severity, category: args.category };
    let path = with_params(&context.path(&["findings"]), &params)?;
    let path = with_params(&path, &TimeRangeParams::from(args.range))?;
    context.list::<ListedFinding>(&path, &args.limit, listed).await
}

fn table(all: &[Finding]) -> std::io::Result<()> {
    rows(
        all,
        &[
            ("model", |one| output::printable(&one.model_id)),
            ("finding", |one| output::printable(&one.finding_id)),
            ("severity", |one| output::word(&one.severity)),
            ("category", |one| one.category.clone().unwrap_or_default()),
            ("lines", |one| amount::lines(&one.file_path, one.line_start, one.line_end)),
            ("title", |one| consensus::title(&one.title)),
            ("consensus", |one| if one.in_consensus { "yes" } else { "" }.to_owned()),
            ("feedback", feedback),
        ],
    )
}

fn feedback(finding: &Finding) -> String {
    let shown = |one: &weir_api::reviews::Feedback| {
        format!("{} by {}", output::word(&one.verdict), output::printable(&one.by))
    };
    finding.feedback.as_ref().map(shown).unwrap_or_default()
}

fn listed(all: &[ListedFinding]) -> std::io::Result<()> {
    rows(
        all,
        &[
            ("at", |one| one.review.created_at.clone()),
            ("review", |one| one.review.review_id.clone()),
            ("pull request", |one| list::pull_request(&one.review)),
            ("model", |one| output::printable(&one.finding.model_id)),
            ("finding", |one| output::printable(&one.finding.finding_id)),
            ("severity", |one| output::word(&one.finding.severity)),
            ("lines", |one| {
                let of = &one.finding;
                amount::lines(&of.file_path, of.line_start, of.line_end)
            }),
            ("title", |one| consensus::title(&one.finding.title)),
        ],
    )
}
