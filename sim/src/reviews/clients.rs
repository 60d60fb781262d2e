//! What clients send.

use std::sync::Arc;

use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{
    Category, ConsensusId, FindingId, ModelId, Owner, Repo, ReviewId, UserName,
};
use weir_reviews::money::MicroUsd;
use weir_reviews::record::{NewConsensus, NewHead, NewResponse, NewReview};
use weir_reviews::review::{Member, PullRequest, ResponseStatus};

use crate::random::Random;

/// Reviews of a run.
const IDS: usize = 4;
/// Findings of each model of a large review, which takes several transactions.
const MANY_FINDINGS: usize = 55;
const DAY_MS: i64 = 86_400_000;
pub(super) const MODELS: [&str; 3] = ["ada", "bo", "cy"];
pub(super) const CATEGORIES: [&str; 2] = ["security", "style"];
pub(super) const USERS: [&str; 2] = ["ann", "ben"];

/// The id of a review.
pub(super) fn any_id(random: &mut Random) -> ReviewId {
    ReviewId::new(format!("r-{}", random.index(IDS))).expect("a valid id")
}

pub(super) fn owner() -> Owner {
    Owner::new("acme").expect("a valid owner")
}

pub(super) fn repos() -> [Repo; 2] {
    ["shop", "till"].map(|repo| Repo::new(repo).expect("a valid repository"))
}

pub(super) fn model(name: &str) -> ModelId {
    ModelId::new(name).expect("a valid model")
}

pub(super) fn any_model(random: &mut Random) -> ModelId {
    model(MODELS[random.index(MODELS.len())])
}

pub(super) fn user(name: &str) -> UserName {
    UserName::new(name).expect("a valid user")
}

pub(super) fn category(name: &str) -> Category {
    Category::new(name).expect("a valid category")
}

pub(super) fn finding_id(number: usize) -> FindingId {
    FindingId::new(format!("f-{number:03}")).expect("a valid id")
}

/// A content, in the order in which everything is stored.
pub(super) fn content(random: &mut Random, now_ms: i64) -> NewReview {
    let is_large = random.percent(6);
    let mut responses = Vec::new();
    for name in MODELS {
        if is_large || random.percent(60) {
            responses.push(response(random, name, is_large));
        }
    }
    let head = head(random, now_ms);
    let mut content = NewReview { head, responses, consensus: None };
    if random.percent(15) {
        content.consensus = Some(sent_consensus(random, &content.responses));
    }
    content
}

fn head(random: &mut Random, now_ms: i64) -> NewHead {
    let id = any_id(random);
    // Nearly always an id is of the same pull request.
    let of = if random.percent(4) { 0 } else { usize::from(id.as_str() > "r-1") };
    let [first, second] = repos();
    let created_at_ms = random.percent(60).then(|| now_ms - random.number(0..=3 * DAY_MS));
    let files = (0..random.index(3)).map(|number| format!("src/file{number}.rs")).collect();
    NewHead {
        id: Some(id),
        pull_request: PullRequest {
            owner: owner(),
            repo: if of == 0 { first } else { second },
            number: 7,
            title: format!("Change {}", random.index(1_000)),
            url: "https://example.com/7".to_owned(),
            files,
        },
        requested_by: random.percent(50).then(|| user(USERS[0])),
        created_at_ms,
    }
}

/// The response of a model. Models that find the same number describe the same issue.
pub(super) fn response(random: &mut Random, name: &str, is_large: bool) -> NewResponse {
    let version = random.index(1_000);
    let numbers: Vec<usize> = if is_large {
        (0..MANY_FINDINGS).collect()
    } else {
        (0..4).filter(|_| random.percent(45)).collect()
    };
    let findings = numbers.into_iter().map(|number| finding(name, number, version)).collect();
    let status = *random.pick(&[
        ResponseStatus::Success,
        ResponseStatus::Success,
        ResponseStatus::Success,
        ResponseStatus::Timeout,
    ]);
    NewResponse {
        model: model(name),
        status,
        input_tokens: random.number(0..=10_000).unsigned_abs(),
        output_tokens: random.number(0..=10_000).unsigned_abs(),
        latency_ms: random.number(1..=60_000).unsigned_abs(),
        cost: MicroUsd(random.number(0..=1_000_000).unsigned_abs()),
        raw: random.percent(30).then(|| format!("{{\"version\":{version}}}").into_bytes()),
        findings,
    }
}

fn finding(name: &str, number: usize, version: usize) -> Finding {
    let line = u32::try_from(number).unwrap_or_default() * 20 + 1;
    Finding {
        model: model(name),
        id: finding_id(number),
        severity: Severity::ALL[(number + version) % 5],
        category: (version % 3 != 2).then(|| category(CATEGORIES[version % 2])),
        rule: None,
        file_path: format!("src/file{}.rs", number % 11),
        line_start: line,
        line_end: line + 2,
        title: format!("Unchecked `call_{number}`"),
        description: format!("The result of `call_{number}` is ignored ({version})."),
        suggestion: None,
    }
}

/// At most one consensus, of two findings.
fn sent_consensus(random: &mut Random, responses: &[NewResponse]) -> Vec<NewConsensus> {
    let succeeded = responses.iter().filter(|of| of.status == ResponseStatus::Success);
    let firsts: Vec<&Finding> = succeeded.filter_map(|of| of.findings.first()).take(2).collect();
    let [first, second] = firsts[..] else { return Vec::new() };
    let member = |of: &Finding| Member { model: of.model.clone(), finding: of.id.clone() };
    vec![NewConsensus {
        id: ConsensusId::new("sent-1").expect("a valid id"),
        members: vec![member(first), member(second)],
        severity: Severity::High,
        category: None,
        file_path: "src/file0.rs".to_owned(),
        line_start: 1,
        line_end: 2,
        title: format!("Sent {}", random.index(1_000)),
        merged_description: "Both say so.".to_owned(),
    }]
}

/// Another content of the same review, most of which is the same.
pub(super) fn changed(random: &mut Random, content: &NewReview, now_ms: i64) -> NewReview {
    let mut other = content.clone();
    other.consensus = None;
    match random.index(5) {
        0 => other.head.pull_request.title.push('!'),
        1 => other.head.created_at_ms = Some(now_ms - random.number(0..=3 * DAY_MS)),
        2 if other.responses.len() > 1 => {
            other.responses.remove(random.index(other.responses.len()));
        }
        _ => {}
    }
    if !other.responses.is_empty() {
        let at = random.index(other.responses.len());
        let of = &mut other.responses[at];
        of.latency_ms = random.number(1..=60_000).unsigned_abs();
        if !of.findings.is_empty() {
            let gone = random.index(of.findings.len());
            of.findings.remove(gone);
        }
        if let Some(last) = of.findings.last_mut() {
            last.description.push_str(" Again.");
        }
    }
    other
}

/// The same content in another order, as a client sends it that builds its request again.
pub(super) fn rebuilt(random: &mut Random, content: &NewReview) -> NewReview {
    let mut again = content.clone();
    if random.percent(50) {
        again.responses.reverse();
        again.head.pull_request.files.reverse();
        again.responses.iter_mut().for_each(|response| response.findings.reverse());
        for one in again.consensus.iter_mut().flatten() {
            one.members.reverse();
        }
    }
    again
}

/// A response in another order.
pub(super) fn rebuilt_response(random: &mut Random, response: &NewResponse) -> NewResponse {
    let mut again = response.clone();
    if random.percent(50) {
        again.findings.reverse();
    }
    again
}

/// A client that records a review step by step.
#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) content: Arc<NewReview>,
    /// Steps that are done: opening, then each response.
    pub(super) done: usize,
    /// Whether it gives the review up in the end.
    pub(super) gives_up: bool,
    /// The request in flight.
    pub(super) task: u64,
}
