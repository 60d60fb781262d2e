//! The reviews' part of the demo: pull requests of six repositories, reviewed by five models that differ in what they find.
//!
//! `findings.json` has the issues of each pull request, each in the words of several models.

use serde::Deserialize;
use weir_framework::app::App;
use weir_framework::jobs::{Failure, Result};
use weir_reviews::Reviews;
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{Category, FindingId, ModelId, Owner, Repo, UserName};
use weir_reviews::money::MicroUsd;
use weir_reviews::record::{NewHead, NewResponse, NewReview};
use weir_reviews::review::{PullRequest, RecordedFinding, ResponseStatus};
use weir_table::AnyBackend;

use super::people::everybody;
use super::{opened, pattern};

const FINDINGS: &str = include_str!("findings.json");
/// Reviews in the busiest hour, per activity percent, in thousandths.
const REVIEWS_MILLI: u64 = 11;
/// Lines between what models report on their own.
const LONE_LINES: u32 = 400;
/// Issues of one review.
const ISSUES_MAX: usize = 6;

/// A model: its id, how often it finds an issue and how often it reports something that nobody else does (percent), how
/// often it fails (per mille), its price in micro-USD per million tokens of input and output, its usual latency, and how
/// often a person accepts what it says (percent).
struct Model {
    id: &'static str,
    finds: (u64, u64),
    fails_milli: u64,
    price: (u64, u64),
    latency_ms: u64,
    accepted: u64,
}

const MODELS: [Model; 5] = [
    model("anthropic.claude-sonnet-4-5", (78, 42), 6, (3_000_000, 15_000_000), 11_500, 84),
    model("openai.gpt-5", (74, 66), 14, (1_250_000, 10_000_000), 19_000, 79),
    model("google.gemini-2.5-pro", (66, 58), 22, (1_250_000, 10_000_000), 14_500, 71),
    model("mistral.large-2", (48, 76), 12, (2_000_000, 6_000_000), 8_200, 63),
    model("amazon.nova-pro", (39, 90), 31, (800_000, 3_200_000), 5_400, 52),
];

const fn model(
    id: &'static str,
    finds: (u64, u64),
    fails_milli: u64,
    price: (u64, u64),
    latency_ms: u64,
    accepted: u64,
) -> Model {
    Model { id, finds, fails_milli, price, latency_ms, accepted }
}

/// A repository with its pull requests.
#[derive(Deserialize)]
struct Repository {
    owner: String,
    repo: String,
    prs: Vec<Change>,
}

/// The change of a pull request, and the issues in it.
#[derive(Deserialize)]
struct Change {
    title: String,
    issues: Vec<Issue>,
}

/// The pull request of one review.
struct Drawn<'a> {
    change: &'a Change,
    issues: Vec<&'a Issue>,
    /// How far its lines are from those in the corpus.
    drift: u32,
}

/// An issue, in the words of several models: title, description and suggestion.
#[derive(Deserialize)]
struct Issue {
    file: String,
    from: u32,
    to: u32,
    severity: Severity,
    category: String,
    wordings: Vec<(String, String, String)>,
}

/// The repositories.
pub(super) struct ReviewsDemo {
    reviews: Reviews<AnyBackend>,
    repositories: Vec<Repository>,
    random: fastrand::Rng,
    /// The number of the next pull request.
    number: u64,
}

impl ReviewsDemo {
    /// Opens the reviews. Pull requests are numbered by time, so that a later start goes on.
    pub(super) fn open(app: &App, seed: u64) -> Result<ReviewsDemo> {
        let reviews: &Reviews<AnyBackend> = opened(app, "reviews")?;
        let repositories = serde_json::from_str(FINDINGS)?;
        let number = u64::try_from(reviews.now_ms() / 3_600_000 % 100_000)?;
        let random = fastrand::Rng::with_seed(seed);
        Ok(ReviewsDemo { reviews: reviews.clone(), repositories, random, number })
    }

    /// The reviews of the hour that ends at `now_ms`.
    pub(super) async fn hour(&mut self, now_ms: i64) -> Result<()> {
        let activity = pattern::activity(now_ms, 1);
        let count = pattern::count(activity * REVIEWS_MILLI, &mut self.random);
        for _ in 0..count {
            self.act().await?;
        }
        Ok(())
    }

    /// Reviews one pull request, and judges some of the findings.
    pub(super) async fn act(&mut self) -> Result<()> {
        let new = self.review()?;
        let responses = new.responses.clone();
        let recorded = self.reviews.record(new, false).await?;
        let whole = self.reviews.get_whole(&recorded.review.id).await?;
        let judge = person(&mut self.random)?;
        for RecordedFinding { finding, in_consensus, .. } in &whole.findings {
            if responses.len() < 3 || self.random.u64(0..100) >= 34 {
                continue;
            }
            let model = MODELS.iter().find(|model| model.id == finding.model.as_str());
            let accepted = model.map_or(50, |model| model.accepted);
            let accepted = if *in_consensus { accepted + 12 } else { accepted * 2 / 3 };
            let accepted = self.random.u64(0..100) < accepted;
            let (id, finding, model) = (&recorded.review.id, &finding.id, &finding.model);
            self.reviews.feedback(id, model, finding, accepted, &judge).await?;
        }
        Ok(())
    }

    fn review(&mut self) -> Result<NewReview> {
        let Self { repositories, random, number, .. } = self;
        let missing = || Failure::new("the demo has no findings");
        let repository = random.choice(&*repositories).ok_or_else(missing)?;
        let change = random.choice(&repository.prs).ok_or_else(missing)?;
        *number += random.u64(1..4);
        let count = random.usize(1..=ISSUES_MAX);
        let issues = random.choose_multiple(&change.issues, count);
        let drawn = Drawn { change, issues, drift: random.u32(0..60) };
        let mut responses = Vec::new();
        for (place, model) in MODELS.iter().enumerate() {
            // Not every review asks every model.
            if place < 2 || random.u64(0..100) < 82 {
                responses.push(respond(model, place, &drawn, random)?);
            }
        }
        let mut files: Vec<String> = change.issues.iter().map(|issue| issue.file.clone()).collect();
        files.sort_unstable();
        files.dedup();
        let (owner, repo) = (&repository.owner, &repository.repo);
        let head = NewHead {
            id: None,
            pull_request: PullRequest {
                owner: Owner::new(owner)?,
                repo: Repo::new(repo)?,
                number: *number,
                title: change.title.clone(),
                url: format!("https://github.example/{owner}/{repo}/pull/{number}"),
                files,
            },
            requested_by: Some(person(random)?),
            created_at_ms: None,
        };
        Ok(NewReview { head, responses, consensus: None })
    }
}

fn person(random: &mut fastrand::Rng) -> Result<UserName> {
    let people: Vec<_> = everybody().skip(8).take(14).collect();
    let person = random.choice(people).ok_or_else(|| Failure::new("the demo has no people"))?;
    Ok(UserName::new(person.id())?)
}

/// The response of a model.
fn respond(
    model: &Model,
    place: usize,
    drawn: &Drawn<'_>,
    random: &mut fastrand::Rng,
) -> Result<NewResponse> {
    let status = match random.u64(0..1_000) {
        luck if luck < model.fails_milli / 2 => ResponseStatus::Timeout,
        luck if luck < model.fails_milli => ResponseStatus::Error,
        _ => ResponseStatus::Success,
    };
    let mut findings = Vec::new();
    for issue in drawn.issues.iter().filter(|_| status == ResponseStatus::Success) {
        if random.u64(0..100) < model.finds.0 {
            findings.push(finding(model, place, issue, drawn.drift, findings.len())?);
        }
    }
    if status == ResponseStatus::Success
        && random.u64(0..100) < model.finds.1
        && let Some(issue) = random.choice(&drawn.change.issues)
    {
        // Far from where the others look, so that it is no consensus.
        let drift = LONE_LINES * (u32::try_from(place)? + 1) + random.u32(0..90);
        findings.push(finding(model, place, issue, drift, findings.len())?);
    }
    let input_tokens = random.u64(2_600..9_400);
    let output_tokens = match status {
        ResponseStatus::Success => 120 + findings.len() as u64 * random.u64(110..190),
        _ => 0,
    };
    let cost = (input_tokens * model.price.0 + output_tokens * model.price.1).div_ceil(1_000_000);
    let latency_ms = match status {
        ResponseStatus::Timeout => 60_000,
        _ => model.latency_ms * random.u64(55..190) / 100 + output_tokens * 4,
    };
    Ok(NewResponse {
        model: ModelId::new(model.id)?,
        status,
        input_tokens,
        output_tokens,
        latency_ms,
        cost: MicroUsd(cost),
        raw: None,
        findings,
    })
}

/// The finding of a model on an issue, in words of its own where the corpus has enough.
fn finding(
    model: &Model,
    place: usize,
    issue: &Issue,
    drift: u32,
    number: usize,
) -> Result<Finding> {
    let wording = issue.wordings.get(place % issue.wordings.len().max(1));
    let (title, description, suggestion) =
        wording.ok_or_else(|| Failure::new("an issue has no words"))?;
    Ok(Finding {
        model: ModelId::new(model.id)?,
        id: FindingId::new(format!("f{}", number + 1))?,
        severity: issue.severity,
        category: Some(Category::new(&issue.category)?),
        rule: None,
        file_path: issue.file.clone(),
        line_start: issue.from + drift,
        line_end: issue.to + drift,
        title: title.clone(),
        description: description.clone(),
        suggestion: Some(suggestion.clone()).filter(|text| !text.is_empty()),
    })
}
