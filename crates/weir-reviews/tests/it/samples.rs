//! Reviews to record.

use std::collections::BTreeSet;

use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{Category, FindingId, ModelId, Owner, Repo, ReviewId, UserName};
use weir_reviews::money::MicroUsd;
use weir_reviews::record::{NewHead, NewResponse, NewReview};
use weir_reviews::review::{
    PullRequest, RecordedFinding, RecordedReview, ResponseStatus, ReviewStatus,
};

pub(crate) fn id(text: &str) -> ReviewId {
    ReviewId::new(text).unwrap()
}

pub(crate) fn model(text: &str) -> ModelId {
    ModelId::new(text).unwrap()
}

pub(crate) fn finding_id(text: &str) -> FindingId {
    FindingId::new(text).unwrap()
}

pub(crate) fn owner() -> Owner {
    Owner::new("acme").unwrap()
}

pub(crate) fn repo() -> Repo {
    Repo::new("shop").unwrap()
}

pub(crate) fn user(text: &str) -> UserName {
    UserName::new(text).unwrap()
}

pub(crate) fn category(text: &str) -> Category {
    Category::new(text).unwrap()
}

/// Finding number `number` of a model; all models find the same ones.
pub(crate) fn finding(of_model: &str, number: usize) -> Finding {
    Finding {
        model: model(of_model),
        id: finding_id(&format!("f-{number:04}")),
        severity: Severity::ALL[number % 5],
        category: (number % 3 != 2).then(|| category(["security", "style"][number % 3])),
        rule: None,
        file_path: format!("src/file{}.rs", number % 7),
        line_start: u32::try_from(number).unwrap() * 10 + 1,
        line_end: u32::try_from(number).unwrap() * 10 + 3,
        title: format!("Issue {number}"),
        description: format!("{of_model} says that `line {number}` is wrong."),
        suggestion: number.is_multiple_of(2).then(|| "Do otherwise.".to_owned()),
    }
}

/// The response of a model with so many findings.
pub(crate) fn response(of_model: &str, findings: usize) -> NewResponse {
    NewResponse {
        model: model(of_model),
        status: ResponseStatus::Success,
        input_tokens: 15_420,
        output_tokens: 2_340,
        latency_ms: 12_500,
        cost: MicroUsd(8_900),
        raw: None,
        findings: (0..findings).map(|number| finding(of_model, number)).collect(),
    }
}

/// A review without its responses.
pub(crate) fn head(text: &str) -> NewHead {
    NewHead {
        id: Some(id(text)),
        pull_request: PullRequest {
            owner: owner(),
            repo: repo(),
            number: 123,
            title: "Add login".to_owned(),
            url: "https://github.com/acme/shop/pull/123".to_owned(),
            files: vec!["src/file0.rs".to_owned(), "src/file1.rs".to_owned()],
        },
        requested_by: Some(user("octocat")),
        created_at_ms: None,
    }
}

/// A review of some models with so many findings each.
pub(crate) fn review(text: &str, models: &[&str], findings: usize) -> NewReview {
    let responses = models.iter().map(|model| response(model, findings)).collect();
    NewReview { head: head(text), responses, consensus: None }
}

/// A review at a time.
pub(crate) fn review_at(text: &str, created_at_ms: i64) -> NewReview {
    let mut review = review(text, &["gpt-5", "meta/llama:70b"], 2);
    review.head.created_at_ms = Some(created_at_ms);
    review
}

/// The same review with raw outputs.
pub(crate) fn with_raws(mut review: NewReview) -> NewReview {
    for response in &mut review.responses {
        response.raw = Some(format!("{{\"model\":\"{}\"}}", response.model).into_bytes());
    }
    review
}

/// What is stored of a review agrees with itself. One that is not completed may lack parts.
pub(crate) fn assert_whole(recorded: &RecordedReview) {
    let RecordedReview { review, responses, findings, consensus } = recorded;
    if review.status != ReviewStatus::Completed {
        return;
    }
    let models: Vec<&ModelId> = responses.iter().map(|response| &response.model).collect();
    assert_eq!(models, review.models.iter().collect::<Vec<_>>());
    assert_eq!(review.total_findings, findings.len() as u64);
    assert_eq!(review.consensus_findings, consensus.len() as u64);
    let cost: u64 = responses.iter().map(|response| response.cost.0).sum();
    assert_eq!(review.total_cost.0, cost);
    for response in responses {
        let own = findings.iter().filter(|found| found.finding.model == response.model);
        assert_eq!(own.count() as u64, response.findings_count, "{:?}", response.model);
    }
    let members: BTreeSet<_> = consensus.iter().flat_map(|one| &one.members).collect();
    let marked = findings.iter().filter(|found| found.in_consensus);
    assert_eq!(members.len(), marked.count());
}

/// What was recorded, without what differs by revision.
pub(crate) fn without_raw_keys(mut recorded: RecordedReview) -> RecordedReview {
    for response in &mut recorded.responses {
        response.raw_key = response.raw_key.as_ref().map(|_| "stored".to_owned());
    }
    recorded
}

/// Findings with feedback.
pub(crate) fn with_feedback(recorded: &RecordedReview) -> Vec<&RecordedFinding> {
    recorded.findings.iter().filter(|found| found.feedback.is_some()).collect()
}
