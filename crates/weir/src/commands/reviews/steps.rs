//! `weir reviews open`, `add-response` and `complete`: a review step by step.

use clap::Args;
use serde_json::json;
use weir_api::reviews::{CompleteRequest, CompletedStatus, Review};

use super::head::HeadArgs;
use super::record::{self, SarifArgs};
use super::threshold::ThresholdArgs;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

const OPEN_HELP: &str = "\
Examples:
  ID=$(weir reviews open --owner acme --repo shop --pr 42 --title 'Add login')
  weir reviews add-response $ID gpt.json
  weir reviews add-response $ID semgrep.sarif --model semgrep
  weir reviews complete $ID --fail-on high";

const ADD_HELP: &str = "\
Examples:
  weir reviews add-response 7f3a gpt.json
  weir reviews add-response 7f3a gpt.sarif --model gpt-5 --cost-usd 0.0123 --latency-ms 2100

The JSON is one element of `responses` in the JSON of `weir reviews record`.";

/// Flags of `weir reviews open`.
#[derive(Debug, Args)]
#[command(after_help = OPEN_HELP)]
pub(super) struct OpenArgs {
    #[command(flatten)]
    head: HeadArgs,
}

/// Flags of `weir reviews add-response`.
#[derive(Debug, Args)]
#[command(after_help = ADD_HELP)]
pub(super) struct AddResponseArgs {
    /// Id of the review
    review: String,
    /// JSON of a response, or SARIF; - for standard input
    file: String,
    #[command(flatten)]
    sarif: SarifArgs,
    /// Keep the worst 2,000 findings of a response that has more, and say how many were skipped
    #[arg(long)]
    keep_worst: bool,
}

/// Flags of `weir reviews complete`.
#[derive(Debug, Args)]
pub(super) struct CompleteArgs {
    /// Id of the review
    review: String,
    /// Give the review up instead of completing it
    #[arg(long, conflicts_with = "fail_on")]
    failed: bool,
    #[command(flatten)]
    threshold: ThresholdArgs,
}

/// Opens a review, and prints its id.
pub(super) async fn open(context: &ApiContext<'_>, args: OpenArgs) -> Result<(), Failure> {
    let opened: Review = context.api.post(&context.path(&[]), &args.head.open()?).await?;
    context.print(&opened, |opened| output::line(&opened.review_id))
}

/// Adds the response of a model, or of each model in a SARIF file.
pub(super) async fn add_response(
    context: &ApiContext<'_>,
    args: AddResponseArgs,
) -> Result<(), Failure> {
    let mut responses = record::responses(&args.file, &args.sarif, args.keep_worst)?;
    record::keep_worst(&mut responses, args.keep_worst)?;
    let path = context.path(&[&args.review, "responses"]);
    let mut added = Vec::new();
    for response in &responses {
        record::check_request(&format!("the response of model {:?}", response.model_id), response)?;
        context.api.post::<serde_json::Value>(&path, response).await?;
        let findings = response.findings.len();
        added.push(
            json!({"review_id": args.review, "model_id": response.model_id, "findings": findings}),
        );
        if !context.json {
            let findings = output::counted(findings as u64, "finding");
            let model = output::printable(&response.model_id);
            output::line(format!("{model} added with {findings}"))?;
        }
    }
    if context.json { Ok(output::json(&added)?) } else { Ok(()) }
}

/// Completes a review, or gives it up.
pub(super) async fn complete(context: &ApiContext<'_>, args: CompleteArgs) -> Result<(), Failure> {
    let status = if args.failed { CompletedStatus::Failed } else { CompletedStatus::Completed };
    let request = CompleteRequest { status, consensus: None };
    let path = context.path(&[&args.review, "complete"]);
    context.api.post::<Review>(&path, &request).await?;
    record::summarize(context, &args.review, &args.threshold).await
}
