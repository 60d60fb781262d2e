//! From the domain to the wire.

use weir_api::reviews as api;
use weir_framework::time::time;
use weir_reviews::finding::Severity;
use weir_reviews::read::{ListedConsensus, ListedFinding, ListedResponse};
use weir_reviews::record::NewResponse;
use weir_reviews::review::{
    Confidence, Consensus, Feedback, Member, RecordedFinding, RecordedReview, Response,
    ResponseStatus, Review, ReviewStatus,
};
use weir_reviews::{CostMetric, ReviewRef};

use super::Included;

/// A review without what its models said.
pub(in crate::reviews) fn review(review: Review) -> api::Review {
    let pull_request = review.pull_request;
    api::Review {
        review_id: review.id.to_string(),
        owner: pull_request.owner.to_string(),
        repo: pull_request.repo.to_string(),
        pr_number: pull_request.number,
        pr_title: pull_request.title,
        pr_url: pull_request.url,
        files: pull_request.files,
        requested_by: review.requested_by.map(|user| user.to_string()),
        created_at: time(review.created_at_ms),
        status: match review.status {
            ReviewStatus::InProgress => api::ReviewStatus::InProgress,
            ReviewStatus::Completed => api::ReviewStatus::Completed,
            ReviewStatus::Failed => api::ReviewStatus::Failed,
        },
        models_used: review.models.iter().map(ToString::to_string).collect(),
        total_findings: review.total_findings,
        consensus_findings: review.consensus_findings,
        total_cost_usd: review.total_cost.to_string(),
        responses: None,
        findings: None,
        consensus: None,
    }
}

/// A review with the parts that the request includes.
pub(in crate::reviews) fn whole_review(whole: RecordedReview, included: Included) -> api::Review {
    fn converted<T, U>(is_included: bool, all: Vec<T>, convert: fn(T) -> U) -> Option<Vec<U>> {
        is_included.then(|| all.into_iter().map(convert).collect())
    }
    api::Review {
        responses: converted(included.responses, whole.responses, response),
        findings: converted(included.findings, whole.findings, finding),
        consensus: converted(included.consensus, whole.consensus, consensus),
        ..review(whole.review)
    }
}

/// A response.
pub(in crate::reviews) fn response(response: Response) -> api::Response {
    api::Response {
        model_id: response.model.to_string(),
        status: response_status(response.status),
        findings_count: response.findings_count,
        input_tokens: response.input_tokens,
        output_tokens: response.output_tokens,
        latency_ms: response.latency_ms,
        cost_usd: response.cost.to_string(),
        raw_key: response.raw_key,
    }
}

/// A response that was just added.
pub(in crate::reviews) fn added_response(added: &NewResponse) -> api::Response {
    response(Response {
        model: added.model.clone(),
        status: added.status,
        input_tokens: added.input_tokens,
        output_tokens: added.output_tokens,
        latency_ms: added.latency_ms,
        cost: added.cost,
        findings_count: added.findings.len() as u64,
        raw_key: None,
    })
}

fn response_status(status: ResponseStatus) -> api::ResponseStatus {
    match status {
        ResponseStatus::Success => api::ResponseStatus::Success,
        ResponseStatus::Error => api::ResponseStatus::Error,
        ResponseStatus::Timeout => api::ResponseStatus::Timeout,
    }
}

/// A finding.
pub(in crate::reviews) fn finding(recorded: RecordedFinding) -> api::Finding {
    let finding = recorded.finding;
    api::Finding {
        model_id: finding.model.to_string(),
        finding_id: finding.id.to_string(),
        severity: severity(finding.severity),
        category: finding.category.map(|category| category.to_string()),
        rule: finding.rule,
        file_path: finding.file_path,
        line_start: finding.line_start,
        line_end: finding.line_end,
        title: finding.title,
        description: finding.description,
        suggestion: finding.suggestion,
        in_consensus: recorded.in_consensus,
        feedback: recorded.feedback.map(feedback),
    }
}

fn feedback(feedback: Feedback) -> api::Feedback {
    let is_accepted = feedback.accepted;
    api::Feedback {
        verdict: if is_accepted { api::Verdict::Accepted } else { api::Verdict::Dismissed },
        by: feedback.by.to_string(),
        at: time(feedback.at_ms),
    }
}

pub(super) fn severity(severity: Severity) -> api::Severity {
    match severity {
        Severity::Critical => api::Severity::Critical,
        Severity::High => api::Severity::High,
        Severity::Medium => api::Severity::Medium,
        Severity::Low => api::Severity::Low,
        Severity::Info => api::Severity::Info,
    }
}

/// An issue that several models found.
pub(in crate::reviews) fn consensus(consensus: Consensus) -> api::Consensus {
    let member = |member: &Member| api::ConsensusMember {
        model_id: member.model.to_string(),
        finding_id: member.finding.to_string(),
    };
    api::Consensus {
        consensus_id: consensus.id.to_string(),
        agreeing_models: consensus.agreeing_models.iter().map(ToString::to_string).collect(),
        agreement_count: consensus.agreeing_models.len() as u64,
        models_asked: consensus.models_asked,
        agreement_ratio: consensus.agreement_ratio(),
        confidence: match consensus.confidence() {
            Confidence::Low => api::Confidence::Low,
            Confidence::Medium => api::Confidence::Medium,
            Confidence::High => api::Confidence::High,
        },
        severity: severity(consensus.severity),
        category: consensus.category.as_ref().map(ToString::to_string),
        finding_ids: consensus.members.iter().map(|member| member.finding.to_string()).collect(),
        members: consensus.members.iter().map(member).collect(),
        file_path: consensus.file_path,
        line_start: consensus.line_start,
        line_end: consensus.line_end,
        title: consensus.title,
        merged_description: consensus.merged_description,
    }
}

fn review_ref(review: &ReviewRef, created_at_ms: i64) -> api::ReviewRef {
    api::ReviewRef {
        review_id: review.id.to_string(),
        owner: review.owner.to_string(),
        repo: review.repo.to_string(),
        pr_number: review.pr_number,
        created_at: time(created_at_ms),
    }
}

/// A response with its review.
pub(in crate::reviews) fn listed_response(listed: ListedResponse) -> api::ListedResponse {
    let review = review_ref(&listed.review, listed.created_at_ms);
    api::ListedResponse { review, response: response(listed.response) }
}

/// A finding with its review.
pub(in crate::reviews) fn listed_finding(listed: ListedFinding) -> api::ListedFinding {
    let review = review_ref(&listed.review, listed.created_at_ms);
    api::ListedFinding { review, finding: finding(listed.finding) }
}

/// A consensus with its review.
pub(in crate::reviews) fn listed_consensus(listed: ListedConsensus) -> api::ListedConsensus {
    let review = review_ref(&listed.review, listed.created_at_ms);
    api::ListedConsensus { review, consensus: consensus(listed.consensus) }
}

/// The cost of a model in a review.
pub(in crate::reviews) fn cost(metric: CostMetric) -> api::CostMetric {
    api::CostMetric {
        review: review_ref(&metric.review, metric.created_at_ms),
        model_id: metric.model.to_string(),
        cost_usd: metric.cost.to_string(),
        input_tokens: metric.input_tokens,
        output_tokens: metric.output_tokens,
    }
}
