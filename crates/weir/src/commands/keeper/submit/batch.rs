//! Submissions from a file, a hundred at a time. The same file can be sent again: ids count once.

use serde_json::{Value, json};
use weir_keeper::bounds::BATCH_MAX;
use weir_server::keeper::submissions::{BatchAccepted, BatchOne, Failed};

use crate::commands::api_context::ApiContext;
use crate::commands::keeper::whose::AppArgs;
use crate::failure::Failure;
use crate::{output, parse, progress};

/// Failures that are told one by one.
const TOLD_MAX: usize = 20;

/// Submits all lines of `file`.
pub(super) async fn run(
    context: &ApiContext<'_>,
    whose: &AppArgs,
    file: &str,
) -> Result<(), Failure> {
    let lines = lines(file, &parse::read(file)?)?;
    let path = whose.path(context, &["costs", "batch"]);
    let bar = progress::items("submitting", Some(lines.len() as u64));
    let mut all = BatchAccepted { accepted: 0, failed: 0, results: Vec::new() };
    for some in lines.chunks(BATCH_MAX) {
        let requests: Vec<&Value> = some.iter().map(|(_, request)| request).collect();
        let sent = context.api.post(&path, &json!({"requests": requests})).await;
        let sent: BatchAccepted = sent.map_err(|failure: Failure| {
            let help = "send the file again: what was counted is not counted twice";
            let failure =
                failure.because(format!("{} of {} were sent", all.results.len(), lines.len()));
            if failure.next().is_none() { failure.help(help) } else { failure }
        })?;
        all.accepted += sent.accepted;
        all.failed += sent.failed;
        all.results.extend(sent.results);
        bar.inc(some.len() as u64);
    }
    bar.finish_and_clear();
    context.print(&all, show)?;
    told(file, &lines, &all)
}

/// The lines that are not empty, with their numbers.
fn lines(file: &str, text: &str) -> Result<Vec<(usize, Value)>, Failure> {
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

fn show(all: &BatchAccepted) -> std::io::Result<()> {
    let again = all.results.iter().filter(|one| match one {
        BatchOne::Accepted(accepted) => accepted.duplicate,
        BatchOne::Failed(_) => false,
    });
    let again = match again.count() {
        0 => String::new(),
        count => format!(", {count} of them before"),
    };
    let counted = output::counted(all.accepted, "submission");
    output::line(format!("{counted} counted{again}; {} not", output::thousands(all.failed)))
}

/// What was not counted, with the lines it stands in.
fn told(file: &str, lines: &[(usize, Value)], all: &BatchAccepted) -> Result<(), Failure> {
    let failed = lines.iter().zip(&all.results).filter_map(|((number, _), one)| match one {
        BatchOne::Accepted(_) => None,
        BatchOne::Failed(failed) => Some((*number, failed)),
    });
    let failed: Vec<(usize, &Failed)> = failed.collect();
    if failed.is_empty() {
        return Ok(());
    }
    let message = format!("{file}: {} of {} were not counted", failed.len(), lines.len());
    let failure = failed.iter().take(TOLD_MAX).fold(
        Failure::refused(message),
        |failure, (number, failed)| {
            failure.because(format!("line {number}: {} ({})", failed.message, failed.error))
        },
    );
    Err(match failed.len().checked_sub(TOLD_MAX) {
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
