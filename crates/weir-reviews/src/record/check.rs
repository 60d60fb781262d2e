//! Checks everything that is sent, before anything is written. Errors name the field.

use std::collections::BTreeSet;

use weir_calendar::DAY_MS;

use super::{NewConsensus, NewHead, NewResponse, NewReview};
use crate::bounds::{
    CONSENSUS_MEMBERS_MAX, COST_MICROS_MAX, CREATED_AHEAD_MAX_MS, FILES_BYTES_MAX, FILES_MAX,
    FINDINGS_MAX, LATENCY_MAX_MS, LINE_MAX, MODELS_MAX, PATH_MAX, PR_NUMBER_MAX, RAW_MAX, TEXT_MAX,
    TOKENS_MAX,
};
use crate::error::{Error, Result};
use crate::finding::{Finding, check_length};
use crate::review::{Member, Response, ResponseStatus};
use crate::time::rfc3339;

impl NewReview {
    /// Checks the whole review.
    ///
    /// # Errors
    /// Names the first field that is wrong or exceeds a bound.
    pub fn check(&self, now_ms: i64, review_days: u32) -> Result<()> {
        self.head.check(now_ms, review_days)?;
        check_count("responses", self.responses.len(), MODELS_MAX)?;
        let findings = self.responses.iter().map(|response| response.findings.len()).sum();
        check_count("findings", findings, FINDINGS_MAX)?;
        let mut models = BTreeSet::new();
        for (number, response) in self.responses.iter().enumerate() {
            let at = format!("responses[{number}]");
            response.check().map_err(|error| error.inside(&at))?;
            if !models.insert(&response.model) {
                return Err(Error::invalid("model_id", "has a response already").inside(&at));
            }
        }
        let Some(consensus) = &self.consensus else { return Ok(()) };
        let succeeded = self.responses.iter().filter(|r| r.status == ResponseStatus::Success);
        let findings = succeeded.flat_map(|response| &response.findings);
        check_consensus(consensus, findings)
    }
}

impl NewHead {
    /// Checks the review without its responses.
    ///
    /// # Errors
    /// Names the first field that is wrong or exceeds a bound.
    pub fn check(&self, now_ms: i64, review_days: u32) -> Result<()> {
        let pull_request = &self.pull_request;
        if !(1..=PR_NUMBER_MAX).contains(&pull_request.number) {
            return Err(Error::invalid("pr_number", format!("is not from 1 to {PR_NUMBER_MAX}")));
        }
        check_length("pr_title", &pull_request.title, TEXT_MAX)?;
        check_length("pr_url", &pull_request.url, TEXT_MAX)?;
        check_files(&pull_request.files)?;
        match self.created_at_ms {
            Some(at_ms) => check_created_at(at_ms, now_ms, review_days),
            None => Ok(()),
        }
    }
}

impl NewResponse {
    /// Checks the response with its findings.
    ///
    /// # Errors
    /// Names the first field that is wrong or exceeds a bound.
    pub fn check(&self) -> Result<()> {
        check_number("input_tokens", self.input_tokens, TOKENS_MAX)?;
        check_number("output_tokens", self.output_tokens, TOKENS_MAX)?;
        check_number("latency_ms", self.latency_ms, LATENCY_MAX_MS)?;
        if self.cost.0 > COST_MICROS_MAX {
            let most = crate::money::MicroUsd(COST_MICROS_MAX);
            return Err(Error::invalid("cost_usd", format!("is more than {most}")));
        }
        if let Some(raw) = self.raw.as_ref().filter(|raw| raw.len() > RAW_MAX) {
            let problem = format!("has {} bytes; at most {RAW_MAX} are allowed", raw.len());
            return Err(Error::too_large("raw", problem));
        }
        check_count("findings", self.findings.len(), FINDINGS_MAX)?;
        let mut ids = BTreeSet::new();
        for (number, finding) in self.findings.iter().enumerate() {
            let checked = self.check_finding(finding, &mut ids);
            checked.map_err(|error| error.inside(&format!("findings[{number}]")))?;
        }
        Ok(())
    }

    fn check_finding<'a>(
        &self,
        finding: &'a Finding,
        ids: &mut BTreeSet<&'a crate::ids::FindingId>,
    ) -> Result<()> {
        if finding.model != self.model {
            let problem = format!("{:?} is not the model of the response", finding.model);
            return Err(Error::invalid("model_id", problem));
        }
        if !ids.insert(&finding.id) {
            return Err(Error::invalid("finding_id", "is the id of another finding of the model"));
        }
        finding.check()
    }

    /// The response as it is stored.
    pub(crate) fn to_response(&self, raw_key: Option<String>) -> Response {
        Response {
            model: self.model.clone(),
            status: self.status,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            latency_ms: self.latency_ms,
            cost: self.cost,
            findings_count: self.findings.len() as u64,
            raw_key,
        }
    }
}

/// Checks the consensus that a caller sends against the findings of the models that succeeded.
pub(crate) fn check_consensus<'a>(
    consensus: &'a [NewConsensus],
    findings: impl IntoIterator<Item = &'a Finding>,
) -> Result<()> {
    check_count("consensus", consensus.len(), FINDINGS_MAX / 2)?;
    let known: BTreeSet<_> = findings.into_iter().map(|f| (&f.model, &f.id)).collect();
    let (mut ids, mut used) = (BTreeSet::new(), BTreeSet::new());
    for (number, one) in consensus.iter().enumerate() {
        let at = format!("consensus[{number}]");
        if !ids.insert(&one.id) {
            return Err(Error::invalid("consensus_id", "is not unique").inside(&at));
        }
        one.check().map_err(|error| error.inside(&at))?;
        for (number, Member { model, finding }) in one.members.iter().enumerate() {
            let problem = if !known.contains(&(model, finding)) {
                format!("model {model:?} has no finding {finding:?}, or did not succeed")
            } else if !used.insert((model, finding)) {
                format!("finding {finding:?} of model {model:?} is in another place already")
            } else {
                continue;
            };
            return Err(Error::invalid(format!("members[{number}]"), problem).inside(&at));
        }
    }
    Ok(())
}

impl NewConsensus {
    fn check(&self) -> Result<()> {
        check_count("members", self.members.len(), CONSENSUS_MEMBERS_MAX)?;
        let models: BTreeSet<_> = self.members.iter().map(|member| &member.model).collect();
        if models.len() < 2 {
            return Err(Error::invalid("members", "are not of two models or more"));
        }
        if self.line_start == 0 || self.line_start > LINE_MAX {
            return Err(Error::invalid("line_start", format!("is not from 1 to {LINE_MAX}")));
        }
        if self.line_end < self.line_start || self.line_end > LINE_MAX {
            let problem = format!("is not from line_start ({}) to {LINE_MAX}", self.line_start);
            return Err(Error::invalid("line_end", problem));
        }
        check_path("file_path", &self.file_path)?;
        check_length("title", &self.title, TEXT_MAX)?;
        check_length("merged_description", &self.merged_description, TEXT_MAX)
    }
}

fn check_files(files: &[String]) -> Result<()> {
    check_count("files", files.len(), FILES_MAX)?;
    let bytes: usize = files.iter().map(String::len).sum();
    if bytes > FILES_BYTES_MAX {
        let problem = format!("have {bytes} bytes; at most {FILES_BYTES_MAX} are allowed");
        return Err(Error::too_large("files", problem));
    }
    let mut numbered = files.iter().enumerate();
    numbered.try_for_each(|(number, file)| check_path(&format!("files[{number}]"), file))
}

fn check_path(field: &str, path: &str) -> Result<()> {
    if path.is_empty() || path.chars().any(char::is_control) {
        return Err(Error::invalid(field, "is empty or has control characters"));
    }
    check_length(field, path, PATH_MAX)
}

fn check_created_at(at_ms: i64, now_ms: i64, review_days: u32) -> Result<()> {
    let latest_ms = now_ms.saturating_add(CREATED_AHEAD_MAX_MS);
    let earliest_ms = now_ms.saturating_sub(i64::from(review_days).saturating_mul(DAY_MS));
    if at_ms > latest_ms {
        let problem = format!("is in the future; the server's time is {}", rfc3339(now_ms));
        return Err(Error::invalid("created_at", problem));
    }
    if at_ms <= earliest_ms {
        let problem = format!(
            "is before {}; reviews are retained for {review_days} days",
            rfc3339(earliest_ms)
        );
        return Err(Error::invalid("created_at", problem));
    }
    Ok(())
}

fn check_number(field: &str, number: u64, max: u64) -> Result<()> {
    if number <= max {
        return Ok(());
    }
    Err(Error::invalid(field, format!("is {number}; at most {max} is allowed")))
}

fn check_count(field: &str, count: usize, max: usize) -> Result<()> {
    if count <= max {
        return Ok(());
    }
    Err(Error::too_large(field, format!("are {count}; at most {max} are allowed")))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{consensus, finding, model, response, review};
    use super::*;

    const NOW_MS: i64 = 1_736_937_000_000;

    fn problem_of(change: impl FnOnce(&mut NewReview)) -> String {
        let mut review = review();
        review.check(NOW_MS, 90).unwrap();
        change(&mut review);
        review.check(NOW_MS, 90).unwrap_err().to_string()
    }

    #[test]
    fn an_error_names_its_field() {
        type Change = fn(&mut NewReview);
        let cases: [(&str, Change); 24] = [
            ("pr_number: ", |r| r.head.pull_request.number = 0),
            ("pr_title: ", |r| r.head.pull_request.title = "x".repeat(TEXT_MAX + 1)),
            ("files[1]: ", |r| r.head.pull_request.files.push(String::new())),
            ("files: ", |r| r.head.pull_request.files = vec!["x".into(); FILES_MAX + 1]),
            ("files: ", |r| r.head.pull_request.files = vec!["x".repeat(4_096); 65]),
            ("created_at: ", |r| r.head.created_at_ms = Some(NOW_MS + 60_001)),
            ("created_at: ", |r| r.head.created_at_ms = Some(NOW_MS - 90 * DAY_MS)),
            ("responses: ", |r| {
                r.responses = (0..21).map(|n| response(&format!("m{n}"))).collect();
            }),
            ("responses[1].model_id: ", |r| r.responses[1] = r.responses[0].clone()),
            ("responses[0].input_tokens: ", |r| r.responses[0].input_tokens = TOKENS_MAX + 1),
            ("responses[0].latency_ms: ", |r| r.responses[0].latency_ms = LATENCY_MAX_MS + 1),
            ("responses[0].cost_usd: ", |r| r.responses[0].cost.0 = COST_MICROS_MAX + 1),
            ("responses[1].raw: ", |r| r.responses[1].raw = Some(vec![0; RAW_MAX + 1])),
            ("responses[0].findings[1].finding_id: ", |r| {
                r.responses[0].findings.push(finding("a", "1"));
            }),
            ("responses[0].findings[0].model_id: ", |r| {
                r.responses[0].findings[0].model = model("other");
            }),
            ("responses[1].findings[0].line_end: ", |r| r.responses[1].findings[0].line_end = 2),
            ("findings: ", |r| {
                r.responses[0].findings =
                    (0..2_000).map(|n| finding("a", &format!("f{n}"))).collect();
            }),
            ("consensus[0].members: ", |r| {
                r.consensus = Some(vec![consensus("c", &[("a", "1")])]);
            }),
            ("consensus[0].members[1]: ", |r| {
                r.consensus = Some(vec![consensus("c", &[("a", "1"), ("b", "9")])]);
            }),
            ("consensus[1].members[0]: ", |r| {
                let twice = [("a", "1"), ("b", "1")];
                r.consensus = Some(vec![consensus("c", &twice), consensus("d", &twice)]);
            }),
            ("consensus[1].consensus_id: ", |r| {
                let one = consensus("c", &[("a", "1"), ("b", "1")]);
                r.consensus = Some(vec![one.clone(), one]);
            }),
            ("consensus[0].members[1]: ", |r| {
                r.responses[1].status = ResponseStatus::Timeout;
                r.consensus = Some(vec![consensus("c", &[("a", "1"), ("b", "1")])]);
            }),
            ("consensus[0].line_end: ", |r| {
                let mut one = consensus("c", &[("a", "1"), ("b", "1")]);
                one.line_end = 1;
                r.consensus = Some(vec![one]);
            }),
            ("consensus[0].file_path: ", |r| {
                let mut one = consensus("c", &[("a", "1"), ("b", "1")]);
                one.file_path.clear();
                r.consensus = Some(vec![one]);
            }),
        ];
        for (field, change) in cases {
            let problem = problem_of(change);
            assert!(problem.starts_with(field), "{field} {problem}");
        }
    }

    #[test]
    fn what_is_at_a_bound_is_accepted() {
        let mut at_bounds = review();
        at_bounds.head.created_at_ms = Some(NOW_MS + CREATED_AHEAD_MAX_MS);
        at_bounds.responses[0].raw = Some(vec![0; RAW_MAX]);
        at_bounds.responses[0].findings =
            (1..2_000).map(|n| finding("a", &format!("f{n}"))).collect();
        at_bounds.consensus = Some(vec![consensus("c", &[("a", "f1"), ("b", "1")])]);
        at_bounds.check(NOW_MS, 90).unwrap();
        at_bounds.head.created_at_ms = Some(NOW_MS - 90 * DAY_MS + 1);
        at_bounds.check(NOW_MS, 90).unwrap();
    }
}
