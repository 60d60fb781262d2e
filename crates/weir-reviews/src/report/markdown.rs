//! The comment on a pull request.
//!
//! Headline and table of models are always whole. The rest shares the space that a comment has, each part as far as it fits,
//! and says how much is left out. An entry is written whole or not, so that no markup stays open.

use super::shown::{clipped, count, dollars, place, plural, seconds};
use super::{agreed, alone, escape, headline, in_consensus, summary, titled};
use crate::bounds::{
    MARKDOWN_MAX, REPORT_DESCRIPTION_MAX, REPORT_NAME_MAX, REPORT_NOTE_MAX, REPORT_TITLE_MAX,
};
use crate::finding::Finding;
use crate::ids::ModelId;
use crate::review::{Consensus, RecordedReview, Response};

/// Space for the note that entries are left out.
const NOTE_MAX: usize = 100;

/// The review as Markdown: what models agree on, what each of them found alone, and what they cost. At most
/// [`MARKDOWN_MAX`] bytes.
#[must_use]
pub fn markdown(review: &RecordedReview) -> String {
    let head = head(review);
    let tail = models_table(review);
    let agreed = agreed(review);
    let mut left = MARKDOWN_MAX.saturating_sub(head.len() + tail.len());
    let table = consensus_table(&agreed, left / 2);
    left = left.saturating_sub(table.len());
    let details = consensus_details(review, &agreed, left / 3 * 2);
    left = left.saturating_sub(details.len());
    let alone = single_findings(review, left);
    [head, table, details, alone, tail].concat()
}

fn head(review: &RecordedReview) -> String {
    let names: Vec<String> = review.review.models.iter().map(model_name).collect();
    let colon = if names.is_empty() { "" } else { ": " };
    let summary = summary(review);
    format!("## {}\n\n{summary}{colon}{}\n", headline(review), names.join(", "))
}

fn consensus_table(agreed: &[&Consensus], space: usize) -> String {
    if agreed.is_empty() {
        return String::new();
    }
    let heading = "\n| | Severity | Where | Issue | Models | Confidence |\n\
                   |---:|---|---|---|---|---|\n";
    let rows = agreed.iter().enumerate().map(|(index, consensus)| {
        let place = place(&consensus.file_path, consensus.line_start, consensus.line_end);
        format!(
            "| {} | {} | {} | {} | {} of {} | {} |\n",
            index + 1,
            consensus.severity,
            escape::code(&place),
            escape::inline(&clipped(&consensus.title, REPORT_TITLE_MAX)),
            consensus.agreeing_models.len(),
            consensus.models_asked,
            consensus.confidence().as_str(),
        )
    });
    entries(heading, rows, "", space)
}

fn consensus_details(review: &RecordedReview, agreed: &[&Consensus], space: usize) -> String {
    let details = agreed.iter().enumerate().map(|(index, consensus)| {
        let title = escape::html(&clipped(&consensus.title, REPORT_TITLE_MAX));
        let models: Vec<String> = consensus.agreeing_models.iter().map(model_name).collect();
        let description = clipped(&consensus.merged_description, REPORT_DESCRIPTION_MAX);
        format!(
            "\n<details><summary>{}. {title}</summary>\n\n{}\n\n{}Found by: {}\n\n</details>\n",
            index + 1,
            escape::block(&description),
            suggestions(review, consensus),
            models.join(", "),
        )
    });
    entries("", details, "", space)
}

/// How the models would mend the issue, a paragraph each.
fn suggestions(review: &RecordedReview, consensus: &Consensus) -> String {
    let is_member = |finding: &Finding| {
        let mut members = consensus.members.iter();
        members.any(|member| member.model == finding.model && member.finding == finding.id)
    };
    let findings = review.findings.iter().map(|recorded| &recorded.finding);
    findings
        .filter(|finding| is_member(finding))
        .filter_map(|finding| {
            let text = finding.suggestion.as_deref().filter(|text| !text.trim().is_empty())?;
            let text = escape::block(&clipped(text, REPORT_NOTE_MAX));
            Some(format!("Suggestion of {}: {text}\n\n", model_name(&finding.model)))
        })
        .collect()
}

/// The findings of each model alone. Models share the space, and what one leaves is for the next.
fn single_findings(review: &RecordedReview, space: usize) -> String {
    let groups = alone(review);
    if groups.is_empty() {
        return String::new();
    }
    let mut text = "\n### Found by one model only\n".to_owned();
    let mut left = space.saturating_sub(text.len() + NOTE_MAX);
    let mut more = 0;
    let models = groups.len();
    for (index, (model, findings)) in groups.into_iter().enumerate() {
        let group = single_model(model, &findings, left / (models - index));
        left = left.saturating_sub(group.len());
        more += if group.is_empty() { findings.len() } else { 0 };
        text.push_str(&group);
    }
    text + &left_out(more)
}

fn single_model(model: &str, findings: &[&Finding], space: usize) -> String {
    let start = format!(
        "\n<details><summary>{}: {}</summary>\n\n",
        escape::html(&clipped(model, REPORT_NAME_MAX)),
        plural(findings.len(), "finding"),
    );
    let lines = findings.iter().map(|finding| single_finding(finding));
    entries(&start, lines, "\n</details>\n", space)
}

/// An item of a list, with paragraphs for what the title does not say.
fn single_finding(finding: &Finding) -> String {
    let place = place(&finding.file_path, finding.line_start, finding.line_end);
    let title = escape::inline(&clipped(&titled(finding), REPORT_TITLE_MAX));
    let mut item = format!("- {} {} {title}\n", finding.severity, escape::code(&place));
    if finding.description.trim() != finding.title.trim() {
        item.push_str(&paragraphs("", &finding.description));
    }
    if let Some(suggestion) = &finding.suggestion {
        item.push_str(&paragraphs("Suggestion: ", suggestion));
    }
    item
}

/// A text inside of an item of a list.
fn paragraphs(label: &str, text: &str) -> String {
    let text = escape::block(&clipped(text, REPORT_NOTE_MAX));
    if text.is_empty() {
        return text;
    }
    let text = format!("{label}{text}");
    let lines = text.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n");
    format!("\n{}", lines.collect::<String>())
}

fn models_table(review: &RecordedReview) -> String {
    if review.responses.is_empty() {
        return String::new();
    }
    let heading = "\n### Models\n\n\
        | Model | Status | Findings | In consensus | Cost | Latency | Input tokens | Output tokens |\n\
        |---|---|---:|---:|---:|---:|---:|---:|\n";
    let rows = review.responses.iter().map(|response| model_row(review, response));
    format!("{heading}{}", rows.collect::<String>())
}

fn model_row(review: &RecordedReview, response: &Response) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        model_name(&response.model),
        response.status.as_str(),
        count(response.findings_count),
        count(in_consensus(review, response.model.as_str()) as u64),
        dollars(response.cost),
        seconds(response.latency_ms),
        count(response.input_tokens),
        count(response.output_tokens),
    )
}

fn model_name(model: &ModelId) -> String {
    escape::inline(&clipped(model.as_str(), REPORT_NAME_MAX))
}

/// As many entries as fit between `start` and `end`, and how many are left out. Nothing if not even the start fits.
fn entries(
    start: &str,
    entries: impl ExactSizeIterator<Item = String>,
    end: &str,
    space: usize,
) -> String {
    let Some(mut left) = space.checked_sub(start.len() + end.len() + NOTE_MAX) else {
        return String::new();
    };
    let mut more = entries.len();
    let mut text = start.to_owned();
    for entry in entries {
        let Some(rest) = left.checked_sub(entry.len()) else { break };
        left = rest;
        text.push_str(&entry);
        more -= 1;
    }
    text.push_str(&left_out(more));
    text.push_str(end);
    text
}

fn left_out(more: usize) -> String {
    if more == 0 { String::new() } else { format!("\n… and {} more\n", count(more as u64)) }
}
