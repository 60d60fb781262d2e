//! `weir practice usage`: daily limits of a user.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use weir_api::practice::{
    RecountRequest, RecountResponse, ResetDayResponse, TakeUsageRequest, TakeUsageResponse,
    UsageAction, UsageDateParams, UsageLogEntry, UserUsage,
};

use super::texts::Texts;
use super::{day, limit};
use crate::commands::api_context::{ApiContext, LimitArgs, header, one_of, rows, with_params};
use crate::failure::Failure;
use crate::time::GivenTime;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Take one action of a user's daily limit; exit code 3 if the limit is reached
    Take(TakeArgs),
    /// Show what a user did on a day, and what is left
    Show(ShowArgs),
    /// List the actions of a user on a day, newest first
    Log(LogArgs),
    /// Compare a user's counters of a day with the log
    Recount(RecountArgs),
    /// Set back the latest day of a user, which a clock that was ahead has closed
    ResetDay(ResetDayArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice usage take 42 hint
  weir practice usage take 42 execution --problem 1000 --metadata '{\"language\": \"python\"}'
  weir practice usage take 42 hint --idempotency-key request-17

An action that is allowed is counted and logged. A refusal counts nothing, and the exit code is 3.")]
pub(super) struct TakeArgs {
    /// Id of the user
    user: String,
    /// Action to take
    #[arg(value_parser = one_of::<UsageAction>(&["hint", "execution"]))]
    action: UsageAction,
    /// Id of the problem that the action is about
    #[arg(long, value_name = "ID")]
    problem: Option<String>,
    /// Further details for the log: a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Key under which the action is counted once, however often the command is repeated
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice usage show 42
  weir practice usage show 42 --date 2026-01-15")]
pub(super) struct ShowArgs {
    /// Id of the user
    user: String,
    #[command(flatten)]
    day: DayArgs,
}

/// The day that a verb is about.
#[derive(Debug, Args)]
struct DayArgs {
    /// Day, in the time zone of practice: 2026-01-31, 7d (ago), today or yesterday [default: the day on which the next request counts]
    #[arg(long, value_name = "DAY")]
    date: Option<GivenTime>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice usage log 42
  weir practice usage log 42 --date 2026-01-15 --limit 500 --json")]
pub(super) struct LogArgs {
    /// Id of the user
    user: String,
    #[command(flatten)]
    day: DayArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice usage recount 42
  weir practice usage recount 42 --date 2026-01-15 --repair

Exit code 4 says that a counter differs from the log and was not corrected.")]
pub(super) struct RecountArgs {
    /// Id of the user
    user: String,
    #[command(flatten)]
    day: DayArgs,
    /// Correct counters that differ
    #[arg(long)]
    repair: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice usage reset-day 42

A clock that was days ahead has counted the user on a day that has not come, and earlier days are closed since then. This
makes today the latest day again. Counters stay, so no limit is exceeded.")]
pub(super) struct ResetDayArgs {
    /// Id of the user
    user: String,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Take(args) => take(context, args).await,
        Verb::Show(args) => {
            let usage = read(context, &args.user, args.day).await?;
            context.print(&usage, show)
        }
        Verb::Log(args) => log(context, args).await,
        Verb::Recount(args) => recount(context, args).await,
        Verb::ResetDay(args) => reset_day(context, &args.user).await,
    }
}

async fn take(context: &ApiContext<'_>, args: TakeArgs) -> Result<(), Failure> {
    let metadata = Texts::default().json::<Value>("--metadata", args.metadata.as_deref())?;
    let request = TakeUsageRequest {
        action: args.action,
        problem_id: args.problem,
        metadata,
        idempotency_key: args.idempotency_key,
    };
    let path = context.path(&["users", &args.user, "usage"]);
    let taken: TakeUsageResponse = context.api.post(&path, &request).await?;
    context.print(&taken, |taken| output::line(line(taken)))
}

/// `hint 3 of 5 on 2026-01-15; 2 left until 2026-01-16T00:00:00Z`.
fn line(taken: &TakeUsageResponse) -> String {
    let repeated = if taken.is_repeated { " (counted before)" } else { "" };
    let (action, count) = (output::word(&taken.action), output::thousands(taken.count));
    let of = match taken.remaining {
        Some(_) => format!(" of {}", limit::shown(taken.limit)),
        None => String::new(),
    };
    let left = limit::left(taken.remaining);
    format!(
        "{action} {count}{of} on {}{repeated}; {left} left until {}",
        taken.date,
        time::until(&taken.resets_at)
    )
}

async fn read(context: &ApiContext<'_>, user: &str, day: DayArgs) -> Result<UserUsage, Failure> {
    let path = context.path(&["users", user, "usage"]);
    let date = day::of(context, day.date.as_ref()).await?;
    context.api.get(&with_params(&path, &UsageDateParams { date })?).await
}

fn show(usage: &UserUsage) -> std::io::Result<()> {
    let rows = usage.actions.iter().map(|one| {
        vec![
            output::word(&one.action),
            output::thousands(one.count),
            limit::shown(one.limit),
            limit::left(one.remaining),
        ]
    });
    output::table(header(["action", "count", "limit", "left"]), rows, &[1, 2, 3])?;
    output::line(format!("{}, until {}", usage.date, time::until(&usage.resets_at)))
}

async fn log(context: &ApiContext<'_>, args: LogArgs) -> Result<(), Failure> {
    let path = context.path(&["users", &args.user, "usage", "log"]);
    let date = day::of(context, args.day.date.as_ref()).await?;
    let path = with_params(&path, &UsageDateParams { date })?;
    context.list::<UsageLogEntry>(&path, &args.limit, log_table).await
}

fn log_table(entries: &[UsageLogEntry]) -> std::io::Result<()> {
    rows(
        entries,
        &[
            ("at", |entry| entry.at.clone()),
            ("action", |entry| output::word(&entry.action)),
            ("problem", |entry| entry.problem_id.clone().unwrap_or_default()),
            ("details", |entry| {
                let details = entry.metadata.as_ref().map(Value::to_string);
                output::printable(&details.unwrap_or_default())
            }),
        ],
    )
}

/// Fails when a counter differs and stays so, so that a script sees it.
async fn recount(context: &ApiContext<'_>, args: RecountArgs) -> Result<(), Failure> {
    let date = match day::of(context, args.day.date.as_ref()).await? {
        Some(date) => date,
        None => read(context, &args.user, args.day).await?.date,
    };
    let request = RecountRequest { date, repair: args.repair };
    let path = context.path(&["users", &args.user, "usage", "recount"]);
    let recounted: RecountResponse = context.api.post(&path, &request).await?;
    context.print(&recounted, differences)?;
    if recounted.differences.is_empty() || recounted.is_repaired {
        return Ok(());
    }
    Err(Failure::differs("counters differ from the log").help("correct them with --repair"))
}

fn differences(recounted: &RecountResponse) -> std::io::Result<()> {
    if recounted.differences.is_empty() {
        return output::line(format!("the counters of {} agree with the log", recounted.date));
    }
    let corrected = output::yes_or_no(recounted.is_repaired);
    let rows = recounted.differences.iter().map(|one| {
        vec![
            output::word(&one.action),
            output::thousands(one.counted),
            output::thousands(one.logged),
            corrected.clone(),
        ]
    });
    output::table(header(["action", "counted", "logged", "corrected"]), rows, &[1, 2])
}

async fn reset_day(context: &ApiContext<'_>, user: &str) -> Result<(), Failure> {
    let path = context.path(&["users", user, "usage", "reset-day"]);
    let reset: ResetDayResponse = context.api.post(&path, &json!({})).await?;
    context.print(&reset, |reset| {
        output::line(match (&reset.from, &reset.to) {
            (Some(from), Some(to)) => format!("the latest day was {from} and is {to} now"),
            _ => "the latest day is not after today; nothing was changed".to_owned(),
        })
    })
}
