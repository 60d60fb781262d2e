//! `weir reviews show`: a review with its models and the issues they agree on.

use clap::Args;
use weir_api::reviews::{Consensus, Response, Review, ReviewStatus};

use super::{amount, consensus, severity};
use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::{output, time};

/// Flags of `weir reviews show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Id of the review
    review: String,
}

pub(super) async fn run(context: &ApiContext<'_>, args: ShowArgs) -> Result<(), Failure> {
    let include = [("include", Some("responses,consensus"))];
    let path = with_query(&context.path(&[&args.review]), &include);
    let review: Review = context.api.get(&path).await?;
    context.print(&review, |review| {
        models(review.responses.as_deref().unwrap_or_default())?;
        if let Some(agreed) = review.consensus.as_deref().filter(|agreed| !agreed.is_empty()) {
            consensus::table(agreed)?;
        }
        about(review)?;
        summary(review)
    })
}

/// Issues that models agree on, findings, cost and id of a review, in two lines.
pub(super) fn summary(review: &Review) -> std::io::Result<()> {
    let state = match review.status {
        ReviewStatus::Completed => "",
        ReviewStatus::InProgress => " (in progress)",
        ReviewStatus::Failed => " (failed)",
    };
    output::line(format!("review {} of {}{state}", review.review_id, name(review)))?;
    let findings = output::counted(review.total_findings, "finding");
    let models = output::counted(review.models_used.len() as u64, "model");
    let cost = amount::dollars(&review.total_cost_usd);
    output::line(format!("{}; {findings} of {models}, {cost}", agreed(review)))
}

/// `3 issues that several models found, the worst high`.
fn agreed(review: &Review) -> String {
    let worst = review.consensus.iter().flatten().map(|one: &Consensus| one.severity);
    match (review.consensus_findings, worst.max_by_key(|one| severity::ranked(*one))) {
        (0, _) => "no issue that several models found".to_owned(),
        (1, Some(worst)) => format!("1 issue that several models found, {}", output::word(&worst)),
        (count, Some(worst)) => {
            let count = output::thousands(count);
            format!("{count} issues that several models found, the worst {}", output::word(&worst))
        }
        (count, None) => format!("{} that several models found", output::counted(count, "issue")),
    }
}

/// The pull request of a review: `acme/shop#42`.
pub(super) fn name(review: &Review) -> String {
    format!("{}/{}#{}", review.owner, review.repo, review.pr_number)
}

fn about(review: &Review) -> std::io::Result<()> {
    for text in [&review.pr_title, &review.pr_url] {
        if !text.is_empty() {
            output::line(output::printable(text))?;
        }
    }
    let by = review.requested_by.as_deref().map(output::printable);
    let by = by.map(|by| format!(", requested by {by}")).unwrap_or_default();
    output::line(format!("{}{by}", time::until(&review.created_at)))
}

fn models(responses: &[Response]) -> std::io::Result<()> {
    let rows = responses.iter().map(|response| {
        vec![
            output::printable(&response.model_id),
            output::word(&response.status),
            output::thousands(response.findings_count),
            amount::seconds(response.latency_ms),
            output::thousands(response.input_tokens),
            output::thousands(response.output_tokens),
            amount::dollars(&response.cost_usd),
        ]
    });
    let names = ["model", "status", "findings", "latency", "input", "output", "cost"];
    output::table(header(names), rows, &[2, 3, 4, 5, 6])
}
