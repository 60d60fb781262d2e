//! Generates reviews: the same seed gives the same ones. Also for benchmarks.

use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{
    Category, ConsensusId, FindingId, ModelId, Owner, Repo, ReviewId, UserName,
};
use weir_reviews::money::MicroUsd;
use weir_reviews::review::{
    Consensus, Feedback, Member, PullRequest, RecordedFinding, RecordedReview, Response,
    ResponseStatus, Review, ReviewStatus,
};

const DAY_MS: i64 = 86_400_000;
const CATEGORIES: [&str; 4] = ["security", "performance", "style", "correctness"];

/// How many of what to generate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Reviews in all.
    pub(crate) reviews: usize,
    /// Repositories that they are spread over.
    pub(crate) repos: usize,
    /// Days that they are spread over.
    pub(crate) days: usize,
    /// Models; each review has most of them.
    pub(crate) models: usize,
    /// Most issues of a review; each is found by some of the models.
    pub(crate) issues: usize,
    /// Start of the first day, in milliseconds since 1970.
    pub(crate) start_ms: i64,
}

/// Reviews of this shape.
pub(crate) fn reviews(seed: u64, shape: Shape) -> impl Iterator<Item = RecordedReview> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..shape.reviews).map(move |number| review(&mut random, number, shape))
}

/// One of the models.
pub(crate) fn model(number: usize) -> ModelId {
    ModelId::new(format!("vendor-{}/model-{number}:v1", number % 3)).unwrap()
}

/// The owner of all repositories.
pub(crate) fn owner() -> Owner {
    Owner::new("acme").unwrap()
}

/// One of the repositories.
pub(crate) fn repo(number: usize) -> Repo {
    Repo::new(format!("repo-{number}")).unwrap()
}

fn review(random: &mut fastrand::Rng, number: usize, shape: Shape) -> RecordedReview {
    let files: Vec<String> = (0..random.usize(..6)).map(path).collect();
    let mut responses: Vec<Response> = (0..shape.models)
        .filter(|_| random.u8(..10) > 0)
        .collect::<Vec<_>>()
        .into_iter()
        .map(|number| response(random, number))
        .collect();
    responses.sort_by(|a, b| a.model.cmp(&b.model));
    let (findings, consensus) = findings(random, &responses, shape.issues);
    let pull_request = PullRequest {
        owner: owner(),
        repo: repo(random.usize(..shape.repos)),
        number: number as u64,
        title: "A change".to_owned(),
        url: "https://example.com/pull/1".to_owned(),
        files,
    };
    let day = i64::try_from(random.usize(..shape.days)).unwrap();
    let review = Review {
        id: ReviewId::new(format!("review-{number}")).unwrap(),
        pull_request,
        requested_by: None,
        created_at_ms: shape.start_ms + day * DAY_MS + random.i64(0..DAY_MS),
        status: ReviewStatus::Completed,
        models: responses.iter().map(|response| response.model.clone()).collect(),
        total_findings: findings.len() as u64,
        consensus_findings: consensus.len() as u64,
        total_cost: MicroUsd(responses.iter().map(|response| response.cost.0).sum()),
    };
    RecordedReview { review, responses, findings, consensus }
}

fn path(file: usize) -> String {
    format!("src/file-{file}.rs")
}

/// A response of a model.
pub(crate) fn response(random: &mut fastrand::Rng, number: usize) -> Response {
    let status = match random.u8(..20) {
        0 => ResponseStatus::Error,
        1 => ResponseStatus::Timeout,
        _ => ResponseStatus::Success,
    };
    // A long tail, like that of real models.
    let latency_ms = 50 + random.u64(..5_000) * random.u64(1..=20) / random.u64(1..=20);
    Response {
        model: model(number),
        status,
        input_tokens: random.u64(..50_000),
        output_tokens: random.u64(..5_000),
        latency_ms,
        cost: MicroUsd(random.u64(..100_000)),
        findings_count: 0,
        raw_key: None,
    }
}

/// Issues that some of the models that responded find. Where two do, they are a consensus, except some that it misses.
fn findings(
    random: &mut fastrand::Rng,
    responses: &[Response],
    issues: usize,
) -> (Vec<RecordedFinding>, Vec<Consensus>) {
    let (mut findings, mut groups) = (Vec::new(), Vec::new());
    for issue in 0..random.usize(..=issues) {
        let category = random.choice(CATEGORIES).filter(|_| random.bool() || random.bool());
        let (file, severity) = (random.usize(..8), random.choice(Severity::ALL).unwrap());
        let mut members = Vec::new();
        for response in responses.iter().filter(|one| one.status == ResponseStatus::Success) {
            // A consensus that was sent may have two findings of one model.
            let times = if random.u8(..30) == 0 { 2 } else { usize::from(random.bool()) };
            for time in 0..times {
                let id = FindingId::new(format!("f{issue}-{time}")).unwrap();
                members.push(Member { model: response.model.clone(), finding: id });
            }
        }
        let mut agreeing: Vec<ModelId> = members.iter().map(|one| one.model.clone()).collect();
        agreeing.dedup();
        let in_consensus = agreeing.len() > 1 && random.u8(..10) > 0;
        for member in &members {
            let category = category.map(|text| Category::new(text).unwrap());
            let finding = finding(member, severity, category, path(file));
            let feedback = (random.u8(..4) == 0).then(|| feedback(random.bool()));
            findings.push(RecordedFinding { finding, in_consensus, feedback });
        }
        if in_consensus {
            let asked = responses.len() as u64;
            groups.push(consensus(groups.len(), members, agreeing, asked, severity, path(file)));
        }
    }
    let order = |found: &RecordedFinding| (found.finding.model.clone(), found.finding.id.clone());
    findings.sort_by_key(order);
    (findings, groups)
}

/// A finding.
pub(crate) fn finding(
    member: &Member,
    severity: Severity,
    category: Option<Category>,
    file_path: String,
) -> Finding {
    Finding {
        model: member.model.clone(),
        id: member.finding.clone(),
        severity,
        category,
        rule: None,
        file_path,
        line_start: 1,
        line_end: 2,
        title: "An issue".to_owned(),
        description: String::new(),
        suggestion: None,
    }
}

/// A judgement of a finding.
pub(crate) fn feedback(accepted: bool) -> Feedback {
    Feedback { accepted, by: UserName::new("jo").unwrap(), at_ms: 0 }
}

/// A consensus.
pub(crate) fn consensus(
    number: usize,
    members: Vec<Member>,
    agreeing_models: Vec<ModelId>,
    models_asked: u64,
    severity: Severity,
    file_path: String,
) -> Consensus {
    Consensus {
        id: ConsensusId::new(format!("c{number}")).unwrap(),
        members,
        agreeing_models,
        models_asked,
        severity,
        category: None,
        file_path,
        line_start: 1,
        line_end: 2,
        title: "An issue".to_owned(),
        merged_description: String::new(),
    }
}
