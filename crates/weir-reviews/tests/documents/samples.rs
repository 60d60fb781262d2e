//! Reviews for the tests.

use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{Category, ConsensusId, FindingId, ModelId, Owner, Repo, ReviewId};
use weir_reviews::money::MicroUsd;
use weir_reviews::review::{
    Consensus, Member, PullRequest, RecordedFinding, RecordedReview, Response, ResponseStatus,
    Review, ReviewStatus,
};

pub(crate) fn model(id: &str) -> ModelId {
    ModelId::new(id).unwrap()
}

/// A finding that none of the others agrees with.
pub(crate) fn finding(model_id: &str, id: &str, severity: Severity) -> Finding {
    Finding {
        model: model(model_id),
        id: FindingId::new(id).unwrap(),
        severity,
        category: None,
        rule: None,
        file_path: "src/auth/login.py".to_owned(),
        line_start: 45,
        line_end: 52,
        title: format!("Finding {id}"),
        description: format!("What {model_id} says about {id}."),
        suggestion: None,
    }
}

/// A consensus of the models on the first finding of each.
pub(crate) fn consensus(id: &str, severity: Severity, models: &[&str], asked: u64) -> Consensus {
    let members = models
        .iter()
        .map(|model_id| Member { model: model(model_id), finding: FindingId::new("f-1").unwrap() });
    Consensus {
        id: ConsensusId::new(id).unwrap(),
        members: members.collect(),
        agreeing_models: models.iter().map(|id| model(id)).collect(),
        models_asked: asked,
        severity,
        category: Some(Category::new("security").unwrap()),
        file_path: "src/auth/login.py".to_owned(),
        line_start: 45,
        line_end: 52,
        title: "SQL injection in the login query".to_owned(),
        merged_description: models
            .iter()
            .map(|id| format!("{id}: the user name becomes part of the query."))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn response(model_id: &str, status: ResponseStatus, findings_count: u64) -> Response {
    Response {
        model: model(model_id),
        status,
        input_tokens: 15_420,
        output_tokens: 2_340,
        latency_ms: 12_540,
        cost: MicroUsd(8_900),
        findings_count,
        raw_key: None,
    }
}

/// A review of these findings; those with the id `f-1` are in a consensus.
pub(crate) fn review(findings: Vec<Finding>, consensus: Vec<Consensus>) -> RecordedReview {
    let mut models: Vec<ModelId> = findings.iter().map(|finding| finding.model.clone()).collect();
    models.sort();
    models.dedup();
    let count = |id: &ModelId| findings.iter().filter(|finding| finding.model == *id).count();
    let responses = models
        .iter()
        .map(|id| response(id.as_str(), ResponseStatus::Success, count(id) as u64))
        .collect();
    let review = Review {
        id: ReviewId::new("review-1").unwrap(),
        pull_request: PullRequest {
            owner: Owner::new("acme").unwrap(),
            repo: Repo::new("shop").unwrap(),
            number: 42,
            title: "Log in with a user name".to_owned(),
            url: "https://example.com/acme/shop/pull/42".to_owned(),
            files: Vec::new(),
        },
        requested_by: None,
        created_at_ms: 0,
        status: ReviewStatus::Completed,
        total_findings: findings.len() as u64,
        consensus_findings: consensus.len() as u64,
        total_cost: MicroUsd(8_900 * models.len() as u64),
        models,
    };
    let recorded = |finding: Finding| RecordedFinding {
        in_consensus: finding.id.as_str() == "f-1",
        finding,
        feedback: None,
    };
    let findings = findings.into_iter().map(recorded).collect();
    RecordedReview { review, responses, findings, consensus }
}

/// Three models that agree on two issues, and a fourth that failed.
pub(crate) fn typical() -> RecordedReview {
    let findings = vec![
        finding("claude-sonnet", "f-1", Severity::Critical),
        Finding {
            file_path: "src/cart.py".to_owned(),
            line_start: 7,
            line_end: 7,
            title: "Total may overflow".to_owned(),
            ..finding("claude-sonnet", "f-2", Severity::Low)
        },
        Finding {
            suggestion: Some("Use a placeholder in the query.".to_owned()),
            ..finding("gpt-5", "f-1", Severity::High)
        },
        Finding {
            rule: Some("B608".to_owned()),
            suggestion: Some("Bind the value.".to_owned()),
            ..finding("gpt-5", "f-2", Severity::Medium)
        },
        finding("meta/llama-3", "f-1", Severity::High),
        finding("meta/llama-3", "f-3", Severity::Info),
    ];
    let agreed = vec![
        Consensus {
            category: None,
            file_path: "src/cart.py".to_owned(),
            line_start: 120,
            line_end: 120,
            title: "The cart is not locked".to_owned(),
            ..consensus("c-2", Severity::Medium, &["claude-sonnet", "gpt-5"], 3)
        },
        consensus("c-1", Severity::High, &["claude-sonnet", "gpt-5", "meta/llama-3"], 3),
    ];
    let mut review = review(findings, agreed);
    review.review.models.push(model("slow_model"));
    review.responses.push(Response {
        output_tokens: 0,
        latency_ms: 86_400_000,
        ..response("slow_model", ResponseStatus::Timeout, 0)
    });
    review
}

/// A review whose texts try to be more than texts.
pub(crate) fn hostile() -> RecordedReview {
    let evil = "| a `b` <script>alert(1)</script> @octocat closes #1 [x](https://evil.example) \
                ![p](http://t) **b**\r\n# heading\n\u{1B}[31mred\u{202E}";
    let findings = vec![
        Finding { title: evil.to_owned(), ..finding("a|b`<i>@x", "f-1", Severity::High) },
        Finding {
            title: evil.to_owned(),
            file_path: "src/`|<b>@x.py".to_owned(),
            rule: Some("R|1".to_owned()),
            ..finding("a|b`<i>@x", "f-2", Severity::Low)
        },
        finding("other", "f-1", Severity::High),
    ];
    let agreed = vec![Consensus {
        title: evil.to_owned(),
        file_path: "src/`|<b>@x.py".to_owned(),
        merged_description: format!("{evil}\n\n</details>\n```\ncode\n```\n- item\n1. item\n==="),
        ..consensus("c-1", Severity::High, &["a|b`<i>@x", "other"], 2)
    }];
    let mut review = review(findings, agreed);
    review.review.pull_request.title = evil.to_owned();
    review
}
