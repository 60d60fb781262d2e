//! Computes everything that is stored of a review, before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use weir_table::Item;

use super::{Completion, NewConsensus};
use crate::bounds::{COMPARED_IN_PLACE_MAX, MERGED_MAX};
use crate::consensus::Options;
use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::ids::ModelId;
use crate::items::{CostMetric, ItemContext, encode_files};
use crate::money::MicroUsd;
use crate::review::{
    Consensus, Feedback, Member, PullRequest, RecordedFinding, RecordedReview, Response,
    ResponseStatus, Review, ReviewStatus,
};

/// The data of a review without its responses.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) pull_request: PullRequest,
    pub(super) requested_by: Option<crate::ids::UserName>,
}

/// Puts a review together. A large one is compared on a blocking thread, because that takes up to a fifth of a second.
pub(super) async fn assemble(
    context: &ItemContext,
    head: Head,
    responses: Vec<Response>,
    findings: Vec<Finding>,
    completion: &Completion,
    options: Options,
) -> Result<RecordedReview> {
    let is_compared = matches!(completion, Completion::Completed(None));
    if !is_compared || findings.len() <= COMPARED_IN_PLACE_MAX || is_simulated() {
        return Ok(assemble_in_place(context, head, responses, findings, completion, &options));
    }
    let (context, completion) = (context.clone(), completion.clone());
    let compare =
        move || assemble_in_place(&context, head, responses, findings, &completion, &options);
    let compared = tokio::task::spawn_blocking(compare).await;
    compared.map_err(|error| {
        let error = weir_table::Error::backend("comparing the findings of a review", error);
        Error::Store(error)
    })
}

/// Whether the simulator runs this: it has one thread, and how often it polls a request must not depend on another one.
fn is_simulated() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    let on_one_thread = |handle: Handle| handle.runtime_flavor() == RuntimeFlavor::CurrentThread;
    cfg!(feature = "faults") && Handle::try_current().is_ok_and(on_one_thread)
}

/// Finds the consensus unless one was sent, marks its findings, and sums up.
fn assemble_in_place(
    context: &ItemContext,
    head: Head,
    mut responses: Vec<Response>,
    mut findings: Vec<Finding>,
    completion: &Completion,
    options: &Options,
) -> RecordedReview {
    responses.sort_unstable_by(|a, b| a.model.cmp(&b.model));
    findings.sort_unstable_by(|a, b| (&a.model, &a.id).cmp(&(&b.model, &b.id)));
    let succeeded = responses.iter().filter(|r| r.status == ResponseStatus::Success);
    let succeeded: Vec<ModelId> = succeeded.map(|response| response.model.clone()).collect();
    let (status, consensus) = match completion {
        Completion::Failed => (ReviewStatus::Failed, Vec::new()),
        Completion::Completed(Some(sent)) => {
            (ReviewStatus::Completed, from_caller(sent, succeeded.len() as u64))
        }
        Completion::Completed(None) => {
            (ReviewStatus::Completed, found(&findings, &succeeded, options))
        }
    };
    let members: BTreeSet<&Member> = consensus.iter().flat_map(|one| &one.members).collect();
    let recorded = |finding: Finding| {
        let member = Member { model: finding.model.clone(), finding: finding.id.clone() };
        let in_consensus = members.contains(&member);
        RecordedFinding { finding, in_consensus, feedback: None }
    };
    let findings: Vec<RecordedFinding> = findings.into_iter().map(recorded).collect();
    let costs = responses.iter().map(|response| response.cost);
    let review = Review {
        id: context.review.id.clone(),
        pull_request: head.pull_request,
        requested_by: head.requested_by,
        created_at_ms: context.created_at_ms,
        status,
        models: responses.iter().map(|response| response.model.clone()).collect(),
        total_findings: findings.len() as u64,
        consensus_findings: consensus.len() as u64,
        total_cost: costs.fold(MicroUsd::ZERO, MicroUsd::saturating_add),
    };
    RecordedReview { review, responses, findings, consensus }
}

/// The item of a review whose models still respond.
pub(super) fn in_progress(context: &ItemContext, head: Head) -> Review {
    let (completion, options) = (Completion::Failed, Options::default());
    let open = assemble_in_place(context, head, Vec::new(), Vec::new(), &completion, &options);
    Review { status: ReviewStatus::InProgress, ..open.review }
}

fn found(findings: &[Finding], succeeded: &[ModelId], options: &Options) -> Vec<Consensus> {
    let has_succeeded = |finding: &&Finding| succeeded.contains(&finding.model);
    let compared: Vec<Finding> = findings.iter().filter(has_succeeded).cloned().collect();
    let mut consensus = crate::consensus::find(&compared, succeeded, options);
    for one in &mut consensus {
        let end = one.merged_description.floor_char_boundary(MERGED_MAX);
        one.merged_description.truncate(end);
    }
    consensus
}

fn from_caller(sent: &[NewConsensus], models_asked: u64) -> Vec<Consensus> {
    let complete = |one: &NewConsensus| {
        let mut members = one.members.clone();
        members.sort_unstable();
        let models: BTreeSet<&ModelId> = members.iter().map(|member| &member.model).collect();
        Consensus {
            id: one.id.clone(),
            agreeing_models: models.into_iter().cloned().collect(),
            members,
            models_asked,
            severity: one.severity,
            category: one.category.clone(),
            file_path: one.file_path.clone(),
            line_start: one.line_start,
            line_end: one.line_end,
            title: one.title.clone(),
            merged_description: one.merged_description.clone(),
        }
    };
    let mut consensus: Vec<Consensus> = sent.iter().map(complete).collect();
    consensus.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    consensus
}

/// Keeps the feedback on findings that are the same as before.
pub(super) fn keep_feedback(recorded: &mut RecordedReview, before: Vec<RecordedFinding>) {
    let with_feedback =
        before.into_iter().filter_map(|known| Some((known.finding, known.feedback?)));
    let before: BTreeMap<_, (Finding, Feedback)> = with_feedback
        .map(|(finding, feedback)| {
            ((finding.model.clone(), finding.id.clone()), (finding, feedback))
        })
        .collect();
    for of_now in &mut recorded.findings {
        let key = (of_now.finding.model.clone(), of_now.finding.id.clone());
        if let Some((_, feedback)) = before.get(&key).filter(|(known, _)| *known == of_now.finding)
        {
            of_now.feedback = Some(feedback.clone());
        }
    }
}

/// The items in the partition of a review, each with the items elsewhere that are written with it.
pub(super) fn units(context: &ItemContext, recorded: &RecordedReview) -> Vec<Vec<Item>> {
    let responses = recorded.responses.iter().map(|response| response_unit(context, response));
    let findings = recorded.findings.iter().map(|finding| vec![finding.encode(context)]);
    let consensus = recorded.consensus.iter().map(|consensus| vec![consensus.encode(context)]);
    let files = files_unit(context, &recorded.review.pull_request);
    responses.chain(findings).chain(consensus).chain(files).collect()
}

/// The items of a response: itself, and its cost metric.
pub(super) fn response_unit(context: &ItemContext, response: &Response) -> Vec<Item> {
    vec![response.encode(context), CostMetric::encode(response, context)]
}

/// The item with the files, if there are any.
pub(super) fn files_unit(context: &ItemContext, of: &PullRequest) -> Option<Vec<Item>> {
    (!of.files.is_empty()).then(|| vec![encode_files(context, &of.files)])
}

#[cfg(test)]
mod tests {
    use super::super::samples::{consensus, finding, review};
    use super::*;
    use crate::keys::ReviewRef;
    use crate::settings::Settings;

    fn assembled(completion: &Completion) -> (ItemContext, RecordedReview) {
        let new = review();
        let PullRequest { owner, repo, number, .. } = new.head.pull_request.clone();
        let id = new.head.id.clone().unwrap();
        let at = ReviewRef { id, owner, repo, pr_number: number };
        let context = ItemContext::new(at, 1_736_937_000_000, &Settings::default());
        let head = Head { pull_request: new.head.pull_request, requested_by: None };
        let findings = new.responses.iter().flat_map(|r| r.findings.clone()).collect();
        let responses = new.responses.iter().map(|r| r.to_response(None)).collect();
        let recorded =
            assemble_in_place(&context, head, responses, findings, completion, &Options::default());
        (context, recorded)
    }

    #[test]
    fn items_decode_to_what_was_encoded() {
        let sent = vec![consensus("c", &[("b", "1"), ("a", "1")])];
        let (context, mut recorded) = assembled(&Completion::Completed(Some(sent)));
        recorded.findings[0].feedback = Some(Feedback {
            accepted: false,
            by: crate::ids::UserName::new("ann").unwrap(),
            at_ms: 1_736_937_000_001,
        });
        let review = Review::decode(&recorded.review.encode(&context)).unwrap();
        let mut expected = recorded.review.clone();
        expected.pull_request.files.clear();
        assert_eq!(review, expected);
        for response in &recorded.responses {
            assert_eq!(Response::decode(&response.encode(&context)).unwrap(), *response);
            let cost = CostMetric::decode(&CostMetric::encode(response, &context)).unwrap();
            assert_eq!((cost.cost, cost.review), (response.cost, context.review.clone()));
        }
        for finding in &recorded.findings {
            assert_eq!(RecordedFinding::decode(&finding.encode(&context)).unwrap(), *finding);
        }
        for consensus in &recorded.consensus {
            assert_eq!(Consensus::decode(&consensus.encode(&context)).unwrap(), *consensus);
        }
    }

    #[test]
    fn findings_of_a_consensus_are_marked() {
        let (_, recorded) = assembled(&Completion::Completed(None));
        assert_eq!(recorded.consensus.len(), 1);
        assert!(recorded.findings.iter().all(|finding| finding.in_consensus));
        assert_eq!(recorded.review.total_cost, MicroUsd(17_800));
        let (_, without) = assembled(&Completion::Completed(Some(Vec::new())));
        assert!(without.findings.iter().all(|finding| !finding.in_consensus));
        let (_, failed) = assembled(&Completion::Failed);
        assert_eq!((failed.review.status, failed.consensus.len()), (ReviewStatus::Failed, 0));
    }

    #[test]
    fn feedback_stays_with_a_finding_that_is_the_same() {
        let (_, mut recorded) = assembled(&Completion::Completed(None));
        let by = crate::ids::UserName::new("ann").unwrap();
        let feedback = Some(Feedback { accepted: true, by, at_ms: 1 });
        let changed = Finding { title: "other".into(), ..finding("b", "1") };
        let before = [finding("a", "1"), changed].map(|finding| RecordedFinding {
            finding,
            in_consensus: false,
            feedback: feedback.clone(),
        });
        keep_feedback(&mut recorded, before.to_vec());
        let kept: Vec<bool> = recorded.findings.iter().map(|f| f.feedback.is_some()).collect();
        assert_eq!(kept, [true, false]);
    }
}
