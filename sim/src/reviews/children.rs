//! Checks every write below a review: only writers of the present revision write, and only what the model has.

use weir_reviews::ids::{FindingId, ModelId, ReviewId};
use weir_reviews::keys;
use weir_reviews::record::NewResponse;
use weir_reviews::review::{Consensus, Feedback, RecordedFinding, RecordedReview, Response};
use weir_reviews::time::rfc3339;
use weir_table::{Item, Value};

use super::{Op, Simulation};
use crate::check::{Check, Violation};
use crate::model::review::{self, Review, Stage};
use crate::store::ItemChange;

impl Simulation {
    /// Checks the write of an item that belongs to a review. `before` is the review before the commit.
    pub(super) fn check_child(
        &mut self,
        index: usize,
        id: &ReviewId,
        before: Option<&Review>,
        change: &ItemChange,
    ) -> Vec<Violation> {
        let item = change.new.as_ref().or(change.old.as_ref());
        let pk = item.and_then(|item| item.s("PK")).unwrap_or_default();
        let sk = item.and_then(|item| item.s("SK")).unwrap_or_default();
        let is_child = pk.starts_with(keys::REVIEW_PREFIX);
        let is_cost = sk.starts_with(keys::COST_PREFIX);
        if !is_child && !is_cost {
            return Vec::new();
        }
        let mut violations = Vec::new();
        if !self.may_write(index, id, before, sk, change) {
            let found = format!("task {} writes {}", self.run.tasks[index].id, change.key);
            violations.push(Violation::new(Check::Revision, found));
        }
        if is_child && sk.starts_with(keys::FINDING_PREFIX) {
            violations.extend(self.follow_feedback(index, id, change));
        }
        violations
    }

    /// Whether a request may write an item below a review.
    fn may_write(
        &self,
        index: usize,
        id: &ReviewId,
        before: Option<&Review>,
        sk: &str,
        change: &ItemChange,
    ) -> bool {
        let Some(review) = self.reviews.get(id).or(before) else { return false };
        let (op, new) = (&self.run.tasks[index].op, change.new.as_ref());
        let is_deletion = review.stage == Stage::Deleting && new.is_none();
        let as_planned = || review.plan.as_deref().is_some_and(|plan| is_planned(plan, sk, new));
        let may_end = matches!(review.stage, Stage::Recording | Stage::Completing);
        match op {
            Op::Record { content, .. } => {
                is_deletion || may_end && review.has_content(content) && as_planned()
            }
            Op::Open { .. } => is_deletion || review.stage == Stage::InProgress && sk == "FILES",
            Op::Add { response, .. } => {
                let is_own = review.responses.get(&response.model).is_some_and(|of| of == response);
                review.stage == Stage::InProgress && is_own && is_of_response(response, sk, new)
            }
            Op::Complete { completion, .. } => {
                let is_own = review.completion.as_ref() == Some(completion);
                review.stage == Stage::Completing && is_own && as_planned()
            }
            Op::Feedback { of: (model, finding), .. } => {
                let is_same = change.old.as_ref().map(content) == new.map(content);
                !matches!(review.stage, Stage::Recording | Stage::Completing | Stage::Deleting)
                    && is_same
                    && sk == format!("{}{model}#{finding}", keys::FINDING_PREFIX)
            }
            Op::Delete(_) | Op::Deletions => is_deletion,
            Op::Read(_) | Op::Rollup | Op::RawSweep => false,
        }
    }

    /// Feedback stays with a finding that is the same, and only requests for it change it.
    fn follow_feedback(
        &mut self,
        index: usize,
        id: &ReviewId,
        change: &ItemChange,
    ) -> Option<Violation> {
        let item = change.new.as_ref().or(change.old.as_ref())?;
        let model = ModelId::new(item.s("model_id")?).ok()?;
        let key = (model, FindingId::new(item.s("finding_id")?).ok()?);
        let review = self.reviews.get_mut(id)?;
        let is_same = change.old.as_ref().map(content) == change.new.as_ref().map(content);
        if !is_same {
            review.feedback.remove(&key);
        }
        let task = &mut self.run.tasks[index];
        if let Op::Feedback { of, accepted, by, given, .. } = &mut task.op
            && *of == key
        {
            *given = true;
            let feedback = Feedback { accepted: *accepted, by: by.clone(), at_ms: task.now_ms };
            review.feedback.insert(key.clone(), feedback);
        }
        let expected = review.feedback.get(&key).map(|of| {
            let verdict = if of.accepted { "accepted" } else { "dismissed" };
            (verdict.to_owned(), of.by.to_string(), rfc3339(of.at_ms))
        });
        let stored = change.new.as_ref().and_then(|item| {
            let text = |name| item.s(name).map(str::to_owned);
            Some((text("feedback")?, text("feedback_by")?, text("feedback_at")?))
        });
        let found = format!("{} has {stored:?}, and the model {expected:?}", change.key);
        (stored != expected).then(|| Violation::new(Check::Feedback, found))
    }
}

/// Whether what is planned of a review has this item, or lacks it if there is none.
fn is_planned(plan: &RecordedReview, sk: &str, new: Option<&Item>) -> bool {
    let cost = keys::COST_PREFIX;
    if sk.starts_with(cost) {
        // A metric whose time changed is removed where it was.
        let model = sk.split('#').nth(3).unwrap_or_default();
        let of = plan.responses.iter().find(|of| of.model.as_str() == model);
        return new.is_none_or(|item| of.is_some_and(|of| has_cost(item, of)));
    }
    if let Some(name) = sk.strip_prefix(keys::MODEL_PREFIX) {
        let of = plan.responses.iter().find(|of| of.model.as_str() == name);
        return is_equal(of, new, is_response);
    }
    if let Some(name) = sk.strip_prefix(keys::FINDING_PREFIX) {
        let is_named = |of: &&RecordedFinding| {
            name.split_once('#') == Some((of.finding.model.as_str(), of.finding.id.as_str()))
        };
        return is_equal(plan.findings.iter().find(is_named), new, is_finding);
    }
    if let Some(name) = sk.strip_prefix(keys::CONSENSUS_PREFIX) {
        let of = plan.consensus.iter().find(|of| of.id.as_str() == name);
        return is_equal(of, new, is_consensus);
    }
    new.is_some() != plan.review.pull_request.files.is_empty()
}

fn is_equal<T>(of: Option<&T>, new: Option<&Item>, is_same: impl Fn(&Item, &T) -> bool) -> bool {
    match (of, new) {
        (Some(of), Some(item)) => is_same(item, of),
        (None, None) => true,
        _ => false,
    }
}

fn is_of_response(response: &NewResponse, sk: &str, new: Option<&Item>) -> bool {
    let stored = review::response(response);
    let Some(item) = new else { return false };
    if sk.starts_with(keys::COST_PREFIX) {
        return has_cost(item, &stored);
    }
    if sk.starts_with(keys::MODEL_PREFIX) {
        return is_response(item, &stored);
    }
    response.findings.iter().any(|finding| {
        let finding = finding.clone();
        is_finding(item, &RecordedFinding { finding, in_consensus: false, feedback: None })
    })
}

fn has_cost(item: &Item, of: &Response) -> bool {
    item.s("model_id") == Some(of.model.as_str())
        && item.get("cost_usd").and_then(Value::as_n) == Some(of.cost.to_number())
}

fn is_response(item: &Item, of: &Response) -> bool {
    let is = |name: &str, number: u64| item.i64(name) == i64::try_from(number).ok();
    has_cost(item, of)
        && item.s("status") == Some(of.status.as_str())
        && is("input_tokens", of.input_tokens)
        && is("output_tokens", of.output_tokens)
        && is("latency_ms", of.latency_ms)
        && is("findings_count", of.findings_count)
        && item.s("raw_response_s3_key").is_some() == of.raw_key.is_some()
}

fn is_finding(item: &Item, of: &RecordedFinding) -> bool {
    let RecordedFinding { finding, in_consensus, .. } = of;
    item.s("model_id") == Some(finding.model.as_str())
        && item.s("finding_id") == Some(finding.id.as_str())
        && item.s("severity") == Some(finding.severity.as_str())
        && item.s("category") == finding.category.as_ref().map(|category| category.as_str())
        && item.s("title") == Some(finding.title.as_str())
        && item.s("description") == Some(finding.description.as_str())
        && item.get("in_consensus").and_then(Value::as_bool) == Some(*in_consensus)
}

fn is_consensus(item: &Item, of: &Consensus) -> bool {
    item.s("title") == Some(of.title.as_str())
        && item.s("severity") == Some(of.severity.as_str())
        && item.s("merged_description") == Some(of.merged_description.as_str())
}

/// What a model said in the item of a finding.
fn content(item: &Item) -> Vec<Option<&Value>> {
    const FIELDS: [&str; 8] = [
        "severity",
        "category",
        "file_path",
        "line_start",
        "line_end",
        "title",
        "description",
        "suggestion",
    ];
    FIELDS.iter().map(|name| item.get(name)).collect()
}
