//! `weir reviews record`: a whole review from files.

mod bound;
mod input;
mod send;

use clap::Args;
use weir_api::reviews::{NewReview, Review};

pub(super) use self::bound::{check_request, keep_worst};
pub(super) use self::input::{SarifArgs, responses};

use super::head::HeadArgs;
use super::show;
use super::threshold::ThresholdArgs;
use crate::commands::api_context::{ApiContext, with_query};
use crate::failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  weir reviews record review.json
  weir reviews record review.json --fail-on high > summary.txt
  weir reviews record eslint.sarif semgrep.sarif --owner acme --repo shop --pr 42 --fail-on medium --agreement any
  weir reviews record - --model gpt-5 --cost-usd 0.0123 --owner acme --repo shop --pr 42 < gpt.sarif

The JSON is the body of POST /v1/reviews:
  {\"owner\": \"acme\", \"repo\": \"shop\", \"pr_number\": 42, \"pr_title\": \"Add login\", \"pr_url\": \"https://…\",
   \"responses\": [{\"model_id\": \"gpt-5\", \"status\": \"success\", \"input_tokens\": 1200, \"output_tokens\": 300,
     \"latency_ms\": 2100, \"cost_usd\": \"0.0123\", \"findings\": [{\"finding_id\": \"1\", \"severity\": \"high\",
       \"category\": \"security\", \"file_path\": \"src/login.py\", \"line_start\": 3, \"line_end\": 5,
       \"title\": \"SQL injection\", \"description\": \"…\"}]}]}

SARIF 2.1.0 is recognised by its content. Each SARIF file has the findings of one model, or one \
run for each.

Exit code 4 says that --fail-on found an issue; the review is recorded then too.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct RecordArgs {
    /// JSON of a review, SARIF files, or both; - for standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<String>,
    #[command(flatten)]
    head: HeadArgs,
    #[command(flatten)]
    sarif: SarifArgs,
    /// Keep the worst 2,000 findings of a review that has more, and say how many were skipped
    #[arg(long)]
    keep_worst: bool,
    /// Replace a review of the same id that has other content
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    threshold: ThresholdArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: RecordArgs) -> Result<(), Failure> {
    let review = read(&args)?;
    let id = review.review_id.clone().unwrap_or_default();
    let sent = send::review(context, &review, args.replace).await;
    sent.map_err(|failure| match failure.is_fault() {
        true => failure.because(format!("repeat it with `--id {id}`: nothing is recorded twice")),
        false => failure,
    })?;
    summarize(context, &id, &args.threshold).await
}

/// Prints what models agree on, and checks the threshold.
pub(super) async fn summarize(
    context: &ApiContext<'_>,
    id: &str,
    threshold: &ThresholdArgs,
) -> Result<(), Failure> {
    let path = with_query(&context.path(&[id]), &[("include", Some(threshold.include()))]);
    let recorded: Review = context.api.get(&path).await?;
    context.print(&recorded, show::summary)?;
    threshold.check(&recorded)
}

fn read(args: &RecordArgs) -> Result<NewReview, Failure> {
    let input = input::read(&args.inputs, &args.sarif, args.keep_worst)?;
    let mut review = args.head.review(input.fields, &args.inputs.join(", "))?;
    review.responses.extend(input.responses);
    keep_worst(&mut review.responses, args.keep_worst)?;
    Ok(review)
}
