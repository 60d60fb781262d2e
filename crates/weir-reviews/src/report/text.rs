//! The report for a terminal: plain text of at most [`REPORT_COLUMNS`] columns, without colours.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::shown::{clipped, count, dollars, place, plural, seconds};
use super::{agreed, alone, escape, headline, in_consensus, summary, titled};
use crate::bounds::{REPORT_COLUMNS, REPORT_DESCRIPTION_MAX, REPORT_TITLE_MAX};
use crate::finding::Finding;
use crate::review::{Consensus, RecordedReview};

/// Columns of the widest severity, and two blanks.
const SEVERITY_COLUMNS: usize = 10;
/// Most columns of a model's name in the table of models.
const MODEL_COLUMNS: usize = 32;

/// The review as plain text: what models agree on, what each of them found alone, and what they cost.
#[must_use]
pub fn text(review: &RecordedReview) -> String {
    let mut lines = head(review);
    for consensus in agreed(review) {
        lines.push(String::new());
        lines.extend(consensus_lines(consensus));
    }
    for (model, findings) in alone(review) {
        let found = plural(findings.len(), "finding");
        lines.push(String::new());
        lines.extend(wrapped(&format!("Only {model}: {found}"), 0));
        lines.extend(findings.into_iter().flat_map(finding_lines));
    }
    lines.extend(model_lines(review));
    lines.push(String::new());
    lines.join("\n")
}

fn head(review: &RecordedReview) -> Vec<String> {
    let pull_request = &review.review.pull_request;
    let (owner, repo, number) = (&pull_request.owner, &pull_request.repo, pull_request.number);
    let title = clipped(&pull_request.title, REPORT_TITLE_MAX);
    let mut lines = wrapped(&headline(review), 0);
    lines.extend(wrapped(&format!("{owner}/{repo}#{number} {title}"), 0));
    lines.push(summary(review));
    lines
}

fn consensus_lines(consensus: &Consensus) -> Vec<String> {
    let place = place(&consensus.file_path, consensus.line_start, consensus.line_end);
    let models: Vec<&str> = consensus.agreeing_models.iter().map(|model| model.as_str()).collect();
    let agreement = format!(
        "{} of {} models, {} confidence: {}",
        models.len(),
        consensus.models_asked,
        consensus.confidence().as_str(),
        models.join(", ")
    );
    let mut lines = labelled(consensus.severity.as_str(), &place);
    lines.extend(wrapped(&clipped(&consensus.title, REPORT_TITLE_MAX), SEVERITY_COLUMNS));
    lines.extend(wrapped(&agreement, SEVERITY_COLUMNS));
    let description = clipped(&consensus.merged_description, REPORT_DESCRIPTION_MAX);
    lines.extend(description.lines().flat_map(|line| wrapped(line, SEVERITY_COLUMNS + 2)));
    lines
}

fn finding_lines(finding: &Finding) -> Vec<String> {
    let place = place(&finding.file_path, finding.line_start, finding.line_end);
    let title = clipped(&titled(finding), REPORT_TITLE_MAX);
    labelled(finding.severity.as_str(), &format!("{place} {title}"))
}

fn model_lines(review: &RecordedReview) -> Vec<String> {
    if review.responses.is_empty() {
        return Vec::new();
    }
    let header = ["Model", "Status", "Found", "Agreed", "Cost", "Latency", "Input", "Output"];
    let mut rows = vec![header.map(str::to_owned)];
    rows.extend(review.responses.iter().map(|response| {
        [
            fitting(&escape::one_line(response.model.as_str()), MODEL_COLUMNS),
            response.status.as_str().to_owned(),
            count(response.findings_count),
            count(in_consensus(review, response.model.as_str()) as u64),
            dollars(response.cost),
            seconds(response.latency_ms),
            count(response.input_tokens),
            count(response.output_tokens),
        ]
    }));
    let widths: [usize; 8] = std::array::from_fn(|column| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or(0)
    });
    let aligned = rows.iter().map(|row| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            let blanks = " ".repeat(width - cell.width().min(width));
            // Names to the left, numbers to the right.
            if column < 2 { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    std::iter::once(String::new()).chain(aligned).collect()
}

/// A text beside its label.
fn labelled(label: &str, text: &str) -> Vec<String> {
    let mut lines = wrapped(text, SEVERITY_COLUMNS);
    if let Some(first) = lines.first_mut() {
        *first = format!("{label:SEVERITY_COLUMNS$}{}", first.trim_start());
    }
    lines
}

/// The text in lines that fit, broken at blanks and within long words, behind `indent` blanks.
fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let text = escape::one_line(text);
    let mut lines: Vec<String> = Vec::new();
    // How many columns are left in the last line.
    let mut left = 0;
    for (index, word) in text.split(' ').filter(|word| !word.is_empty()).enumerate() {
        if index == 0 || word.width() + 1 > left {
            left = new_line(&mut lines, indent);
        } else {
            push(&mut lines, ' ');
            left -= 1;
        }
        for c in word.chars() {
            let columns = c.width().unwrap_or(0);
            if columns > left {
                left = new_line(&mut lines, indent);
            }
            push(&mut lines, c);
            left = left.saturating_sub(columns);
        }
    }
    lines
}

fn new_line(lines: &mut Vec<String>, indent: usize) -> usize {
    lines.push(" ".repeat(indent));
    REPORT_COLUMNS.saturating_sub(indent)
}

fn push(lines: &mut [String], c: char) {
    if let Some(line) = lines.last_mut() {
        line.push(c);
    }
}

/// As much of the text as has at most `columns`.
fn fitting(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if short.width() + c.width().unwrap_or(0) + 1 > columns {
            break;
        }
        short.push(c);
    }
    short + "…"
}
