//! Reports of reviews for people: the comment on a pull request, the text in a terminal, and the threshold of a build.

pub(crate) mod escape;
mod markdown;
mod shown;
mod text;

pub use markdown::markdown;
pub use text::text;

use self::shown::{dollars, plural};
use crate::finding::{Finding, Severity};
use crate::review::{Consensus, RecordedReview, Response, ResponseStatus, ReviewStatus};

/// Which issues count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Issues that several models found.
    Consensus,
    /// Findings of any model.
    Any,
}

/// The worst severity of the review's issues; none if it has none.
#[must_use]
pub fn worst(review: &RecordedReview, agreement: Agreement) -> Option<Severity> {
    let agreed = review.consensus.iter().map(|consensus| consensus.severity).max();
    match agreement {
        Agreement::Consensus => agreed,
        Agreement::Any => {
            let any = review.findings.iter().map(|recorded| recorded.finding.severity).max();
            agreed.max(any)
        }
    }
}

/// The consensus of a review, in the order of reports: worst first, then what most models agree on.
fn agreed(review: &RecordedReview) -> Vec<&Consensus> {
    let mut agreed: Vec<&Consensus> = review.consensus.iter().collect();
    agreed.sort_by(|a, b| {
        let by_weight = |c: &Consensus| (c.severity, c.agreeing_models.len());
        let by_place = |c: &Consensus| (c.line_start, c.line_end);
        (by_weight(b).cmp(&by_weight(a)))
            .then_with(|| a.file_path.cmp(&b.file_path))
            .then_with(|| by_place(a).cmp(&by_place(b)))
            .then_with(|| a.id.cmp(&b.id))
    });
    agreed
}

/// The findings of one model only, by model, worst first. Models without any are left out.
fn alone(review: &RecordedReview) -> Vec<(&str, Vec<&Finding>)> {
    let mut groups: Vec<(&str, Vec<&Finding>)> = Vec::new();
    let mut findings: Vec<&Finding> = review
        .findings
        .iter()
        .filter(|recorded| !recorded.in_consensus)
        .map(|recorded| &recorded.finding)
        .collect();
    findings.sort_by(|a, b| {
        (a.model.cmp(&b.model))
            .then_with(|| b.severity.cmp(&a.severity))
            .then_with(|| a.file_path.cmp(&b.file_path))
            .then_with(|| (a.line_start, &a.id).cmp(&(b.line_start, &b.id)))
    });
    for finding in findings {
        match groups.last_mut() {
            Some((model, group)) if *model == finding.model.as_str() => group.push(finding),
            _ => groups.push((finding.model.as_str(), vec![finding])),
        }
    }
    groups
}

/// Findings of a model that others made too.
fn in_consensus(review: &RecordedReview, model: &str) -> usize {
    let is_agreed = |recorded: &&crate::review::RecordedFinding| {
        recorded.in_consensus && recorded.finding.model.as_str() == model
    };
    review.findings.iter().filter(is_agreed).count()
}

/// The title of a finding with its rule: `SQL injection (B608)`.
fn titled(finding: &Finding) -> String {
    match &finding.rule {
        Some(rule) => format!("{} ({rule})", finding.title.trim()),
        None => finding.title.trim().to_owned(),
    }
}

/// The result of the review, in one sentence.
fn headline(review: &RecordedReview) -> String {
    let found = match (review.consensus.len(), worst(review, Agreement::Consensus)) {
        (1, Some(worst)) => format!("1 issue that models agree on, {worst}"),
        (count, Some(worst)) => format!("{count} issues that models agree on, the worst {worst}"),
        (_, None) => "No issue that models agree on".to_owned(),
    };
    match review.review.status {
        ReviewStatus::Completed => found,
        ReviewStatus::InProgress => format!("{found} (the review is in progress)"),
        ReviewStatus::Failed => format!("{found} (the review failed)"),
    }
}

/// How much the review found and cost, and how many models took part.
fn summary(review: &RecordedReview) -> String {
    let findings = plural(review.findings.len(), "finding");
    let cost = dollars(review.review.total_cost);
    let models = plural(review.review.models.len(), "model");
    let is_failed = |response: &&Response| response.status != ResponseStatus::Success;
    match review.responses.iter().filter(is_failed).count() {
        0 => format!("{findings}, {cost}, {models}"),
        failed => format!("{findings}, {cost}, {models} ({failed} failed)"),
    }
}
