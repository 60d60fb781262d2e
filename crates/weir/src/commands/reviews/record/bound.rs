//! Bounds of a review that is sent: how many findings, how many bytes.

use std::cmp::Reverse;

use serde::Serialize;
use weir_api::reviews::NewResponse;
use weir_reviews::bounds::FINDINGS_MAX;

use super::super::severity;
use crate::failure::Failure;
use crate::output;

/// Most bytes of a request to record.
pub(super) const REQUEST_MAX: usize = 10 * 1024 * 1024;
/// Most bytes of a file with the JSON of a review: the raw outputs of 20 models, and their findings.
pub(super) const REVIEW_FILE_MAX: u64 = 128 * 1024 * 1024;
/// What to do about too many findings.
pub(super) const TOO_MANY_HELP: &str = "--keep-worst keeps the worst findings and skips the others";

/// Makes the findings of all models at most [`FINDINGS_MAX`]: refuses more, or drops those that are least bad.
pub(in super::super) fn keep_worst(
    responses: &mut [NewResponse],
    keep_worst: bool,
) -> Result<(), Failure> {
    let count: usize = responses.iter().map(|response| response.findings.len()).sum();
    let Some(excess) = count.checked_sub(FINDINGS_MAX).filter(|excess| *excess > 0) else {
        return Ok(());
    };
    if !keep_worst {
        let (count, most) = (output::thousands(count as u64), output::thousands(MOST));
        let message = format!("the review has {count} findings; at most {most} are allowed");
        return Err(Failure::usage(message).help(TOO_MANY_HELP));
    }
    let least = least_kept(responses);
    let mut room = least.room;
    for finding in responses.iter_mut().flat_map(|response| &mut response.findings) {
        // Marked by an empty id, which no finding may have.
        let severity = severity::ranked(finding.severity);
        if severity > least.severity {
            continue;
        }
        let is_kept = severity == least.severity && room > 0;
        if is_kept {
            room -= 1;
        } else {
            finding.finding_id.clear();
        }
    }
    for response in responses {
        response.findings.retain(|finding| !finding.finding_id.is_empty());
    }
    let skipped = output::counted(excess as u64, "finding");
    output::note(format!(
        "skipped {skipped}: less severe than the {} that fit",
        output::thousands(MOST)
    ));
    Ok(())
}

const MOST: u64 = FINDINGS_MAX as u64;

/// The severity of which only the first findings are kept, and how many of them.
struct LeastKept {
    severity: weir_reviews::finding::Severity,
    room: usize,
}

fn least_kept(responses: &[NewResponse]) -> LeastKept {
    let findings = responses.iter().flat_map(|response| &response.findings);
    let mut severities: Vec<_> = findings.map(|one| severity::ranked(one.severity)).collect();
    severities.sort_by_key(|severity| Reverse(*severity));
    severities.truncate(FINDINGS_MAX);
    let severity = severities.last().copied().unwrap_or(weir_reviews::finding::Severity::Info);
    let room = severities.iter().filter(|one| **one == severity).count();
    LeastKept { severity, room }
}

/// Checks that a request is small enough.
pub(in super::super) fn check_request(what: &str, request: &impl Serialize) -> Result<(), Failure> {
    let bytes = size(request)?;
    if bytes <= REQUEST_MAX {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{what} has {bytes} bytes as JSON; at most {REQUEST_MAX} are allowed"
    ))
    .help("a response is sent in one request: leave out its raw output, or shorten its findings"))
}

/// The bytes of a request as JSON.
pub(super) fn size(request: &impl Serialize) -> Result<usize, Failure> {
    serde_json::to_vec(request)
        .map(|json| json.len())
        .map_err(|error| Failure::fault("writing a request").because(error))
}

#[cfg(test)]
mod tests {
    use weir_api::reviews::{NewFinding, ResponseStatus, Severity};

    use super::*;

    fn response(model: &str, severities: &[(Severity, usize)]) -> NewResponse {
        let severities = severities.iter().flat_map(|(one, count)| vec![*one; *count]);
        let finding = |(index, severity)| NewFinding {
            finding_id: format!("{model}-{index}"),
            severity,
            category: None,
            rule: None,
            file_path: "a".to_owned(),
            line_start: 1,
            line_end: 1,
            title: "t".to_owned(),
            description: String::new(),
            suggestion: None,
        };
        NewResponse {
            model_id: model.to_owned(),
            status: ResponseStatus::Success,
            input_tokens: 0,
            output_tokens: 0,
            latency_ms: 0,
            cost_usd: "0".to_owned(),
            raw: None,
            findings: severities.enumerate().map(finding).collect(),
        }
    }

    #[test]
    fn the_worst_findings_of_all_models_are_kept() {
        let mut all = [
            response("a", &[(Severity::Low, 1_000), (Severity::High, 300)]),
            response("b", &[(Severity::Critical, 500), (Severity::Low, 700), (Severity::Info, 9)]),
        ];
        let refused = keep_worst(&mut all, false).unwrap_err().text();
        assert!(refused.contains("2,509") && refused.contains("2,000"), "{refused}");
        keep_worst(&mut all, true).unwrap();
        let counts = all.each_ref().map(|response| response.findings.len());
        assert_eq!(counts, [1_300, 700], "the first 1,200 of low severity fit");
        assert!(all[1].findings.iter().all(|one| one.severity != Severity::Info));
    }

    #[test]
    fn two_thousand_findings_fit() {
        let mut all = [response("a", &[(Severity::Info, FINDINGS_MAX)])];
        keep_worst(&mut all, false).unwrap();
        assert_eq!(all[0].findings.len(), FINDINGS_MAX);
    }
}
