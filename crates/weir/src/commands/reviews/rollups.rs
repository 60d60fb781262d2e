//! `weir reviews rollups`: the sums that comparisons read.

use clap::{Args, Subcommand};
use weir_api::reviews::{VerifyRollupsRequest, VerifyRollupsResponse};
use weir_calendar::Day;
use weir_reviews::time::parse_day;

use super::repository::Repository;
use crate::commands::api_context::{ApiContext, rows};
use crate::failure::Failure;
use crate::output;
use crate::time::{GivenTime, now_ms};

/// Days that are verified by default: the most that one request takes.
const DAYS_DEFAULT: i64 = 31;

/// Characters of sums in a table; `--json` has all of them.
const SUMS_MAX: usize = 60;

const AFTER_HELP: &str = "\
Examples:
  weir reviews rollups verify
  weir reviews rollups verify --repo acme/shop --from 2026-01-01 --to 2026-02-01 --recompute

The job reviews-rollup sums reviews by repository, model and day. `verify` computes these sums \
again from the reviews and exits with code 4 if a stored one differs.";

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Compute the sums of days again, and report those that differ
    Verify(VerifyArgs),
}

/// Flags of `weir reviews rollups verify`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct VerifyArgs {
    /// First day, in UTC: 2026-01-31, 7d (ago), today or yesterday [default: 31 days before --to]
    #[arg(long, value_name = "DAY")]
    from: Option<GivenTime>,
    /// Day after the last one, in UTC, up to 31 days after --from [default: tomorrow]
    #[arg(long, value_name = "DAY")]
    to: Option<GivenTime>,
    /// Repository, for example acme/shop [default: all repositories]
    #[arg(long, value_name = "OWNER/REPO")]
    repo: Option<Repository>,
    /// Compute the days again that differ
    #[arg(long)]
    recompute: bool,
}

fn day(flag: &str, given: &GivenTime) -> Result<Day, Failure> {
    parse_day(flag, &given.utc_day()?).map_err(|error| Failure::usage(error.to_string()))
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let Verb::Verify(args) = verb;
    let from = args.from.map(|given| day("--from", &given)).transpose()?;
    let to = args.to.map(|given| day("--to", &given)).transpose()?;
    let tomorrow = Day::utc(now_ms()).plus_days(1);
    let to = match (from, to) {
        (_, Some(to)) => to,
        (Some(from), None) => tomorrow.min(from.plus_days(DAYS_DEFAULT)),
        (None, None) => tomorrow,
    };
    let from = from.unwrap_or_else(|| to.plus_days(-DAYS_DEFAULT));
    let request = VerifyRollupsRequest {
        from: from.to_string(),
        to: to.to_string(),
        repo: args.repo.map(|repo| repo.to_string()),
        recompute: args.recompute,
    };
    let path = context.path(&["rollups", "verify"]);
    let verified: VerifyRollupsResponse = context.api.post(&path, &request).await?;
    context.print(&verified, show)?;
    check(&verified)
}

fn show(verified: &VerifyRollupsResponse) -> std::io::Result<()> {
    if !verified.differences.is_empty() {
        rows(
            &verified.differences,
            &[
                ("day", |one| one.day.clone()),
                ("repository", |one| one.repo.clone().unwrap_or_else(|| "all".to_owned())),
                ("part", |one| output::printable(&one.part)),
                ("stored", |one| shown(one.stored.as_deref())),
                ("computed", |one| shown(one.computed.as_deref())),
            ],
        )?;
    }
    for failure in &verified.failures {
        output::wrong(failure)?;
    }
    let days = output::counted(verified.days, "day");
    let differ = output::counted(verified.differing, "sum");
    output::line(format!("{days} verified; {differ} differ"))?;
    if verified.is_pending {
        output::line("changes wait for the job reviews-rollup")?;
    }
    if verified.recomputed > 0 {
        let days = output::counted(verified.recomputed, "day");
        output::line(format!("{days} will be computed again by the job reviews-rollup"))?;
    }
    Ok(())
}

fn shown(sums: Option<&str>) -> String {
    sums.map_or_else(
        || "nothing".to_owned(),
        |sums| output::printable(&output::cut(sums, SUMS_MAX)),
    )
}

fn check(verified: &VerifyRollupsResponse) -> Result<(), Failure> {
    let failure = match (verified.differing, verified.failures.len()) {
        (0, 0) => return Ok(()),
        (0, failed) => Failure::differs(format!(
            "{} cannot be computed",
            output::counted(failed as u64, "day")
        )),
        (differing, _) => {
            let sums = output::counted(differing, "sum");
            Failure::differs(format!("{sums} of reviews differ from the stored ones"))
        }
    };
    Err(if verified.is_pending {
        failure
            .help("changes wait for the job: run `weir jobs run reviews-rollup`, then verify again")
    } else if verified.recomputed == 0 {
        failure.help("--recompute marks these days to be computed again")
    } else {
        failure
    })
}
