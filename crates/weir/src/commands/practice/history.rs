//! `weir practice history` and `feed`: runs of users.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;
use weir_api::practice::{NewHints, NewRun, PracticeRun, RunPatch};

use super::problem_ref::ProblemArgs;
use super::texts::Texts;
use crate::commands::api_context::{ApiContext, LimitArgs, rows};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Record a run, and print its id
    Record(Box<RecordArgs>),
    /// Show a run, or print its code or its results
    Show(ShowArgs),
    /// List the runs of a user, newest first
    List(ListArgs),
    /// Make a run public, which puts it into the feed, or private
    Visibility(VisibilityArgs),
    /// Add hints to a run
    Hints(HintsArgs),
}

const RECORD_HELP: &str = "\
Examples:
  ID=$(weir practice history record baekjoon 1000 --user 42 --code-file try.py --language python --passed 3 --failed 1)
  weir practice history record baekjoon 1000 --code-file - --public --results @results.json < try.py
  weir practice history record baekjoon 1000 --user 42 --code-file try.py --idempotency-key submission-17

The same run with the same --id or --idempotency-key again changes nothing.";

#[derive(Debug, Args)]
#[command(after_help = RECORD_HELP)]
pub(super) struct RecordArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// File with the code that was run; - for standard input
    #[arg(long, value_name = "FILE")]
    code_file: String,
    /// Id of the user [default: nobody]
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Name of the user for others
    #[arg(long, value_name = "NAME")]
    user_name: Option<String>,
    /// Title of the problem
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Programming language of the code, for example python
    #[arg(long, value_name = "NAME")]
    language: Option<String>,
    /// Test cases that passed
    #[arg(long, value_name = "N", default_value_t = 0)]
    passed: u32,
    /// Test cases that failed
    #[arg(long, value_name = "N", default_value_t = 0)]
    failed: u32,
    /// Test cases in all [default: those that passed and those that failed]
    #[arg(long, value_name = "N")]
    total: Option<u32>,
    /// Put the run into the public feed
    #[arg(long)]
    public: bool,
    /// Results of the test cases: a JSON array, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    results: Option<String>,
    /// Summary of the results: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    summary: Option<String>,
    /// Hint that was given; repeatable
    #[arg(long, value_name = "TEXT")]
    hint: Vec<String>,
    /// Further fields: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Id of the problem in your database
    #[arg(long, value_name = "ID")]
    problem_key: Option<String>,
    /// Id of the run [default: a new one]
    #[arg(long, value_name = "ID", conflicts_with = "idempotency_key")]
    id: Option<String>,
    /// Key under which the run is recorded once, however often the command is repeated
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice history show 12345
  weir practice history show 12345 --print code > try.py")]
pub(super) struct ShowArgs {
    /// Id of the run
    run: String,
    /// Print only this part, as it is
    #[arg(long, value_enum, value_name = "PART")]
    print: Option<RunPart>,
}

/// A large part of a run.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RunPart {
    /// Code that was run
    Code,
    /// Results of the test cases, as JSON
    Results,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice history list 42
  weir practice history list 42 --limit 500 --json")]
pub(super) struct ListArgs {
    /// Id of the user
    user: String,
    #[command(flatten)]
    limit: LimitArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice history visibility 12345 public
  weir practice history visibility 12345 private")]
pub(super) struct VisibilityArgs {
    /// Id of the run
    run: String,
    /// Who sees the run
    #[arg(value_enum)]
    visibility: Visibility,
}

/// Who sees a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Visibility {
    /// Everyone, in the feed
    Public,
    /// Its user
    Private,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice history hints 12345 'think of overflow' @second.txt")]
pub(super) struct HintsArgs {
    /// Id of the run
    run: String,
    /// Hint to add; @FILE or - for standard input
    #[arg(value_name = "TEXT", required = true)]
    hints: Vec<String>,
}

/// Flags of `weir practice feed`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice feed
  weir practice feed --limit 10 --json")]
pub(super) struct FeedArgs {
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |run: &str, parts: &[&str]| context.path(&[&["history", run], parts].concat());
    let run: PracticeRun = match verb {
        Verb::Record(args) => return record(context, *args).await,
        Verb::List(args) => {
            return list(context, &context.path(&["users", &args.user, "history"]), &args.limit)
                .await;
        }
        Verb::Show(args) => {
            let run: PracticeRun = context.api.get(&path(&args.run, &[])).await?;
            return match args.print {
                Some(RunPart::Results) if context.json => {
                    Ok(output::list(run.test_results.unwrap_or_default())?)
                }
                Some(part) => print(&run, part),
                None => context.print(&run, show),
            };
        }
        Verb::Visibility(args) => {
            let patch = RunPatch { is_code_public: args.visibility == Visibility::Public };
            context.api.patch(&path(&args.run, &[]), &patch).await?
        }
        Verb::Hints(args) => {
            let mut texts = Texts::default();
            let hints = args.hints.iter().map(|hint| texts.text("a hint", Some(hint)));
            let hints: Vec<Option<String>> = hints.collect::<Result<_, _>>()?;
            let request = NewHints { hints: hints.into_iter().flatten().collect() };
            context.api.post(&path(&args.run, &["hints"]), &request).await?
        }
    };
    context.print(&run, show)
}

/// Prints public runs.
pub(super) async fn feed(context: &ApiContext<'_>, args: FeedArgs) -> Result<(), Failure> {
    list(context, &context.path(&["feed"]), &args.limit).await
}

/// Prints the id alone, so that a script can store it.
async fn record(context: &ApiContext<'_>, args: RecordArgs) -> Result<(), Failure> {
    let mut texts = Texts::default();
    let new = NewRun {
        history_id: args.id,
        idempotency_key: args.idempotency_key,
        user_id: args.user,
        user_identifier: args.user_name,
        problem_id: args.problem_key,
        platform: args.at.platform,
        problem_number: args.at.problem,
        problem_title: args.title,
        language: args.language,
        code: texts.file("--code-file", Some(&args.code_file))?.unwrap_or_default(),
        result_summary: texts.json("--summary", args.summary.as_deref())?.unwrap_or_default(),
        passed_count: args.passed,
        failed_count: args.failed,
        total_count: args.total.unwrap_or_else(|| args.passed.saturating_add(args.failed)),
        is_code_public: args.public,
        test_results: texts.json("--results", args.results.as_deref())?.unwrap_or_default(),
        hints: args.hint,
        metadata: texts.json("--metadata", args.metadata.as_deref())?.unwrap_or_default(),
    };
    let run: PracticeRun = context.api.post(&context.path(&["history"]), &new).await?;
    context.print(&run, |run| output::line(&run.id))
}

async fn list(context: &ApiContext<'_>, path: &str, limit: &LimitArgs) -> Result<(), Failure> {
    context.list::<PracticeRun>(path, limit, table).await
}

fn print(run: &PracticeRun, part: RunPart) -> Result<(), Failure> {
    match part {
        RunPart::Code => Ok(output::bytes(run.code.as_deref().unwrap_or_default().as_bytes())?),
        RunPart::Results => Ok(output::json(&run.test_results.as_deref().unwrap_or_default())?),
    }
}

fn show(run: &PracticeRun) -> std::io::Result<()> {
    table(std::slice::from_ref(run))?;
    if let Value::Object(summary) = &run.result_summary
        && !summary.is_empty()
    {
        output::line(format!("summary: {}", output::printable(&run.result_summary.to_string())))?;
    }
    for hint in &run.hints {
        output::line(format!("hint: {}", output::printable(hint)))?;
    }
    match &run.code {
        Some(code) => {
            output::line(format!("code: {}", output::counted(code.lines().count() as u64, "line")))
        }
        None => Ok(()),
    }
}

fn table(runs: &[PracticeRun]) -> std::io::Result<()> {
    rows(
        runs,
        &[
            ("at", |run| run.created_at.clone()),
            ("run", |run| run.id.clone()),
            ("user", |run| output::printable(user(run))),
            ("problem", problem),
            ("language", |run| output::printable(run.language.as_deref().unwrap_or_default())),
            ("passed", |run| format!("{} of {}", run.passed_count, run.total_count)),
            ("public", |run| output::yes_or_no(run.is_code_public)),
            ("hints", |run| run.hints.len().to_string()),
        ],
    )
}

/// The id of the user, or the name for others.
fn user(run: &PracticeRun) -> &str {
    run.user_id.as_deref().or(run.user_identifier.as_deref()).unwrap_or_default()
}

fn problem(run: &PracticeRun) -> String {
    let parts = [&run.platform, &run.problem_number];
    let parts: Vec<String> =
        parts.into_iter().flatten().map(|part| output::printable(part)).collect();
    parts.join("/")
}
