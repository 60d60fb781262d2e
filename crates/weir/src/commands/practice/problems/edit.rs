//! `weir practice problems create|update`: texts come from flags, files or standard input.

use clap::Args;
use weir_api::practice::{NewProblem, PracticeProblem, ProblemPatch};

use super::super::problem_ref::ProblemArgs;
use super::super::texts::Texts;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::parse;

const CREATE_HELP: &str = "\
Examples:
  weir practice problems create baekjoon 1000 --title A+B
  weir practice problems create baekjoon 1000 --title A+B --tag math --solution-file sum.py --language python --publish
  weir practice problems create baekjoon 1000 --title A+B --constraints @constraints.txt --test-cases cases.json

The file of --test-cases is a JSON array like [{\"input\": \"1 2\", \"output\": \"3\", \
\"sample\": true}]; they are created with the problem or not at all. `weir practice test-cases \
upload` adds more of them, also from a zip archive.";

const UPDATE_HELP: &str = "\
Examples:
  weir practice problems update baekjoon 1000 --title 'A + B' --tag math --tag easy
  weir practice problems update baekjoon 1000 --solution-file - < sum.py
  weir practice problems update baekjoon 1000 --no-url --version 3

Fields that are not given stay. With --version, a change since that version is a conflict.";

#[derive(Debug, Args)]
#[command(after_help = CREATE_HELP)]
pub(in super::super) struct CreateArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// Title of the problem
    #[arg(long, value_name = "TEXT")]
    title: String,
    #[command(flatten)]
    fields: FieldArgs,
    /// JSON file with test cases to create with the problem; - for standard input
    #[arg(long, value_name = "FILE")]
    test_cases: Option<String>,
    /// Publish the problem at once
    #[arg(long)]
    publish: bool,
}

#[derive(Debug, Args)]
#[command(after_help = UPDATE_HELP)]
pub(in super::super) struct UpdateArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// New title of the problem
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    fields: FieldArgs,
    /// Remove the address
    #[arg(long, conflicts_with = "url")]
    no_url: bool,
    /// Remove all tags
    #[arg(long, conflicts_with = "tag")]
    no_tags: bool,
    /// Remove the solution
    #[arg(long, conflicts_with = "solution_file")]
    no_solution: bool,
    /// Remove the language
    #[arg(long, conflicts_with = "language")]
    no_language: bool,
    /// Remove the constraints
    #[arg(long, conflicts_with = "constraints")]
    no_constraints: bool,
    /// Version of the problem that was read; a change since then is a conflict
    #[arg(long, value_name = "N")]
    version: Option<u64>,
}

/// Fields of a problem beside its title.
#[derive(Debug, Args)]
struct FieldArgs {
    /// Address of the problem on its platform
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Tag of the problem, for example math; repeatable
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// File with code that solves the problem; - for standard input
    #[arg(long, value_name = "FILE")]
    solution_file: Option<String>,
    /// Programming language of the solution, for example python
    #[arg(long, value_name = "NAME")]
    language: Option<String>,
    /// Constraints of the input; @FILE or - for standard input
    #[arg(long, value_name = "TEXT")]
    constraints: Option<String>,
    /// Further fields: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

pub(super) async fn create(
    context: &ApiContext<'_>,
    args: CreateArgs,
) -> Result<PracticeProblem, Failure> {
    let (mut texts, fields) = (Texts::default(), args.fields);
    let test_cases = match &args.test_cases {
        Some(file) => {
            let text = texts.file("--test-cases", Some(file))?.unwrap_or_default();
            parse::json_text(file, &text)?
        }
        None => Vec::new(),
    };
    let new = NewProblem {
        platform: args.at.platform,
        problem_id: args.at.problem,
        title: args.title,
        problem_url: fields.url,
        tags: fields.tag,
        solution_code: texts.file("--solution-file", fields.solution_file.as_deref())?,
        language: fields.language,
        constraints: texts.text("--constraints", fields.constraints.as_deref())?,
        metadata: texts.json("--metadata", fields.metadata.as_deref())?.unwrap_or_default(),
        is_completed: args.publish,
        test_cases,
    };
    context.api.post(&context.path(&["problems"]), &new).await
}

pub(super) async fn update(
    context: &ApiContext<'_>,
    args: UpdateArgs,
) -> Result<PracticeProblem, Failure> {
    let path = args.at.path(context, &[]);
    context.api.patch(&path, &patch(args)?).await
}

fn patch(args: UpdateArgs) -> Result<ProblemPatch, Failure> {
    let (mut texts, fields) = (Texts::default(), args.fields);
    let removable = |value: Option<String>, remove: bool| match value {
        Some(value) => Some(Some(value)),
        None => remove.then_some(None),
    };
    let solution = texts.file("--solution-file", fields.solution_file.as_deref())?;
    let constraints = texts.text("--constraints", fields.constraints.as_deref())?;
    let patch = ProblemPatch {
        title: args.title,
        problem_url: removable(fields.url, args.no_url),
        tags: (args.no_tags || !fields.tag.is_empty()).then_some(fields.tag),
        solution_code: removable(solution, args.no_solution),
        language: removable(fields.language, args.no_language),
        constraints: removable(constraints, args.no_constraints),
        metadata: texts.json("--metadata", fields.metadata.as_deref())?,
        version: None,
    };
    if patch == ProblemPatch::default() {
        return Err(Failure::usage("nothing to change").help("name a field, for example --title"));
    }
    Ok(ProblemPatch { version: args.version, ..patch })
}
