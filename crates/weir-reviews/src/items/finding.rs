//! The item of a finding, with what a person says of it.

use weir_table::Item;
use weir_table::expr::{Condition, Update, attr, set};

use super::{Fields, ItemContext, in_index};
use crate::error::Result;
use crate::finding::{Finding, Severity};
use crate::keys::{self, GSI2, GSI3};
use crate::review::{Feedback, RecordedFinding};
use crate::time::rfc3339;

const FEEDBACK: &str = "feedback";
const FEEDBACK_BY: &str = "feedback_by";
const FEEDBACK_AT: &str = "feedback_at";
const IN_CONSENSUS: &str = "in_consensus";
const CATEGORY: &str = "category";
const SUGGESTION: &str = "suggestion";
const RULE: &str = "rule";

impl RecordedFinding {
    /// The item of the finding.
    pub(crate) fn encode(&self, context: &ItemContext) -> Item {
        let ItemContext { review, created_at_ms, shard, .. } = context;
        let Finding { model, id, severity, category, .. } = &self.finding;
        let mut item = context
            .item(keys::finding(review, model, id), "FINDING")
            .with("finding_id", id.as_str())
            .with("model_id", model.as_str())
            .with("severity", severity.as_str())
            .with("file_path", self.finding.file_path.as_str())
            .with("line_start", self.finding.line_start)
            .with("line_end", self.finding.line_end)
            .with("title", self.finding.title.as_str())
            .with("description", self.finding.description.as_str())
            .with(IN_CONSENSUS, self.in_consensus);
        if let Some(suggestion) = &self.finding.suggestion {
            item.set(SUGGESTION, suggestion.as_str());
        }
        if let Some(rule) = &self.finding.rule {
            item.set(RULE, rule.as_str());
        }
        let sort = keys::finding_gsi2_sort(*created_at_ms, category.as_ref());
        item = in_index(item, GSI2, keys::by_severity(*severity, *shard), sort);
        if let Some(category) = category {
            item.set(CATEGORY, category.as_str());
            let sort = keys::finding_gsi3_sort(*created_at_ms, *severity, model);
            item = in_index(item, GSI3, keys::by_category(category), sort);
        }
        match &self.feedback {
            Some(feedback) => with_feedback(item, feedback),
            None => item,
        }
    }

    /// Decodes a finding.
    pub(crate) fn decode(item: &Item) -> Result<RecordedFinding> {
        let fields = Fields(item);
        let severity = Severity::parse(fields.text("severity")?);
        let finding = Finding {
            model: fields.parse("model_id")?,
            id: fields.parse("finding_id")?,
            severity: severity.map_err(|_| fields.wrong("severity"))?,
            category: fields.parse_optional(CATEGORY)?,
            file_path: fields.text("file_path")?.to_owned(),
            line_start: fields.line("line_start")?,
            line_end: fields.line("line_end")?,
            title: fields.text("title")?.to_owned(),
            description: fields.text("description")?.to_owned(),
            suggestion: item.s(SUGGESTION).map(str::to_owned),
            rule: item.s(RULE).map(str::to_owned),
        };
        let feedback = decode_feedback(fields)?;
        Ok(RecordedFinding { finding, in_consensus: fields.is_true(IN_CONSENSUS), feedback })
    }
}

/// The change of an item that records feedback.
pub(crate) fn feedback_update(feedback: &Feedback) -> Update {
    set(FEEDBACK, verdict(feedback))
        .set(FEEDBACK_BY, feedback.by.as_str())
        .set(FEEDBACK_AT, rfc3339(feedback.at_ms))
}

/// Requires that a finding exists, and that its feedback is as it was read.
pub(crate) fn feedback_unchanged(known: &RecordedFinding) -> Condition {
    let exists = attr("PK").exists();
    match &known.feedback {
        None => exists.and(attr(FEEDBACK).absent()),
        Some(feedback) => exists
            .and(attr(FEEDBACK).eq(verdict(feedback)))
            .and(attr(FEEDBACK_BY).eq(feedback.by.as_str()))
            .and(attr(FEEDBACK_AT).eq(rfc3339(feedback.at_ms))),
    }
}

fn with_feedback(item: Item, feedback: &Feedback) -> Item {
    item.with(FEEDBACK, verdict(feedback))
        .with(FEEDBACK_BY, feedback.by.as_str())
        .with(FEEDBACK_AT, rfc3339(feedback.at_ms))
}

fn verdict(feedback: &Feedback) -> &'static str {
    if feedback.accepted { "accepted" } else { "dismissed" }
}

fn decode_feedback(fields: Fields<'_>) -> Result<Option<Feedback>> {
    let accepted = match fields.0.s(FEEDBACK) {
        None => return Ok(None),
        Some("accepted") => true,
        Some("dismissed") => false,
        Some(_) => return Err(fields.wrong(FEEDBACK)),
    };
    let (by, at_ms) = (fields.parse(FEEDBACK_BY)?, fields.time(FEEDBACK_AT)?);
    Ok(Some(Feedback { accepted, by, at_ms }))
}
