//! `--fail-on`: whether a review has an issue that should fail a build.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use weir_api::reviews::{ResponseStatus, Review, Severity};

use super::{amount, severity};
use crate::failure::Failure;
use crate::output;

/// Issues that are printed one by one.
const SHOWN_MAX: usize = 20;
/// Characters of a title in a failure.
const TITLE_MAX: usize = 100;

/// Which issues fail a build.
#[derive(Debug, Args)]
pub(super) struct ThresholdArgs {
    /// Exit with code 4 if the review has an issue of this severity or a worse one, or if no model responded
    #[arg(long, value_name = "SEVERITY", value_parser = severity::parser())]
    fail_on: Option<Severity>,
    /// Which issues count for --fail-on: those that several models found, or those of any model
    #[arg(long, value_name = "WHICH", default_value = "consensus")]
    agreement: Agreement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Agreement {
    /// Issues that several models found
    Consensus,
    /// Issues of any model
    Any,
}

impl ThresholdArgs {
    /// The parts of the review that [`ThresholdArgs::check`] reads.
    pub(super) fn include(&self) -> &'static str {
        match (self.fail_on, self.agreement) {
            (Some(_), Agreement::Any) => "responses,findings,consensus",
            _ => "responses,consensus",
        }
    }

    /// Fails if the review has an issue that is bad enough.
    pub(super) fn check(&self, review: &Review) -> Result<(), Failure> {
        let Some(least) = self.fail_on else { return Ok(()) };
        let responses = review.responses.as_deref().unwrap_or_default();
        let is_success = |response: &&_| succeeded(response);
        match (responses.iter().filter(is_success).count(), self.agreement) {
            (0, _) => return Err(Failure::differs("no model responded, so nothing was reviewed")),
            (1, Agreement::Consensus) => output::note(
                "only one model responded, so no issue can have a consensus; --agreement any counts its findings",
            ),
            _ => {}
        }
        let issues = issues(review, least, self.agreement);
        if issues.is_empty() {
            return Ok(());
        }
        let count = output::counted(issues.len() as u64, "issue");
        let verb = if issues.len() == 1 { "is" } else { "are" };
        let message = format!("{count} {verb} {} or worse", output::word(&least));
        let shown = issues.iter().take(SHOWN_MAX);
        let failure = shown.fold(Failure::differs(message), Failure::because);
        Err(match issues.len().saturating_sub(SHOWN_MAX) {
            0 => failure,
            more => failure.because(format!("and {more} more")),
        })
    }
}

fn succeeded(response: &weir_api::reviews::Response) -> bool {
    response.status == ResponseStatus::Success
}

/// The issues of at least this severity, the worst first. A finding counts with its consensus if that is bad enough.
fn issues(review: &Review, least: Severity, agreement: Agreement) -> Vec<String> {
    let is_bad = |severity| severity::ranked(severity) >= severity::ranked(least);
    let consensus = review.consensus.iter().flatten().filter(|one| is_bad(one.severity));
    let members = consensus.clone().flat_map(|one| &one.members);
    let members: BTreeSet<(&str, &str)> =
        members.map(|member| (&*member.model_id, &*member.finding_id)).collect();
    let consensus = consensus.map(|one| {
        let lines = amount::lines(&one.file_path, one.line_start, one.line_end);
        (one.severity, lines, &one.title, one.agreeing_models.join(", "))
    });
    let findings = review.findings.iter().flatten().filter(|one| {
        let is_member = members.contains(&(&*one.model_id, &*one.finding_id));
        agreement == Agreement::Any && is_bad(one.severity) && !is_member
    });
    let findings = findings.map(|one| {
        let lines = amount::lines(&one.file_path, one.line_start, one.line_end);
        (one.severity, lines, &one.title, one.model_id.clone())
    });
    let mut issues: Vec<_> = consensus.chain(findings).collect();
    issues.sort_by_key(|(one, ..)| std::cmp::Reverse(severity::ranked(*one)));
    let line = |(one, lines, title, models): (Severity, String, &String, String)| {
        let title = output::cut(title, TITLE_MAX);
        format!("{} {lines} {title} ({models})", output::word(&one))
    };
    issues.into_iter().map(line).collect()
}
