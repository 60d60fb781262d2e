//! `weir reviews feedback`: what a person says of a finding.

use clap::Args;
use weir_api::reviews::{FeedbackRequest, Finding, Verdict};

use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir reviews feedback 7f3a gpt-5 finding-001 --accept --by octocat
  weir reviews feedback 7f3a gpt-5 finding-002 --dismiss --by octocat

Feedback that is given again replaces the earlier one. `weir reviews compare` has the share of \
accepted findings.";

/// Flags of `weir reviews feedback`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct FeedbackArgs {
    /// Id of the review
    review: String,
    /// Id of the model, for example gpt-5
    model: String,
    /// Id of the finding
    finding: String,
    /// The finding is right
    #[arg(long, required_unless_present = "dismiss")]
    accept: bool,
    /// The finding is wrong or not useful
    #[arg(long, conflicts_with = "accept")]
    dismiss: bool,
    /// Name of the person, for example octocat
    #[arg(long, value_name = "NAME")]
    by: String,
}

pub(super) async fn run(context: &ApiContext<'_>, args: FeedbackArgs) -> Result<(), Failure> {
    let verdict = if args.accept { Verdict::Accepted } else { Verdict::Dismissed };
    let request = FeedbackRequest { verdict, by: args.by };
    let parts = [&*args.review, "findings", &args.model, &args.finding, "feedback"];
    let finding: Finding = context.api.post(&context.path(&parts), &request).await?;
    context.print(&finding, |finding| {
        let (id, model) =
            (output::printable(&finding.finding_id), output::printable(&finding.model_id));
        let (verdict, by) = (output::word(&request.verdict), output::printable(&request.by));
        output::line(format!("finding {id} of {model} was {verdict} by {by}"))
    })
}
