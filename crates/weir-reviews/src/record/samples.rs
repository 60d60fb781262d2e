//! Small reviews for tests.

use super::{NewConsensus, NewHead, NewResponse, NewReview};
use crate::finding::{Finding, Severity};
use crate::ids::{Category, ConsensusId, FindingId, ModelId, Owner, Repo, ReviewId};
use crate::money::MicroUsd;
use crate::review::{Member, PullRequest, ResponseStatus};

pub(crate) fn model(name: &str) -> ModelId {
    ModelId::new(name).unwrap()
}

pub(crate) fn finding(of_model: &str, id: &str) -> Finding {
    Finding {
        model: model(of_model),
        id: FindingId::new(id).unwrap(),
        severity: Severity::High,
        category: Some(Category::new("security").unwrap()),
        file_path: "src/login.rs".to_owned(),
        line_start: 45,
        line_end: 52,
        title: "SQL injection".to_owned(),
        description: "User input is concatenated.".to_owned(),
        suggestion: None,
        rule: None,
    }
}

pub(crate) fn response(of_model: &str) -> NewResponse {
    NewResponse {
        model: model(of_model),
        status: ResponseStatus::Success,
        input_tokens: 1_000,
        output_tokens: 200,
        latency_ms: 1_500,
        cost: MicroUsd(8_900),
        raw: None,
        findings: vec![finding(of_model, "1")],
    }
}

pub(crate) fn review() -> NewReview {
    let pull_request = PullRequest {
        owner: Owner::new("acme").unwrap(),
        repo: Repo::new("shop").unwrap(),
        number: 123,
        title: "Add login".to_owned(),
        url: "https://github.com/acme/shop/pull/123".to_owned(),
        files: vec!["src/login.rs".to_owned()],
    };
    let id = Some(ReviewId::new("r-1").unwrap());
    NewReview {
        head: NewHead { id, pull_request, requested_by: None, created_at_ms: None },
        responses: vec![response("a"), response("b")],
        consensus: None,
    }
}

pub(crate) fn consensus(id: &str, members: &[(&str, &str)]) -> NewConsensus {
    let member = |(of_model, id): &(&str, &str)| Member {
        model: model(of_model),
        finding: FindingId::new(id).unwrap(),
    };
    NewConsensus {
        id: ConsensusId::new(id).unwrap(),
        members: members.iter().map(member).collect(),
        severity: Severity::High,
        category: None,
        file_path: "src/login.rs".to_owned(),
        line_start: 45,
        line_end: 52,
        title: "SQL injection".to_owned(),
        merged_description: "Both say so.".to_owned(),
    }
}
