//! What one completed review contributes to its day.

use std::collections::BTreeMap;

use weir_calendar::Day;

use super::agreement::{Groups, pairs_of};
use super::day_rollup::DayRollup;
use super::finding_counts::FindingCounts;
use super::histogram::Histogram;
use super::model_day::ModelDay;
use super::pair_day::PairDay;
use crate::finding::Finding;
use crate::ids::{ModelId, Owner, Repo, ReviewId};
use crate::review::{RecordedFinding, RecordedReview, Response, ResponseStatus, Review};

/// Where the summary of a review belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryId {
    /// The owner of the repository.
    pub owner: Owner,
    /// The repository.
    pub repo: Repo,
    /// The day of the review.
    pub day: Day,
    /// The review.
    pub review: ReviewId,
}

impl SummaryId {
    /// Where the summary of `review` belongs.
    #[must_use]
    pub fn of(review: &Review) -> SummaryId {
        SummaryId {
            owner: review.pull_request.owner.clone(),
            repo: review.pull_request.repo.clone(),
            day: Day::utc(review.created_at_ms),
            review: review.id.clone(),
        }
    }
}

/// The contribution of one review: the rollup of a day that has only this review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Where it belongs.
    pub id: SummaryId,
    /// The sums that it adds.
    pub rollup: DayRollup,
}

impl Summary {
    /// The summary of a completed review.
    #[must_use]
    pub fn of(recorded: &RecordedReview) -> Summary {
        let groups = Groups::new(recorded);
        let mut models: BTreeMap<ModelId, ModelDay> = recorded
            .responses
            .iter()
            .map(|response| (response.model.clone(), of_response(response)))
            .collect();
        for found in &recorded.findings {
            if let Some(model) = models.get_mut(&found.finding.model) {
                let Finding { severity, category, .. } = &found.finding;
                model.count(*severity, category.as_ref(), &of_finding(found, &groups));
            }
        }
        let pairs = PairDay { pairs: pairs_of(recorded, &groups), left_out: 0 };
        Summary { id: SummaryId::of(&recorded.review), rollup: DayRollup { models, pairs } }
    }
}

fn of_response(response: &Response) -> ModelDay {
    let is = |status| u64::from(response.status == status);
    let latency_ms = match response.status {
        ResponseStatus::Success => Histogram::of(response.latency_ms),
        ResponseStatus::Error | ResponseStatus::Timeout => Histogram::default(),
    };
    ModelDay {
        successes: is(ResponseStatus::Success),
        errors: is(ResponseStatus::Error),
        timeouts: is(ResponseStatus::Timeout),
        cost: response.cost,
        input_tokens: response.input_tokens,
        output_tokens: response.output_tokens,
        latency_ms,
        ..ModelDay::default()
    }
}

fn of_finding<'a>(found: &'a RecordedFinding, groups: &Groups<'a>) -> FindingCounts {
    let judged =
        |accepted| found.feedback.as_ref().is_some_and(|feedback| feedback.accepted == accepted);
    FindingCounts {
        findings: 1,
        in_consensus: u64::from(!groups.of(&found.finding).is_empty()),
        accepted: u64::from(judged(true)),
        dismissed: u64::from(judged(false)),
    }
}
