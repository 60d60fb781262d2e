//! From the wire to the domain. An error names the field from the outside in: `responses[0].findings[3].category`.

use std::mem;

use weir_api::reviews as api;
use weir_framework::{ApiError, time};
use weir_reviews::finding::{Finding, Severity};
use weir_reviews::ids::{
    Category, ConsensusId, FindingId, ModelId, Owner, Repo, ReviewId, UserName,
};
use weir_reviews::money::MicroUsd;
use weir_reviews::record::{Completion, NewConsensus, NewHead, NewResponse, NewReview};
use weir_reviews::review::{Member, PullRequest, ResponseStatus};
use weir_reviews::sarif::{self, ReadOptions};
use weir_reviews::{Error, Result};

use crate::reviews::error::ReviewsError;
use crate::reviews::record::check_id;

/// The content that a request records.
pub(in crate::reviews) enum Recording {
    /// A whole review.
    Whole(NewReview),
    /// A review in progress.
    Opened(NewHead),
}

impl Recording {
    /// The review without its responses.
    pub(in crate::reviews) fn head(&self) -> &NewHead {
        match self {
            Recording::Whole(review) => &review.head,
            Recording::Opened(head) => head,
        }
    }
}

/// Converts a review whose id may also stand in the path.
pub(in crate::reviews) fn recording(
    mut request: api::NewReview,
    path_id: Option<ReviewId>,
) -> Result<Recording> {
    let body_id = request.review_id.as_deref().map(ReviewId::new).transpose()?;
    if let (Some(body), Some(path)) = (&body_id, &path_id)
        && body != path
    {
        return Err(Error::invalid("review_id", format!("is {body:?}, but the path has {path:?}")));
    }
    let id = body_id.or(path_id);
    id.as_ref().map_or(Ok(()), check_id)?;
    let api::NewReview { responses, consensus, status, .. } = &request;
    if *status == api::RecordedStatus::InProgress {
        let field = match (responses.is_empty(), consensus) {
            (true, None) => return Ok(Recording::Opened(head(request, id)?)),
            (false, _) => "responses",
            (true, Some(_)) => "consensus",
        };
        return Err(Error::invalid(field, "cannot be sent with the status in_progress"));
    }
    let (responses, consensus) = (mem::take(&mut request.responses), request.consensus.take());
    Ok(Recording::Whole(NewReview {
        head: head(request, id)?,
        responses: each("responses", responses, new_response)?,
        consensus: consensus.map(|all| each("consensus", all, new_consensus)).transpose()?,
    }))
}

/// Converts the elements of a list; an error names the element.
fn each<T, U>(field: &str, list: Vec<T>, convert: impl Fn(T) -> Result<U>) -> Result<Vec<U>> {
    let numbered = list.into_iter().enumerate();
    let named = |(number, element)| {
        convert(element).map_err(|error| error.inside(&format!("{field}[{number}]")))
    };
    numbered.map(named).collect()
}

/// The result of checking a value, with an error that names `field`.
fn in_field<T>(field: &str, checked: Result<T>) -> Result<T> {
    checked.map_err(|error| match error {
        Error::Invalid { problem, .. } => Error::invalid(field, problem),
        other => other,
    })
}

fn head(request: api::NewReview, id: Option<ReviewId>) -> Result<NewHead> {
    let created_at = request.created_at.as_deref().map(time::parse).transpose();
    Ok(NewHead {
        id,
        pull_request: PullRequest {
            owner: Owner::new(&request.owner)?,
            repo: Repo::new(&request.repo)?,
            number: request.pr_number,
            title: request.pr_title,
            url: request.pr_url,
            files: request.files,
        },
        requested_by: request.requested_by.map(|by| user("requested_by", &by)).transpose()?,
        created_at_ms: created_at.map_err(|problem| Error::invalid("created_at", problem))?,
    })
}

/// The user that a field names.
pub(in crate::reviews) fn user(field: &str, name: &str) -> Result<UserName> {
    in_field(field, UserName::new(name))
}

/// Converts a response with its findings.
pub(in crate::reviews) fn new_response(response: api::NewResponse) -> Result<NewResponse> {
    let model = ModelId::new(&response.model_id)?;
    Ok(NewResponse {
        status: response_status(response.status),
        input_tokens: response.input_tokens,
        output_tokens: response.output_tokens,
        latency_ms: response.latency_ms,
        cost: MicroUsd::parse(&response.cost_usd)?,
        raw: response.raw.map(|raw| raw.get().as_bytes().to_vec()),
        findings: each("findings", response.findings, |finding| new_finding(&model, finding))?,
        model,
    })
}

/// Converts a response whose findings are SARIF.
pub(in crate::reviews) fn sarif_response(
    params: api::SarifResponseParams,
    log: &[u8],
) -> Result<NewResponse> {
    let named = params.model_id.as_deref().map(ModelId::new).transpose()?;
    let options = ReadOptions { model: named.clone(), ..ReadOptions::default() };
    let mut runs = sarif::read(log, &options)?;
    if runs.len() > 1 {
        let problem = format!("are of {} tools; send each of them, or model_id", runs.len());
        return Err(Error::invalid("runs", problem));
    }
    let (model, findings) = match (runs.pop(), named) {
        (Some(run), _) => (run.model, run.findings),
        (None, Some(model)) => (model, Vec::new()),
        (None, None) => return Err(Error::invalid("runs", "are empty, and there is no model_id")),
    };
    Ok(NewResponse {
        model,
        status: response_status(params.status.unwrap_or_default()),
        input_tokens: params.input_tokens.unwrap_or_default(),
        output_tokens: params.output_tokens.unwrap_or_default(),
        latency_ms: params.latency_ms.unwrap_or_default(),
        cost: params.cost_usd.map_or(Ok(MicroUsd::ZERO), |cost| MicroUsd::parse(&cost))?,
        raw: None,
        findings,
    })
}

fn response_status(status: api::ResponseStatus) -> ResponseStatus {
    match status {
        api::ResponseStatus::Success => ResponseStatus::Success,
        api::ResponseStatus::Error => ResponseStatus::Error,
        api::ResponseStatus::Timeout => ResponseStatus::Timeout,
    }
}

fn new_finding(model: &ModelId, finding: api::NewFinding) -> Result<Finding> {
    Ok(Finding {
        model: model.clone(),
        id: FindingId::new(&finding.finding_id)?,
        severity: to_severity(finding.severity),
        category: finding.category.as_deref().map(Category::new).transpose()?,
        rule: finding.rule,
        file_path: finding.file_path,
        line_start: finding.line_start,
        line_end: finding.line_end,
        title: finding.title,
        description: finding.description,
        suggestion: finding.suggestion,
    })
}

/// A severity of the domain.
pub(in crate::reviews) fn to_severity(severity: api::Severity) -> Severity {
    match severity {
        api::Severity::Critical => Severity::Critical,
        api::Severity::High => Severity::High,
        api::Severity::Medium => Severity::Medium,
        api::Severity::Low => Severity::Low,
        api::Severity::Info => Severity::Info,
    }
}

fn new_consensus(consensus: api::NewConsensus) -> Result<NewConsensus> {
    let member = |member: api::ConsensusMember| {
        let model = ModelId::new(&member.model_id)?;
        Ok(Member { model, finding: FindingId::new(&member.finding_id)? })
    };
    Ok(NewConsensus {
        id: ConsensusId::new(&consensus.consensus_id)?,
        members: each("members", consensus.members, member)?,
        severity: to_severity(consensus.severity),
        category: consensus.category.as_deref().map(Category::new).transpose()?,
        file_path: consensus.file_path,
        line_start: consensus.line_start,
        line_end: consensus.line_end,
        title: consensus.title,
        merged_description: consensus.merged_description,
    })
}

/// Converts the end of a review.
pub(in crate::reviews) fn completion(request: api::CompleteRequest) -> Result<Completion> {
    let consensus =
        request.consensus.map(|all| each("consensus", all, new_consensus)).transpose()?;
    match (request.status, consensus) {
        (api::CompletedStatus::Completed, consensus) => Ok(Completion::Completed(consensus)),
        (api::CompletedStatus::Failed, None) => Ok(Completion::Failed),
        (api::CompletedStatus::Failed, Some(_)) => {
            Err(Error::invalid("consensus", "cannot be sent with the status failed"))
        }
    }
}

/// The parts of a review that a response includes.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::reviews) struct Included {
    pub(in crate::reviews) responses: bool,
    pub(in crate::reviews) findings: bool,
    pub(in crate::reviews) consensus: bool,
}

/// Parses `responses,findings,consensus`.
pub(in crate::reviews) fn included(
    params: &api::IncludeParams,
) -> std::result::Result<Option<Included>, ReviewsError> {
    let Some(text) = &params.include else { return Ok(None) };
    let mut included = Included::default();
    for part in text.split(',') {
        match part {
            "responses" => included.responses = true,
            "findings" => included.findings = true,
            "consensus" => included.consensus = true,
            _ => {
                let problem = format!("{part:?} is not responses, findings or consensus");
                return Err(ApiError::invalid("include", problem).into());
            }
        }
    }
    Ok(Some(included))
}

/// Parses model ids that are separated by commas.
pub(in crate::reviews) fn models(text: Option<&str>) -> Result<Option<Vec<ModelId>>> {
    let parse = |text: &str| text.split(',').map(ModelId::new).collect::<Result<Vec<_>>>();
    in_field("models", text.map(parse).transpose())
}

/// Parses `owner/repo`.
pub(in crate::reviews) fn repository(text: &str) -> Result<(Owner, Repo)> {
    let split = text.split_once('/');
    let (owner, repo) = split.ok_or_else(|| Error::invalid("repo", "is not owner/repo"))?;
    Ok((in_field("repo", Owner::new(owner))?, in_field("repo", Repo::new(repo))?))
}
