//! `weir practice test-cases`: inputs of a problem with their expected outputs.

use std::fs::File;
use std::io::Read;

use axum::body::Bytes;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use weir_api::practice::{JSON_LINES, NewTestCase, TestCase, UploadParams, UploadResponse, ZIP};
use weir_practice::bounds::BULK_BYTES_MAX;

use super::problem_ref::ProblemArgs;
use super::texts::Texts;
use crate::commands::api_context::{ApiContext, LimitArgs, rows, with_params};
use crate::failure::Failure;
use crate::{output, progress};

/// Characters of an input or an output that a table shows.
const SHOWN_MAX: usize = 40;
/// Bytes of a piece of an upload.
const PIECE_BYTES: usize = 64 * 1024;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Add a test case
    Add(AddArgs),
    /// Add many test cases from a file: JSON, JSON lines or a zip archive
    Upload(UploadArgs),
    /// List the test cases of a problem, by id
    List(ListArgs),
    /// Replace a test case
    Replace(ReplaceArgs),
    /// Delete a test case
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice test-cases add baekjoon 1000 --input '1 2' --output 3 --sample
  weir practice test-cases add baekjoon 1000 --input @big.in --output @big.out")]
pub(super) struct AddArgs {
    #[command(flatten)]
    at: ProblemArgs,
    #[command(flatten)]
    content: ContentArgs,
}

/// A test case.
#[derive(Debug, Args)]
struct ContentArgs {
    /// Input of the program; @FILE or - for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    input: String,
    /// Expected output; @FILE or - for standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    output: String,
    /// Show the test case to everyone who may view the problem
    #[arg(long)]
    sample: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice test-cases upload baekjoon 1000 cases.zip
  weir practice test-cases upload baekjoon 1000 cases.jsonl
  generate | weir practice test-cases upload baekjoon 1000 - --format jsonl

JSON is an array like [{\"input\": \"1 2\", \"output\": \"3\", \"sample\": true}], JSON lines have one such object each, and a zip
archive has an entry NAME.in and an entry NAME.out for each test case; entries below a folder samples are samples. The file
is checked as a whole before anything is stored. The same file again adds nothing.")]
pub(super) struct UploadArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// File to upload: .json, .jsonl or .zip; - for standard input
    file: String,
    /// Format of the file [default: by its name]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    /// Key under which the upload is stored once [default: its content]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

/// Format of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A JSON array
    Json,
    /// A JSON object on each line
    Jsonl,
    /// A zip archive
    Zip,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice test-cases list baekjoon 1000
  weir practice test-cases list baekjoon 1000 --limit 10000 --json > cases.json")]
pub(super) struct ListArgs {
    #[command(flatten)]
    at: ProblemArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice test-cases replace baekjoon 1000 3 --input '1 2' --output 3")]
pub(super) struct ReplaceArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// Id of the test case
    id: String,
    #[command(flatten)]
    content: ContentArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice test-cases delete baekjoon 1000 3 --yes")]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// Id of the test case
    id: String,
    /// Delete without asking for confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let changed: TestCase = match verb {
        Verb::Upload(args) => return upload(context, args).await,
        Verb::List(args) => return list(context, args).await,
        Verb::Delete(args) => return delete(context, args).await,
        Verb::Add(args) => {
            let new = content(args.content)?;
            context.api.post(&args.at.path(context, &["testcases"]), &new).await?
        }
        Verb::Replace(args) => {
            let new = content(args.content)?;
            context.api.put(&args.at.path(context, &["testcases", &args.id]), &new).await?
        }
    };
    context.print(&changed, |changed| table(std::slice::from_ref(changed)))
}

fn content(args: ContentArgs) -> Result<NewTestCase, Failure> {
    let mut texts = Texts::default();
    Ok(NewTestCase {
        input: texts.text("--input", Some(&args.input))?.unwrap_or_default(),
        output: texts.text("--output", Some(&args.output))?.unwrap_or_default(),
        sample: args.sample,
    })
}

async fn upload(context: &ApiContext<'_>, args: UploadArgs) -> Result<(), Failure> {
    let format = match args.format {
        Some(format) => format,
        None => format_of(&args.file)?,
    };
    let content = read(&args.file)?;
    let params = UploadParams { idempotency_key: args.idempotency_key };
    let path = with_params(&args.at.path(context, &["testcases", "bulk"]), &params)?;
    let bar = progress::bytes("uploading");
    bar.set_length(content.len() as u64);
    let sent = bar.clone();
    let pieces = pieces(content).inspect(move |piece| sent.inc(piece.len() as u64));
    let uploaded = context.api.upload::<UploadResponse>(&path, content_type(format), pieces).await;
    bar.finish_and_clear();
    context.print(&uploaded?, |uploaded| {
        let added = output::counted(uploaded.added, "test case");
        output::line(match uploaded.unchanged {
            0 => format!("{added} added to {}", args.at.name()),
            before => {
                let before = output::thousands(before);
                format!("{added} added to {}; {before} were there from this upload", args.at.name())
            }
        })
    })
}

/// The format that the name of a file says.
fn format_of(file: &str) -> Result<Format, Failure> {
    let end = file.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    match end.as_deref() {
        Some("json") => Ok(Format::Json),
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("zip") => Ok(Format::Zip),
        _ if file == "-" => {
            Err(Failure::usage("the format of standard input is unknown").help("add --format"))
        }
        _ => Err(Failure::usage(format!("{file}: is neither .json, .jsonl nor .zip"))
            .help("add --format")),
    }
}

fn content_type(format: Format) -> &'static str {
    match format {
        Format::Json => "application/json",
        Format::Jsonl => JSON_LINES,
        Format::Zip => ZIP,
    }
}

/// The content of a file, or of standard input for `-`. One that is too large is not sent.
fn read(file: &str) -> Result<Bytes, Failure> {
    let name = if file == "-" { "standard input" } else { file };
    let cannot = |error| Failure::usage(format!("cannot read {name}")).because(error);
    let input: Box<dyn Read> = match file {
        "-" => Box::new(std::io::stdin()),
        file => Box::new(File::open(file).map_err(cannot)?),
    };
    let mut content = Vec::new();
    input.take(BULK_BYTES_MAX + 1).read_to_end(&mut content).map_err(cannot)?;
    if content.len() as u64 > BULK_BYTES_MAX {
        return Err(Failure::usage(format!("{name}: longer than {BULK_BYTES_MAX} bytes"))
            .help("split it, or upload a zip archive"));
    }
    Ok(content.into())
}

fn pieces(content: Bytes) -> impl Iterator<Item = Bytes> + Send + 'static {
    let ends = (0..content.len()).step_by(PIECE_BYTES);
    ends.map(move |from| content.slice(from..content.len().min(from + PIECE_BYTES)))
}

async fn list(context: &ApiContext<'_>, args: ListArgs) -> Result<(), Failure> {
    let path = args.at.path(context, &["testcases"]);
    context.list::<TestCase>(&path, &args.limit, table).await
}

async fn delete(context: &ApiContext<'_>, args: DeleteArgs) -> Result<(), Failure> {
    let (id, name) = (&args.id, args.at.name());
    ApiContext::confirm(args.yes, &format!("delete test case {id} of problem {name}?"))?;
    context.api.delete::<()>(&args.at.path(context, &["testcases", id])).await?;
    let deleted = json!({"id": id, "deleted": true});
    context.print(&deleted, |_| {
        output::line(format!("test case {} was deleted", output::printable(id)))
    })
}

/// A row for each test case, with the beginning of its texts.
pub(super) fn table(all: &[TestCase]) -> std::io::Result<()> {
    rows(
        all,
        &[
            ("id", |one| one.id.clone()),
            ("input", |one| beginning(&one.input)),
            ("output", |one| beginning(&one.output)),
            ("sample", |one| output::yes_or_no(one.sample)),
        ],
    )
}

fn beginning(text: &str) -> String {
    output::printable(&output::cut(text.trim_end(), SHOWN_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_formats() {
        for (file, format) in
            [("a.json", Format::Json), ("b/a.JSONL", Format::Jsonl), ("x.y.zip", Format::Zip)]
        {
            assert_eq!(format_of(file).unwrap(), format);
        }
        for file in ["-", "cases", "cases.txt"] {
            assert_eq!(format_of(file).unwrap_err().next(), Some("add --format"));
        }
    }

    #[test]
    fn pieces_are_all_of_the_content() {
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1] {
            let content = Bytes::from(vec![7; length]);
            let pieces: Vec<Bytes> = pieces(content.clone()).collect();
            assert_eq!(pieces.concat(), content);
            assert_eq!(pieces.len(), length.div_ceil(PIECE_BYTES));
        }
    }
}
