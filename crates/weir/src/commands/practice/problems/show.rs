//! `weir practice problems show`: a problem with its test cases, or one of its texts.

use clap::{Args, ValueEnum};
use weir_api::practice::{PracticeProblem, ProblemIncludeParams, TestCase};

use super::super::problem_ref::ProblemArgs;
use super::super::test_cases;
use super::table;
use crate::commands::api_context::{ApiContext, with_params};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice problems show baekjoon 1000
  weir practice problems show baekjoon 1000 --test-cases --json
  weir practice problems show baekjoon 1000 --print solution > sum.py")]
pub(in super::super) struct ShowArgs {
    #[command(flatten)]
    at: ProblemArgs,
    /// Show the test cases too
    #[arg(long, conflicts_with = "print")]
    test_cases: bool,
    /// Print only this text, as it is
    #[arg(long, value_enum, value_name = "TEXT")]
    print: Option<ProblemText>,
}

/// A text of a problem.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProblemText {
    /// Code that solves the problem
    Solution,
    /// Constraints of the input
    Constraints,
}

pub(super) async fn run(context: &ApiContext<'_>, args: ShowArgs) -> Result<(), Failure> {
    let include = args.test_cases.then(|| "testcases".to_owned());
    let path = with_params(&args.at.path(context, &[]), &ProblemIncludeParams { include })?;
    let mut problem: PracticeProblem = context.api.get(&path).await?;
    if let Some(text) = args.print {
        return print(&problem, text);
    }
    // Too many for one response: the list has all of them.
    if problem.test_cases_cursor.take().is_some() {
        let path = args.at.path(context, &["testcases"]);
        problem.test_cases = Some(context.all::<TestCase>(&path).await?);
    }
    context.print(&problem, show)
}

fn print(problem: &PracticeProblem, text: ProblemText) -> Result<(), Failure> {
    let (name, text) = match text {
        ProblemText::Solution => ("solution", &problem.solution_code),
        ProblemText::Constraints => ("constraints", &problem.constraints),
    };
    match text {
        Some(text) => Ok(output::bytes(text.as_bytes())?),
        None => Err(Failure::refused(format!("problem {} has no {name}", problem.id))),
    }
}

fn show(problem: &PracticeProblem) -> std::io::Result<()> {
    table(std::slice::from_ref(problem))?;
    let lines = |text: &Option<String>| text.as_ref().map(|text| text.lines().count() as u64);
    let mut about: Vec<String> = Vec::new();
    about.extend(problem.problem_url.as_deref().map(output::printable));
    about.extend(
        problem.review_notes.as_ref().map(|text| format!("to review: {}", output::printable(text))),
    );
    about.extend(
        problem.deleted_reason.as_ref().map(|text| format!("deleted: {}", output::printable(text))),
    );
    about.extend(
        lines(&problem.solution_code)
            .map(|lines| format!("solution: {}", output::counted(lines, "line"))),
    );
    about.extend(
        lines(&problem.constraints)
            .map(|lines| format!("constraints: {}", output::counted(lines, "line"))),
    );
    for line in about {
        output::line(line)?;
    }
    match &problem.test_cases {
        Some(all) => test_cases::table(all),
        None => Ok(()),
    }
}
