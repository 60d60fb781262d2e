//! Submissions from a file, 100 in a request. The same file can be sent again: an id is recorded once.

use serde_json::value::RawValue;
use weir_api::keeper::{
    SubmissionBatch, SubmissionBatchResponse, SubmissionFailure, SubmissionResult,
};
use weir_keeper::bounds::BATCH_MAX;

use crate::commands::api_context::ApiContext;
use crate::commands::keeper::target::AppArgs;
use crate::failure::Failure;
use crate::{output, parse, progress};

/// Failures that are printed one by one.
const SHOWN_MAX: usize = 20;

/// Submits all lines of `file`.
pub(super) async fn run(
    context: &ApiContext<'_>,
    target: &AppArgs,
    file: &str,
) -> Result<(), Failure> {
    let lines = lines(file, &parse::read(file)?)?;
    let path = target.path(context, &["costs", "batch"]);
    let bar = progress::items("submitting", Some(lines.len() as u64));
    let (results, timestamp) = (Vec::new(), String::new());
    let mut all = SubmissionBatchResponse { accepted: 0, failed: 0, results, timestamp };
    for some in lines.chunks(BATCH_MAX) {
        let requests = some.iter().map(|(_, request)| request.clone()).collect();
        let sent = context.api.post(&path, &SubmissionBatch { requests }).await;
        let sent: SubmissionBatchResponse<'static> = sent.map_err(|failure: Failure| {
            let help = "send the file again: recorded submissions are not recorded twice";
            let failure =
                failure.because(format!("{} of {} were sent", all.results.len(), lines.len()));
            if failure.next().is_none() { failure.help(help) } else { failure }
        })?;
        all.accepted += sent.accepted;
        all.failed += sent.failed;
        all.results.extend(sent.results);
        all.timestamp = sent.timestamp;
        bar.inc(some.len() as u64);
    }
    bar.finish_and_clear();
    context.print(&all, show)?;
    check(file, &lines, &all)
}

/// A submission with the number of its line.
type Line = (usize, Box<RawValue>);

/// The lines that are not empty.
fn lines(file: &str, text: &str) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let request = serde_json::from_str(line).map_err(|error| {
            Failure::usage(format!("{file}, line {}: is not JSON", number + 1)).because(error)
        })?;
        lines.push((number + 1, request));
    }
    if lines.is_empty() {
        return Err(Failure::usage(format!("{file}: has no submissions")));
    }
    Ok(lines)
}

fn show(all: &SubmissionBatchResponse<'_>) -> std::io::Result<()> {
    let duplicates = all.results.iter().filter(|one| match one {
        SubmissionResult::Accepted(accepted) => accepted.duplicate,
        SubmissionResult::Failed(_) => false,
    });
    let again = match duplicates.count() {
        0 => String::new(),
        count => format!(" ({count} of them before)"),
    };
    let recorded = output::counted(all.accepted, "submission");
    output::line(format!("{recorded} recorded{again}; {} failed", output::thousands(all.failed)))
}

/// Fails with the lines that were not recorded, if there are any.
fn check(file: &str, lines: &[Line], all: &SubmissionBatchResponse<'_>) -> Result<(), Failure> {
    let failed = lines.iter().zip(&all.results).filter_map(|((number, _), one)| match one {
        SubmissionResult::Accepted(_) => None,
        SubmissionResult::Failed(failed) => Some((*number, failed)),
    });
    let failed: Vec<(usize, &SubmissionFailure<'_>)> = failed.collect();
    if failed.is_empty() {
        return Ok(());
    }
    let message = format!("{file}: {} of {} submissions failed", failed.len(), lines.len());
    let failure = failed.iter().take(SHOWN_MAX).fold(
        Failure::refused(message),
        |failure, (number, failed)| {
            failure.because(format!("line {number}: {} ({})", failed.message, failed.error))
        },
    );
    Err(match failed.len().checked_sub(SHOWN_MAX) {
        None | Some(0) => failure,
        Some(more) => failure.because(format!("and {more} more")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers() {
        let read = lines("b.jsonl", "{\"a\":1}\n\n  \n{\"a\":2}\n").unwrap();
        assert_eq!(read.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 4]);
        let wrong = lines("b.jsonl", "{}\n{\n").unwrap_err().text();
        assert!(wrong.starts_with("b.jsonl, line 2: is not JSON"), "{wrong}");
        assert!(lines("b.jsonl", "\n").is_err());
    }
}
