//! `weir reviews report`: a review for people and for other tools.

use clap::{Args, ValueEnum};
use weir_api::reviews::{ReportFormat, ReportParams, SarifParams};

use crate::commands::api_context::{ApiContext, with_params, with_query};
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir reviews report 7f3a
  weir reviews report 7f3a --format markdown > comment.md && gh pr comment 42 --body-file comment.md
  weir reviews report 7f3a --format sarif > agreed.sarif

Markdown fits into a comment on GitHub. SARIF has the issues that models agree on, or with \
--findings every finding.";

/// Flags of `weir reviews report`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ReportArgs {
    /// Id of the review
    review: String,
    /// Format of the report [default: text on a terminal, otherwise markdown]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Every finding as one run for each model, instead of the consensus; with --format sarif only
    #[arg(long)]
    findings: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a comment on the pull request
    Markdown,
    /// For programs: the review with responses, findings and consensus
    Json,
    /// For code scanning tools
    Sarif,
    /// For a terminal
    Text,
}

pub(super) async fn run(context: &ApiContext<'_>, args: ReportArgs) -> Result<(), Failure> {
    let format = args.format.unwrap_or(match (context.json, output::is_terminal()) {
        (true, _) => Format::Json,
        (false, true) => Format::Text,
        (false, false) => Format::Markdown,
    });
    if args.findings && format != Format::Sarif {
        return Err(Failure::usage("--findings is for --format sarif only"));
    }
    let path = |part: &str| context.path(&[&args.review, part]);
    let path = match format {
        Format::Json => {
            let parts = [("include", Some("responses,findings,consensus"))];
            let path = with_query(&context.path(&[&args.review]), &parts);
            let review: serde_json::Value = context.api.get(&path).await?;
            return Ok(output::json(&review)?);
        }
        Format::Sarif => with_params(&path("sarif"), &SarifParams { findings: args.findings }),
        Format::Markdown => {
            with_params(&path("report"), &ReportParams { format: ReportFormat::Markdown })
        }
        Format::Text => with_params(&path("report"), &ReportParams { format: ReportFormat::Text }),
    };
    Ok(output::bytes(&context.api.body(&path?).await?)?)
}
