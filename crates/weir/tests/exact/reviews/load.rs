//! The reviews of a run: the same from the same seed, in any order of their parts.

use serde_json::value::RawValue;
use weir_api::reviews::{
    Finding, NewFinding, NewResponse, NewReview, RecordedStatus, ResponseStatus, Review, Severity,
};
use weir_calendar::rfc3339;
use weir_table::clock::Clock;

pub(crate) const OWNER: &str = "acme";
pub(crate) const REPOS: [&str; 3] = ["weir", "lock", "dam"];
pub(crate) const MODELS: [&str; 5] =
    ["anthropic.claude-4", "gpt-5", "llama-4:70b", "mistral-l", "qwen-3"];
pub(crate) const CATEGORIES: [&str; 4] = ["security", "performance", "style", "correctness"];
pub(crate) const SEVERITIES: [Severity; 5] =
    [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];
/// Findings of a model in a review.
const FINDINGS: usize = 40;
/// Issues of a pull request, of which every model finds some.
const ISSUES: usize = 60;
const FILES: usize = 6;
/// Days over which reviews are spread.
const DAYS: u64 = 7;
const DAY_MS: i64 = 86_400_000;

/// What happens to a review in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is recorded, also by a second writer at about the same time.
    Recorded,
    /// It is opened, gets its responses one by one, and is completed.
    Stepwise,
    /// It is recorded, then replaced by its second version.
    Replaced,
    /// It is recorded, then deleted.
    Deleted,
    /// It is recorded, deleted, and its id recorded again with its second version.
    Reborn,
}

/// All reviews of a run.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) count: u64,
    /// Whether models send raw outputs.
    pub(crate) has_raws: bool,
    seed: u64,
    at_ms: i64,
}

impl Load {
    pub(crate) fn new(count: u64, has_raws: bool) -> Load {
        let at_ms = i64::try_from(Clock::System.now_ms()).unwrap() - DAY_MS / 2;
        Load { count, has_raws, seed: fastrand::u64(..), at_ms }
    }

    pub(crate) fn id(&self, number: u64) -> String {
        format!("r-{:016x}-{number}", self.seed)
    }

    /// The review of an id.
    pub(crate) fn number(id: &str) -> u64 {
        id.rsplit('-').next().unwrap().parse().unwrap()
    }

    pub(crate) fn fate(number: u64) -> Fate {
        match number % 10 {
            0..=3 => Fate::Recorded,
            4 | 5 => Fate::Stepwise,
            6 | 7 => Fate::Replaced,
            8 => Fate::Deleted,
            _ => Fate::Reborn,
        }
    }

    /// The version of a review that remains; none if it is deleted.
    pub(crate) fn last_version(number: u64) -> Option<u64> {
        match Load::fate(number) {
            Fate::Recorded | Fate::Stepwise => Some(0),
            Fate::Replaced | Fate::Reborn => Some(1),
            Fate::Deleted => None,
        }
    }

    /// The model and the id of a finding that a person accepts. Both versions have it.
    pub(crate) fn judged(&self, number: u64) -> Option<(&'static str, String)> {
        let is_judged = number.is_multiple_of(2) && Load::fate(number) != Fate::Deleted;
        let issue =
            self.issues(number, 0, 0).into_iter().find(|issue| issue.is_multiple_of(2)).unwrap();
        is_judged.then(|| (MODELS[0], format!("issue-{issue}")))
    }

    /// A version of a review, with its parts in a random order.
    pub(crate) fn review(&self, number: u64, version: u64) -> NewReview {
        let repo = REPOS[usize::try_from(number).unwrap() % REPOS.len()];
        let mut responses: Vec<NewResponse> =
            (0..MODELS.len()).map(|model| self.response(number, version, model)).collect();
        fastrand::shuffle(&mut responses);
        let mut files: Vec<String> = (0..FILES).map(file).collect();
        fastrand::shuffle(&mut files);
        // Some second versions are of another day.
        let day = (number + version * (number % 2)) % DAYS;
        let at_ms = self.at_ms - i64::try_from(day).unwrap() * DAY_MS
            + i64::try_from(number * 1_001 % 10_000).unwrap();
        NewReview {
            review_id: Some(self.id(number)),
            owner: OWNER.to_owned(),
            repo: repo.to_owned(),
            pr_number: number / 4 + 1,
            pr_title: format!("change {number}, version {version}"),
            pr_url: format!("https://example.test/{OWNER}/{repo}/pull/{number}"),
            files,
            requested_by: None,
            created_at: Some(rfc3339(at_ms)),
            status: RecordedStatus::Completed,
            responses,
            consensus: None,
        }
    }

    fn response(&self, number: u64, version: u64, model: usize) -> NewResponse {
        let mut random = self.random(number, version, model);
        let status = match (number % 11, version, model) {
            (3, _, 3) => ResponseStatus::Timeout,
            (5, 1, 4) => ResponseStatus::Error,
            _ => ResponseStatus::Success,
        };
        let issues = match status {
            ResponseStatus::Success => self.issues(number, version, model),
            ResponseStatus::Error | ResponseStatus::Timeout => Vec::new(),
        };
        let mut findings: Vec<NewFinding> =
            issues.into_iter().map(|issue| finding(number, version, model, issue)).collect();
        fastrand::shuffle(&mut findings);
        let raw = format!("{{\"review\":{number},\"version\":{version},\"model\":{model}}}");
        let has_raw = self.has_raws && model < 2 && number.is_multiple_of(3);
        NewResponse {
            model_id: MODELS[model].to_owned(),
            status,
            input_tokens: random.u64(1_000..50_000),
            output_tokens: random.u64(100..5_000),
            latency_ms: random.u64(500..60_000),
            cost_usd: format!("0.{:06}", random.u64(100..900_000)),
            raw: has_raw.then(|| RawValue::from_string(raw).unwrap()),
            findings,
        }
    }

    /// The issues that a model finds. The first model finds the same in both versions.
    fn issues(&self, number: u64, version: u64, model: usize) -> Vec<usize> {
        let version = if model == 0 { 0 } else { version };
        let mut issues: Vec<usize> = (0..ISSUES).collect();
        self.random(number, version, model + MODELS.len()).shuffle(&mut issues);
        issues.truncate(FINDINGS);
        issues
    }

    fn random(&self, number: u64, version: u64, part: usize) -> fastrand::Rng {
        let mixed = [number, version, part as u64]
            .into_iter()
            .fold(self.seed, |seed, part| fastrand::Rng::with_seed(seed ^ part).u64(..));
        fastrand::Rng::with_seed(mixed)
    }

    /// The version that a completed review is as a whole.
    pub(crate) fn check(&self, review: &Review) -> Result<u64, String> {
        let number = Load::number(&review.review_id);
        let wrong = |what: &str| Err(format!("{} of version ? has wrong {what}", review.review_id));
        let is_version = |version: &u64| review.pr_title.ends_with(&format!("version {version}"));
        let Some(version) = (0..2).find(is_version) else { return wrong("title") };
        let mut expected = self.review(number, version);
        expected.responses.sort_by(|a, b| a.model_id.cmp(&b.model_id));
        let (Some(responses), Some(findings), Some(consensus)) =
            (&review.responses, &review.findings, &review.consensus)
        else {
            return wrong("parts");
        };
        let models = responses.iter().map(|response| &response.model_id);
        if !models.clone().eq(&review.models_used)
            || !models.eq(expected.responses.iter().map(|response| &response.model_id))
        {
            return wrong("models");
        }
        for (found, sent) in responses.iter().zip(&expected.responses) {
            let of_model = findings.iter().filter(|finding| finding.model_id == found.model_id);
            if found.status != sent.status
                || found.latency_ms != sent.latency_ms
                || found.raw_key.is_some() != sent.raw.is_some()
                || found.findings_count != sent.findings.len() as u64
                || !are_same(of_model, &sent.findings)
            {
                return wrong(&format!("response of {}", found.model_id));
            }
        }
        if review.total_findings != findings.len() as u64 {
            return wrong("count of findings");
        }
        if review.consensus_findings != consensus.len() as u64 {
            return wrong("count of consensus");
        }
        let members = consensus.iter().flat_map(|one| &one.members);
        let mut members: Vec<_> = members.map(|one| (&one.model_id, &one.finding_id)).collect();
        members.sort_unstable();
        let marked = findings.iter().filter(|finding| finding.in_consensus);
        let marked: Vec<_> = marked.map(|one| (&one.model_id, &one.finding_id)).collect();
        if members != marked {
            return wrong("members of consensus");
        }
        Ok(version)
    }
}

fn file(number: usize) -> String {
    format!("src/part_{number}.rs")
}

/// An issue as a model describes it. Even ones are the same in both versions.
fn finding(number: u64, version: u64, model: usize, issue: usize) -> NewFinding {
    let version = if issue.is_multiple_of(2) { 0 } else { version };
    let said = ["may fail", "can go wrong", "is risky", "breaks", "is not safe"][model];
    let line = u32::try_from(issue * 20 + 1).unwrap();
    let kinds = ["unchecked index", "missing lock", "slow query", "leaked handle", "typo"];
    let kind = kinds[(issue / FILES) % kinds.len()];
    NewFinding {
        finding_id: format!("issue-{issue}"),
        severity: SEVERITIES[(issue + model % 2) % SEVERITIES.len()],
        category: (issue % 5 != 4).then(|| CATEGORIES[issue % 4].to_owned()),
        rule: None,
        file_path: file(issue % FILES),
        line_start: line,
        line_end: line + 2,
        title: format!("{kind} in `call_{number}_{issue}`"),
        description: format!("The {kind} of `call_{number}_{issue}` {said}; version {version}"),
        suggestion: issue.is_multiple_of(3).then(|| format!("mend `call_{number}_{issue}`")),
    }
}

/// Whether findings as they are stored, sorted by id, are those that were sent.
fn are_same<'a>(stored: impl Iterator<Item = &'a Finding>, sent: &[NewFinding]) -> bool {
    let mut sent: Vec<&NewFinding> = sent.iter().collect();
    sent.sort_by(|a, b| a.finding_id.cmp(&b.finding_id));
    let stored: Vec<NewFinding> = stored.map(as_sent).collect();
    stored.iter().eq(sent)
}

fn as_sent(stored: &Finding) -> NewFinding {
    let stored = stored.clone();
    NewFinding {
        finding_id: stored.finding_id,
        severity: stored.severity,
        category: stored.category,
        rule: stored.rule,
        file_path: stored.file_path,
        line_start: stored.line_start,
        line_end: stored.line_end,
        title: stored.title,
        description: stored.description,
        suggestion: stored.suggestion,
    }
}
