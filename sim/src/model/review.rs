//! A review is what was sent of it last, and the feedback on its findings. It has no revision of its own making and no
//! order of writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weir_reviews::consensus;
use weir_reviews::finding::Finding;
use weir_reviews::ids::{FindingId, ModelId};
use weir_reviews::keys::ReviewRef;
use weir_reviews::money::MicroUsd;
use weir_reviews::record::{Completion, NewConsensus, NewHead, NewResponse, NewReview};
use weir_reviews::review::{
    Consensus, Feedback, Member, RecordedFinding, RecordedReview, Response, ResponseStatus,
    Review as StoredReview, ReviewStatus,
};

/// Stands for the key of every raw output, because real ones differ by revision.
pub const RAW_KEY: &str = "stored";

/// How far a review is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is recorded in one call.
    Recording,
    /// Responses are added one by one.
    InProgress,
    /// No more responses are added.
    Completing,
    /// It is complete.
    Completed,
    /// It was given up.
    Failed,
    /// It is being deleted.
    Deleting,
}

impl Stage {
    /// The stage of a stored status.
    #[must_use]
    pub fn parse(text: &str) -> Option<Stage> {
        Some(match text {
            "recording" => Stage::Recording,
            "in_progress" => Stage::InProgress,
            "completing" => Stage::Completing,
            "completed" => Stage::Completed,
            "failed" => Stage::Failed,
            "deleting" => Stage::Deleting,
            _ => return None,
        })
    }
}

/// Findings by model and id.
pub type FindingKey = (ModelId, FindingId);

/// A review.
#[derive(Debug, Clone)]
pub struct Review {
    /// Its id and pull request.
    pub at: ReviewRef,
    /// The time that was sent, or that of its first recording.
    pub created_at_ms: i64,
    /// How far it is.
    pub stage: Stage,
    /// The revision that is stored.
    pub revision: String,
    /// Whether readers have seen it.
    pub is_shown: bool,
    /// When its recording in one call began, by the clock of its writer.
    pub begun_at_ms: i64,
    /// What was sent of it without its responses.
    pub head: NewHead,
    /// The responses that were sent.
    pub responses: BTreeMap<ModelId, Arc<NewResponse>>,
    /// The models all of whose items are written; of a recording in one call, all.
    pub whole: BTreeSet<ModelId>,
    /// How it ends; none while responses are added.
    pub completion: Option<Completion>,
    /// What it has to be when it has ended, without feedback.
    pub plan: Option<Arc<RecordedReview>>,
    /// Feedback on its findings.
    pub feedback: BTreeMap<FindingKey, Feedback>,
}

impl Review {
    /// A review without responses.
    #[must_use]
    pub fn new(at: ReviewRef, created_at_ms: i64, stage: Stage, head: NewHead) -> Review {
        Review {
            at,
            created_at_ms,
            stage,
            revision: String::new(),
            is_shown: stage != Stage::Recording,
            begun_at_ms: 0,
            head,
            responses: BTreeMap::new(),
            whole: BTreeSet::new(),
            completion: None,
            plan: None,
            feedback: BTreeMap::new(),
        }
    }

    /// Takes a content as a whole.
    pub fn set_content(&mut self, content: &NewReview) {
        self.head = content.head.clone();
        let responses = content.responses.iter();
        self.responses = responses
            .map(|response| (response.model.clone(), Arc::new(response.clone())))
            .collect();
        self.whole = self.responses.keys().cloned().collect();
        self.end_with(&Completion::Completed(content.consensus.clone()));
    }

    /// Decides how the review ends.
    pub fn end_with(&mut self, completion: &Completion) {
        self.completion = Some(completion.clone());
        self.plan = Some(Arc::new(self.planned(completion)));
    }

    /// Whether it has this content as a whole.
    #[must_use]
    pub fn has_content(&self, content: &NewReview) -> bool {
        let of_completion = match &self.completion {
            Some(Completion::Completed(consensus)) => *consensus == content.consensus,
            Some(Completion::Failed) | None => false,
        };
        of_completion
            && self.head == content.head
            && self.responses.len() == content.responses.len()
            && content.responses.iter().all(|response| {
                self.responses.get(&response.model).is_some_and(|of| **of == *response)
            })
    }

    /// The review as readers see it when it has ended.
    #[must_use]
    pub fn ended(&self) -> Option<RecordedReview> {
        let mut ended = self.plan.as_deref()?.clone();
        ended.review.created_at_ms = self.created_at_ms;
        for found in &mut ended.findings {
            let key = (found.finding.model.clone(), found.finding.id.clone());
            found.feedback = self.feedback.get(&key).cloned();
        }
        Some(ended)
    }

    fn planned(&self, completion: &Completion) -> RecordedReview {
        let whole = self.responses.values().filter(|of| self.whole.contains(&of.model));
        let whole: Vec<&NewResponse> = whole.map(Arc::as_ref).collect();
        let succeeded: Vec<&NewResponse> =
            whole.iter().copied().filter(|of| of.status == ResponseStatus::Success).collect();
        let (status, consensus) = match completion {
            Completion::Failed => (ReviewStatus::Failed, Vec::new()),
            Completion::Completed(Some(sent)) => {
                let asked = succeeded.len() as u64;
                (
                    ReviewStatus::Completed,
                    sent.iter().map(|one| sent_consensus(one, asked)).collect(),
                )
            }
            Completion::Completed(None) => (ReviewStatus::Completed, found_consensus(&succeeded)),
        };
        let members: BTreeSet<&Member> = consensus.iter().flat_map(|one| &one.members).collect();
        let recorded = |finding: &Finding| {
            let member = Member { model: finding.model.clone(), finding: finding.id.clone() };
            let in_consensus = members.contains(&member);
            RecordedFinding { finding: finding.clone(), in_consensus, feedback: None }
        };
        let findings: Vec<RecordedFinding> =
            whole.iter().flat_map(|of| &of.findings).map(recorded).collect();
        let review = StoredReview {
            id: self.at.id.clone(),
            pull_request: self.head.pull_request.clone(),
            requested_by: self.head.requested_by.clone(),
            created_at_ms: self.created_at_ms,
            status,
            models: whole.iter().map(|of| of.model.clone()).collect(),
            total_findings: findings.len() as u64,
            consensus_findings: consensus.len() as u64,
            total_cost: MicroUsd(whole.iter().map(|of| of.cost.0).sum()),
        };
        let responses = whole.iter().map(|of| response(of)).collect();
        RecordedReview { review, responses, findings, consensus }
    }
}

/// A response as it is stored.
#[must_use]
pub fn response(of: &NewResponse) -> Response {
    Response {
        model: of.model.clone(),
        status: of.status,
        input_tokens: of.input_tokens,
        output_tokens: of.output_tokens,
        latency_ms: of.latency_ms,
        cost: of.cost,
        findings_count: of.findings.len() as u64,
        raw_key: of.raw.as_ref().map(|_| RAW_KEY.to_owned()),
    }
}

/// What was read, with everything in order and without what differs by revision.
#[must_use]
pub fn normal(mut read: RecordedReview) -> RecordedReview {
    for response in &mut read.responses {
        response.raw_key = response.raw_key.as_ref().map(|_| RAW_KEY.to_owned());
    }
    read.review.pull_request.files.sort_unstable();
    read
}

fn found_consensus(succeeded: &[&NewResponse]) -> Vec<Consensus> {
    let models: Vec<ModelId> = succeeded.iter().map(|of| of.model.clone()).collect();
    let findings: Vec<Finding> =
        succeeded.iter().flat_map(|of| of.findings.iter().cloned()).collect();
    consensus::find(&findings, &models, &consensus::Options::default())
}

fn sent_consensus(one: &NewConsensus, models_asked: u64) -> Consensus {
    let models: BTreeSet<ModelId> = one.members.iter().map(|member| member.model.clone()).collect();
    Consensus {
        id: one.id.clone(),
        members: one.members.clone(),
        agreeing_models: models.into_iter().collect(),
        models_asked,
        severity: one.severity,
        category: one.category.clone(),
        file_path: one.file_path.clone(),
        line_start: one.line_start,
        line_end: one.line_end,
        title: one.title.clone(),
        merged_description: one.merged_description.clone(),
    }
}
