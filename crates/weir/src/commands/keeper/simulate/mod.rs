//! `weir keeper simulate`: replays a day against a configuration, and writes nothing.

mod config;
mod csv;
mod show;

use clap::Args;
use weir_keeper::day::parse_day;
use weir_keeper::simulate::{CACHE_MS_MAX, LAG_MS_MAX, ReplayRow, Simulation, Traffic};

use self::config::Proposal;
use crate::config::Loaded;
use crate::failure::Failure;
use crate::time::{GivenTime, now_ms};

const AFTER_HELP: &str = "\
Examples:
  weir keeper simulate --org org.yaml --requests 20000 --plot
  weir keeper simulate --org org.yaml --app search.yaml --app chat.yaml --csv yesterday.csv
  weir keeper simulate --org-id 550e8400-e29b-41d4-a716-446655440000 --app-id api --csv yesterday.csv

A file of submissions is CSV with the columns timestamp (like 2026-01-23T14:00:00Z), \
input_tokens and output_tokens, and may have cached_read_tokens, cached_write_tokens and app_id. \
Other columns of a submission, such as request_id and model_label, are ignored. Each submission \
goes to the model that its app selected last; an app selects again as often as the configuration \
says, or as --cache says. Where quotas are of each app, an app without a configuration has that \
of its org.";

/// Flags of `weir keeper simulate`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct SimulateArgs {
    /// Configuration of an org: a file as for `org apply`
    #[arg(long, value_name = "FILE", required_unless_present = "org_id")]
    org: Option<String>,
    /// Configuration of an app: a file as for `app apply`; for several apps, several times
    #[arg(long, value_name = "FILE", requires = "org")]
    app: Vec<String>,
    /// Use the stored configuration of this org
    #[arg(long, value_name = "ID", conflicts_with = "org")]
    org_id: Option<String>,
    /// Replay this app with its stored configuration; submissions without an app are its own, those of others are skipped
    #[arg(long, value_name = "ID", requires = "org_id")]
    app_id: Option<String>,
    /// Replay the submissions of this CSV file [default: generated ones]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["requests", "seed", "input_tokens", "output_tokens"])]
    csv: Option<String>,
    /// Number of submissions to generate: few at night, most before and after lunch
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    requests: usize,
    /// Seed of the generated day; the same seed generates the same day
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Average input tokens of a generated submission
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    input_tokens: u64,
    /// Average output tokens of a generated submission
    #[arg(long, value_name = "N", default_value_t = 500)]
    output_tokens: u64,
    /// Seconds between two aggregations; 0 for totals without lag [default: jobs.aggregate_interval_secs]
    #[arg(long, value_name = "SECS")]
    lag: Option<u64>,
    /// Seconds for which an app uses a selection; 0 selects before every call [default: refresh intervals of the configuration]
    #[arg(long, value_name = "SECS")]
    cache: Option<u64>,
    /// Day to replay, in the org's time zone: 2026-01-31, 7d (ago), today or yesterday [default: day of the first submission in the file, or today]
    #[arg(long, value_name = "DAY")]
    day: Option<GivenTime>,
    /// Region of the prices [default: prices for all regions]
    #[arg(long)]
    region: Option<String>,
    /// Draw a chart of the spend in each hour
    #[arg(long)]
    plot: bool,
}

/// Replays the day and prints the result.
pub(super) async fn run(loaded: &Loaded, args: SimulateArgs, json: bool) -> Result<(), Failure> {
    let now_ms = now_ms();
    let mut read = args.csv.as_deref().map(csv::read).transpose()?;
    if let (Some(rows), Some(app)) = (&mut read, &args.app_id) {
        rows.retain(|row| row.app.as_ref().is_none_or(|of| of.as_str() == app));
    }
    let named = read.iter().flatten().filter_map(|row| row.app.clone()).collect();
    let proposal = Proposal::of(loaded, &args, &named, now_ms).await?;
    let zone = &proposal.config.timezone;
    let first = read.as_ref().and_then(|rows| rows.first());
    let day = match &args.day {
        Some(given) => {
            let day = given.day(now_ms, |at_ms| Ok(zone.day_of(at_ms).to_string()))?;
            parse_day(&day).map_err(wrong)?
        }
        None => zone.day_of(first.map_or(now_ms, |row| row.at_ms)),
    };
    let rows = match read {
        Some(rows) => rows,
        None => generated(&args).rows(zone, day).map_err(wrong)?,
    };
    let prices = proposal.prices(loaded, args.region.as_deref(), day).await?;
    let plan = Simulation {
        config: &proposal.config,
        apps: &proposal.apps,
        default_app: proposal.default_app.as_ref(),
        prices: &prices,
        day,
        lag_ms: lag_ms(&args, loaded)?,
        cache_ms: args.cache.map(cache_ms).transpose()?,
    };
    let reports = tokio::task::block_in_place(|| plan.run(&rows)).map_err(wrong)?;
    show::print(&plan, &reports, args.plot, json)
}

fn cache_ms(secs: u64) -> Result<i64, Failure> {
    let ms = i64::try_from(secs).ok().and_then(|secs| secs.checked_mul(1000));
    ms.filter(|ms| *ms <= CACHE_MS_MAX).ok_or_else(|| {
        Failure::usage(format!("--cache is {secs}, more than {} seconds", CACHE_MS_MAX / 1000))
    })
}

fn generated(args: &SimulateArgs) -> Traffic {
    Traffic {
        seed: args.seed,
        requests: args.requests,
        input_tokens: args.input_tokens,
        output_tokens: args.output_tokens,
    }
}

fn lag_ms(args: &SimulateArgs, loaded: &Loaded) -> Result<i64, Failure> {
    let secs = args.lag.unwrap_or(loaded.config.jobs.aggregate_interval_secs);
    let ms = i64::try_from(secs).ok().and_then(|secs| secs.checked_mul(1000));
    ms.filter(|ms| *ms <= LAG_MS_MAX).ok_or_else(|| {
        Failure::usage(format!("--lag is {secs}, more than {} seconds", LAG_MS_MAX / 1000))
    })
}

/// An error of the keeper, in the words of the API.
fn wrong(error: weir_keeper::Error) -> Failure {
    Failure::usage(error.to_string())
}

/// The rows of a file, in its order.
type Rows = Vec<ReplayRow>;
