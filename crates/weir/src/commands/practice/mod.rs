//! `weir practice`: a coding-practice platform from the command line. Every verb but `migrate` calls the API.

mod audit;
mod counters;
mod day;
mod history;
mod jobs;
mod limit;
mod migrate;
mod plans;
mod problem_ref;
mod problems;
mod stats;
mod tasks;
mod test_cases;
mod texts;
mod usage;
mod users;

use clap::{Args, Subcommand};

use crate::api::{Api, ApiFlags};
use crate::commands::api_context::ApiContext;
use crate::config::Source;
use crate::failure::Failure;

const ROOT: &str = "/v1/practice";

const AFTER_HELP: &str = "\
Examples:
  weir practice plans create Team --hints 20 --executions unlimited
  weir practice users create ann@example.com --name Ann --plan 1
  weir practice usage take 42 hint
  weir practice problems create baekjoon 1000 --title A+B --solution-file sum.py --language python
  weir practice test-cases upload baekjoon 1000 cases.zip
  weir practice history record baekjoon 1000 --user 42 --code-file try.py --passed 3 --failed 1
  weir practice jobs claim script-generation --worker host-1
  weir practice jobs watch script-generation 77
  weir practice stats --from 2026-01-01 --to 2026-01-31

A plan says how often a user may do an action on a day: get a hint, or execute code. A problem \
has test cases. A run of a user is recorded in the history. A job waits for a worker, which \
claims it, reports progress and completes it.

A text can be given as it is, as @FILE, or as - for standard input.";

/// Flags of `weir practice`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct PracticeArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[command(flatten)]
    Api(ApiVerb),
    /// Move the data of an application from PostgreSQL, and back
    Migrate(Box<migrate::MigrateArgs>),
}

/// A verb that calls the API.
#[derive(Debug, Subcommand)]
enum ApiVerb {
    /// Create, list, show, change, deactivate, move and erase users
    #[command(subcommand)]
    Users(users::Verb),
    /// Create, list, show, replace, delete and recount plans
    #[command(subcommand)]
    Plans(plans::Verb),
    /// Take actions of a user's daily limit, and show what was used
    #[command(subcommand)]
    Usage(usage::Verb),
    /// Create, list, show, change, publish, delete, restore, review and verify problems
    #[command(subcommand)]
    Problems(problems::Verb),
    /// Add, upload, list, replace and delete test cases of a problem
    #[command(subcommand)]
    TestCases(test_cases::Verb),
    /// Record runs of users, show and list them, make them public or private, and add hints
    #[command(subcommand)]
    History(history::Verb),
    /// List public runs, newest first
    Feed(history::FeedArgs),
    /// Submit jobs, work on them, and watch them
    #[command(subcommand)]
    Jobs(Box<jobs::Verb>),
    /// Store and show results of tasks
    #[command(subcommand)]
    Tasks(tasks::Verb),
    /// Show usage by day and action, and the users who used most
    Stats(stats::StatsArgs),
    /// List changes by administrators, newest first
    Audit(audit::AuditArgs),
}

/// Runs the verb.
pub(crate) async fn run(args: PracticeArgs, source: &Source) -> Result<(), Failure> {
    call(args, source).await.map_err(with_list_command)
}

/// Says how to list the resources when one was not found.
fn with_list_command(failure: Failure) -> Failure {
    let list = match failure.missing_kind() {
        Some("user") => "users list",
        Some("plan") => "plans list",
        Some("problem") => "problems list",
        Some("test case") => "test-cases list PLATFORM PROBLEM",
        Some("run") => "history list USER",
        Some("job") => "jobs list TYPE",
        _ => return failure,
    };
    failure.help(format!("`weir practice {list}` shows those that exist"))
}

async fn call(args: PracticeArgs, source: &Source) -> Result<(), Failure> {
    let loaded = args.api.load(source)?;
    let verb = match args.verb {
        Verb::Api(verb) => verb,
        Verb::Migrate(verb) => return migrate::run(&loaded.local()?, *verb, args.api.json).await,
    };
    Api::with(&loaded, async |api| {
        let context = ApiContext::new(api, ROOT, args.api.json);
        match verb {
            ApiVerb::Users(verb) => users::run(&context, verb).await,
            ApiVerb::Plans(verb) => plans::run(&context, verb).await,
            ApiVerb::Usage(verb) => usage::run(&context, verb).await,
            ApiVerb::Problems(verb) => problems::run(&context, verb).await,
            ApiVerb::TestCases(verb) => test_cases::run(&context, verb).await,
            ApiVerb::History(verb) => history::run(&context, verb).await,
            ApiVerb::Feed(args) => history::feed(&context, args).await,
            ApiVerb::Jobs(verb) => jobs::run(&context, *verb).await,
            ApiVerb::Tasks(verb) => tasks::run(&context, verb).await,
            ApiVerb::Stats(args) => stats::run(&context, args).await,
            ApiVerb::Audit(args) => audit::run(&context, args).await,
        }
    })
    .await
}
