//! `weir practice stats`: usage by day and action, from rollups.

use clap::{Args, Subcommand};
use weir_api::practice::{
    DayStats, DayTopUser, DayTopUsers, DayTopUsersParams, StatsParams, UsageAction, UsageStats,
    VerifyStatsRequest, VerifyStatsResponse,
};

use super::day;
use crate::commands::api_context::{ApiContext, header, rows, with_params};
use crate::failure::Failure;
use crate::time::GivenTime;
use crate::{bars, output};

/// Users in the table of those who used most.
const TOP_MAX: usize = 10;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  weir practice stats
  weir practice stats --from 2026-01-01 --to 2026-01-31
  weir practice stats top --date yesterday
  weir practice stats verify --date 2026-01-15

The figures come from sums that the job practice-rollup keeps up to date; `weir jobs run practice-rollup` runs it now."
)]
pub(super) struct StatsArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// First day, in the time zone of practice: 2026-01-31, 7d (ago), today or yesterday [default: 29 days before --to]
    #[arg(long, value_name = "DAY")]
    from: Option<GivenTime>,
    /// Last day, written like --from [default: today]
    #[arg(long, value_name = "DAY")]
    to: Option<GivenTime>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the most active users of a day, with their usage against their plans
    Top(TopArgs),
    /// Compare the sums of a day with the counters of all users
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice stats top
  weir practice stats top --date yesterday --users 3")]
struct TopArgs {
    /// Day, in the time zone of practice: 2026-01-31, 7d (ago), today or yesterday [default: today]
    #[arg(long, value_name = "DAY")]
    date: Option<GivenTime>,
    /// Most users to list, from 1 to 100 [default: 10]
    #[arg(long, value_name = "N")]
    users: Option<u32>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice stats verify --date 2026-01-15
  weir practice stats verify --date 2026-01-15 --repair

Exit code 4 says that a sum differs and was not corrected.")]
struct VerifyArgs {
    /// Day of the sums, in the time zone of practice: 2026-01-31, 7d (ago), today or yesterday
    #[arg(long, value_name = "DAY")]
    date: GivenTime,
    /// Correct sums that differ
    #[arg(long)]
    repair: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, args: StatsArgs) -> Result<(), Failure> {
    match args.verb {
        Some(Verb::Top(args)) => return top(context, args).await,
        Some(Verb::Verify(args)) => return verify(context, args).await,
        None => {}
    }
    let days = StatsParams {
        from: day::of(context, args.from.as_ref()).await?,
        to: day::of(context, args.to.as_ref()).await?,
    };
    let path = with_params(&context.path(&["stats"]), &days)?;
    let stats: UsageStats = context.api.get(&path).await?;
    context.print(&stats, show)
}

fn show(stats: &UsageStats) -> std::io::Result<()> {
    let used: Vec<&DayStats> = stats.days.iter().filter(|day| !is_empty(day)).collect();
    if !used.is_empty() {
        days(&used)?;
    }
    if !stats.top_users.is_empty() {
        let top = stats.top_users.get(..TOP_MAX).unwrap_or(&stats.top_users);
        rows(
            top,
            &[
                ("user", |user| user.user_id.clone()),
                ("hints and executions", |user| output::thousands(user.total)),
            ],
        )?;
    }
    output::line(format!(
        "{} and {} from {} to {}",
        output::counted(stats.hints, "hint"),
        output::counted(stats.executions, "execution"),
        stats.from,
        stats.to
    ))
}

fn is_empty(day: &DayStats) -> bool {
    day.hints == 0 && day.executions == 0 && day.active_users == 0
}

/// Two rows for each day, one for each action, with a bar.
fn days(used: &[&DayStats]) -> std::io::Result<()> {
    let most = used.iter().map(|day| day.hints.max(day.executions)).max().unwrap_or_default();
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let row = |day: &str, action: &str, count: u64, users: String| {
        let bar = bars::small(signed(count), signed(most));
        vec![day.to_owned(), action.to_owned(), output::thousands(count), bar, users]
    };
    let rows = used.iter().flat_map(|day| {
        let users = output::thousands(day.active_users);
        [
            row(&day.date, "hint", day.hints, users),
            row("", "execution", day.executions, String::new()),
        ]
    });
    output::table(header(["day", "action", "count", "", "active users"]), rows, &[2, 4])
}

async fn top(context: &ApiContext<'_>, args: TopArgs) -> Result<(), Failure> {
    let date = day::of(context, args.date.as_ref()).await?;
    let params = DayTopUsersParams { date, limit: args.users };
    let path = with_params(&context.path(&["stats", "top-users"]), &params)?;
    let found: DayTopUsers = context.api.get(&path).await?;
    context.print(&found, show_top)
}

fn show_top(found: &DayTopUsers) -> std::io::Result<()> {
    if found.users.is_empty() {
        return output::line(format!("nobody did anything on {}", found.date));
    }
    rows(
        &found.users,
        &[
            ("user", |user| user.name.clone().unwrap_or_else(|| "(deleted)".to_owned())),
            ("id", |user| user.user_id.clone()),
            ("actions", |user| output::thousands(user.total)),
            ("hints", |user| against(user, UsageAction::Hint)),
            ("executions", |user| against(user, UsageAction::Execution)),
        ],
    )
}

/// What a user used of the day's limit.
fn against(user: &DayTopUser, action: UsageAction) -> String {
    let Some(usage) = user.actions.iter().find(|usage| usage.action == action) else {
        return "-".to_owned();
    };
    let count = output::thousands(usage.count);
    match u64::try_from(usage.limit) {
        Ok(limit) => format!("{count} of {}", output::thousands(limit)),
        Err(_) => format!("{count}, unlimited"),
    }
}

/// Fails when a sum differs and stays so, so that a script sees it.
async fn verify(context: &ApiContext<'_>, args: VerifyArgs) -> Result<(), Failure> {
    let date = day::of(context, Some(&args.date)).await?.unwrap_or_default();
    let request = VerifyStatsRequest { date, repair: args.repair };
    let path = context.path(&["stats", "verify"]);
    let verified: VerifyStatsResponse = context.api.post(&path, &request).await?;
    context.print(&verified, differences)?;
    if verified.differences.is_empty() || verified.is_repaired {
        return Ok(());
    }
    Err(Failure::differs("sums of usage differ from the counters").help(
        "run `weir jobs run practice-rollup` first; correct what still differs with --repair",
    ))
}

fn differences(verified: &VerifyStatsResponse) -> std::io::Result<()> {
    if !verified.differences.is_empty() {
        let rows = verified.differences.iter().map(|one| {
            let counts = [
                one.stored.hints,
                one.computed.hints,
                one.stored.executions,
                one.computed.executions,
            ];
            let whose = one.user_id.clone().unwrap_or_else(|| "all".to_owned());
            std::iter::once(whose).chain(counts.map(output::thousands)).collect()
        });
        let names = ["user", "hints stored", "counted", "executions stored", "counted"];
        output::table(header(names), rows, &[1, 2, 3, 4])?;
    }
    output::line(format!(
        "{}: {}, {} of {}; {}",
        verified.date,
        output::counted(verified.computed.hints, "hint"),
        output::counted(verified.computed.executions, "execution"),
        output::counted(verified.active_users, "user"),
        match (verified.differences.is_empty(), verified.is_repaired) {
            (true, _) => "the sums agree with the counters",
            (false, true) => "the sums were corrected",
            (false, false) => "the sums differ from the counters",
        }
    ))
}
