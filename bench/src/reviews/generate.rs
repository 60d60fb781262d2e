//! Generates reviews: the same seed gives the same ones. Models find some of the same issues, and word them differently.

use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{Category, FindingId, ModelId, Owner, Repo, UserName};
use weir_reviews::money::MicroUsd;
use weir_reviews::record::{NewHead, NewResponse, NewReview};
use weir_reviews::review::{PullRequest, ResponseStatus};

/// Repositories of the reviews.
pub(super) const REPOS: usize = 20;
/// Files that a pull request changes.
const FILES: usize = 8;
/// Lines between two issues, so that neighbours do not match.
const LINES_APART: u32 = 10;

/// A kind of issue: its category, and a title and a description in each wording.
struct Kind {
    category: &'static str,
    wordings: [(&'static str, &'static str); 3],
}

const KINDS: [Kind; 4] = [
    Kind {
        category: "security",
        wordings: [
            ("SQL injection in", "User input is concatenated into the query text without escaping"),
            ("Query built from untrusted input in", "The statement interpolates a parameter"),
            ("Unsafe SQL in", "An attacker can inject SQL because input reaches the query text"),
        ],
    },
    Kind {
        category: "performance",
        wordings: [
            ("Query inside a loop in", "Each iteration sends a query; one batch would be enough"),
            ("N+1 queries in", "The loop queries the database once for each row"),
            ("Repeated database access in", "Load all rows at once instead of one per iteration"),
        ],
    },
    Kind {
        category: "correctness",
        wordings: [
            ("Possible null dereference in", "The value may be missing and is used unchecked"),
            ("Missing null check in", "Dereferences a result that can be null"),
            ("Unchecked optional in", "Fails when the lookup returns nothing"),
        ],
    },
    Kind {
        category: "style",
        wordings: [
            ("Function too long:", "It does several things and is hard to test; split it"),
            ("Split up", "This function has too many responsibilities"),
            ("High complexity of", "Nested branches make this hard to follow"),
        ],
    },
];

/// Parts of the names of functions that findings are about.
const VERBS: [&str; 5] = ["load", "save", "find", "render", "merge"];
const NOUNS: [&str; 7] = ["orders", "users", "invoices", "sessions", "reports", "teams", "carts"];

/// How many models and findings a review has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) models: usize,
    /// Findings of each model.
    pub(super) findings: usize,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} models × {} findings", self.models, self.findings)
    }
}

impl Shape {
    pub(super) fn findings_of_review(self) -> usize {
        self.models * self.findings
    }
}

/// An issue of a pull request, which some of the models find.
struct Issue {
    number: usize,
    severity: Severity,
}

pub(super) fn model(number: usize) -> ModelId {
    ModelId::new(format!("vendor-{}/model-{number}:v1", number % 3)).expect("a model")
}

pub(super) fn owner() -> Owner {
    Owner::new("acme").expect("an owner")
}

pub(super) fn repo(number: usize) -> Repo {
    Repo::new(format!("repo-{number}")).expect("a repository")
}

pub(super) fn categories() -> Vec<Category> {
    KINDS.iter().map(|kind| Category::new(kind.category).expect("a category")).collect()
}

/// A review without an id.
pub(super) fn review(
    random: &mut fastrand::Rng,
    shape: Shape,
    created_at_ms: Option<i64>,
) -> NewReview {
    // Half as many issues again as a model finds, so that most are found by several models.
    let issues: Vec<Issue> = (0..shape.findings + shape.findings.div_ceil(2))
        .map(|number| Issue { number, severity: random.choice(Severity::ALL).expect("a severity") })
        .collect();
    let responses = (0..shape.models).map(|number| response(random, shape, number, &issues));
    NewReview { responses: responses.collect(), head: head(random, created_at_ms), consensus: None }
}

fn head(random: &mut fastrand::Rng, created_at_ms: Option<i64>) -> NewHead {
    let number = random.u64(1..10_000);
    let pull_request = PullRequest {
        owner: owner(),
        repo: repo(random.usize(..REPOS)),
        number,
        title: "Add the login of partners".to_owned(),
        url: format!("https://github.com/acme/repo/pull/{number}"),
        files: (0..FILES).map(path).collect(),
    };
    let requested_by = UserName::new(format!("user-{}", random.u8(..50))).expect("a user");
    NewHead { id: None, pull_request, requested_by: Some(requested_by), created_at_ms }
}

fn response(
    random: &mut fastrand::Rng,
    shape: Shape,
    number: usize,
    issues: &[Issue],
) -> NewResponse {
    let model = model(number);
    let found = random.choose_multiple(issues, shape.findings);
    NewResponse {
        findings: found.into_iter().map(|issue| finding(&model, number, issue)).collect(),
        model,
        status: ResponseStatus::Success,
        input_tokens: random.u64(5_000..50_000),
        output_tokens: random.u64(500..5_000),
        latency_ms: random.u64(2_000..60_000),
        cost: MicroUsd(random.u64(1_000..100_000)),
        raw: None,
    }
}

fn finding(model: &ModelId, wording: usize, issue: &Issue) -> Finding {
    let kind = KINDS.get(issue.number % KINDS.len()).expect("a kind");
    let (title, description) = kind.wordings.get(wording % 3).expect("a wording");
    let (function, line_start) = (function(issue.number), issue.number as u32 * LINES_APART + 1);
    Finding {
        model: model.clone(),
        id: FindingId::new(format!("finding-{:04}", issue.number)).expect("an id"),
        severity: issue.severity,
        category: Category::new(kind.category).ok(),
        rule: None,
        file_path: path(issue.number % FILES),
        line_start,
        line_end: line_start + 3,
        title: format!("{title} `{function}`"),
        description: format!(
            "{description}. See `{function}` at line {line_start}: it is called by the handler of the route, and \
             nothing on the way checks it."
        ),
        suggestion: Some(format!("Change `{function}` and add a test that fails without it.")),
    }
}

fn function(number: usize) -> String {
    let verb = VERBS.get(number % VERBS.len()).expect("a verb");
    let noun = NOUNS.get(number % NOUNS.len()).expect("a noun");
    format!("{verb}_{noun}_{number}")
}

fn path(file: usize) -> String {
    format!("src/services/module_{file}.rs")
}
