//! `weir limiter usage`: usage by hour, day or month.

use clap::{Args, Subcommand};
use weir_api::TimeRangeParams;
use weir_api::limiter::{UsageParams, UsageSnapshot, UsageSummary, UsageWindow};

use super::{amounts, one_of, plot};
use crate::commands::api_context::{ApiContext, header, tokens, with_params};
use crate::failure::Failure;
use crate::output;
use crate::time::GivenTime;

#[derive(Debug, Args)]
pub(super) struct UsageArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Entity whose usage to show, for example user-1
    #[arg(long, value_name = "ID", global = true)]
    entity: Option<String>,
    /// Resource whose usage to show, for example gpt-4
    #[arg(long, value_name = "NAME", global = true)]
    resource: Option<String>,
    /// Length of the usage windows
    #[arg(long, value_name = "LENGTH", default_value = "hourly", global = true,
        value_parser = one_of::<UsageWindow>(&["hourly", "daily", "monthly"]))]
    window: UsageWindow,
    /// Start of the time range: 2026-01-31, 2026-01-31T12:00:00Z, 2h or 7d (ago), today, yesterday; days are in UTC [default: a
    /// day, 30 days or a year before --to]
    #[arg(long, value_name = "TIME", global = true)]
    from: Option<GivenTime>,
    /// End of the time range, exclusive, written like --from [default: now]
    #[arg(long, value_name = "TIME", global = true)]
    to: Option<GivenTime>,
    /// Draw bars
    #[arg(long)]
    plot: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the total and the peak of each limit
    Summary,
}

pub(super) async fn run(context: &ApiContext<'_>, args: UsageArgs) -> Result<(), Failure> {
    if args.entity.is_none() && args.resource.is_none() {
        return Err(Failure::usage(
            "name an entity, a resource or both: --entity ID, --resource NAME",
        ));
    }
    let params = UsageParams { entity: args.entity, resource: args.resource, window: args.window };
    let text = |given: Option<GivenTime>| given.map(|given| given.rfc3339());
    let range = TimeRangeParams { from: text(args.from), to: text(args.to) };
    let query = |parts: &[&str]| with_params(&with_params(&context.path(parts), &params)?, &range);
    if let Some(Verb::Summary) = args.verb {
        let summary: UsageSummary = context.api.get(&query(&["usage", "summary"])?).await?;
        return context.print(&summary, show_summary);
    }
    let snapshots: Vec<UsageSnapshot> = context.all(&query(&["usage"])?).await?;
    context.print_all(snapshots, if args.plot { plot::usage } else { table })
}

fn table(snapshots: &[UsageSnapshot]) -> std::io::Result<()> {
    let rows = snapshots.iter().map(|snapshot| {
        vec![
            plot::window_label(snapshot).to_owned(),
            snapshot.entity.clone(),
            snapshot.resource.clone(),
            amounts::line(&snapshot.used),
            tokens(snapshot.events),
        ]
    });
    output::table(header(["window", "entity", "resource", "used", "events"]), rows, &[4])
}

fn show_summary(summary: &UsageSummary) -> std::io::Result<()> {
    let rows = summary.total.iter().map(|(name, total)| {
        let peak = summary.peak.get(name).copied().unwrap_or_default();
        vec![name.clone(), tokens(*total), tokens(peak)]
    });
    output::table(header(["limit", "total", "peak"]), rows, &[1, 2])?;
    output::line(format!(
        "{} from {} to {}",
        output::counted(summary.snapshots, &format!("{} window", output::word(&summary.window))),
        summary.from,
        summary.to
    ))
}
