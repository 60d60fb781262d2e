//! `weir keeper totals`: usage and spend.

use std::collections::BTreeSet;

use clap::Args;
use weir_api::Page;
use weir_api::keeper::{DayTotals, ModelTotals};
use weir_keeper::day::parse_zone;
use weir_keeper::money::MicroUsd;

use super::amount::cents;
use super::sticky;
use super::target::TargetArgs;
use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::time::{GivenTime, now_ms};
use crate::{bars, output, time};

#[derive(Debug, Args)]
pub(super) struct TotalsArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Day in the org's time zone: 2026-01-31, 7d (ago), today or yesterday [default: today]
    #[arg(long, value_name = "DAY", conflicts_with_all = ["from", "to"])]
    day: Option<GivenTime>,
    /// First day of a range of at most 92 days, written like --day
    #[arg(long, value_name = "DAY")]
    from: Option<GivenTime>,
    /// Last day of the range [default: today]
    #[arg(long, value_name = "DAY", requires = "from")]
    to: Option<GivenTime>,
    /// Draw a bar chart
    #[arg(long)]
    plot: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, args: TotalsArgs) -> Result<(), Failure> {
    let zone = OrgZone { context, target: &args.target };
    if let Some(from) = &args.from {
        let (from, to) =
            (zone.day(from).await?, zone.day(args.to.as_ref().unwrap_or(&TODAY)).await?);
        let days = [("from", Some(from.as_str())), ("to", Some(to.as_str()))];
        let path = with_query(&args.target.path(context, &["aggregates"]), &days);
        let series: Page<DayTotals> = context.api.get(&path).await?;
        return context.print(&series, |days| {
            if args.plot { plot_days(&days.items) } else { table(&days.items) }
        });
    }
    let day = match &args.day {
        Some(given) => zone.day(given).await?,
        None => "today".to_owned(),
    };
    let day: DayTotals = context.api.get(&args.target.path(context, &["aggregates", &day])).await?;
    context.print(&day, |day| {
        if args.plot { plot_day(day) } else { table(std::slice::from_ref(day)) }?;
        about(day)
    })
}

const TODAY: GivenTime = GivenTime::Day(0);

/// The time zone in which an org counts days.
struct OrgZone<'a> {
    context: &'a ApiContext<'a>,
    target: &'a TargetArgs,
}

impl OrgZone<'_> {
    /// A day as the API takes it. The zone is requested only where the day depends on it.
    async fn day(&self, given: &GivenTime) -> Result<String, Failure> {
        if let GivenTime::Date(date) = given {
            return Ok(date.to_string());
        }
        let path = self.target.path(self.context, &["aggregates", "today"]);
        let today: DayTotals = self.context.api.get(&path).await?;
        let zone = parse_zone(&today.timezone).map_err(|error| {
            Failure::fault("the time zone of the org is unknown here").because(error)
        })?;
        given.day(now_ms(), |at_ms| Ok(zone.day_of(at_ms).to_string()))
    }
}

fn table(days: &[DayTotals]) -> std::io::Result<()> {
    let rows = days
        .iter()
        .flat_map(|day| day.models.iter().map(move |(label, model)| row(&day.date, label, model)));
    let names =
        ["day", "model", "status", "spent", "quota", "used %", "requests", "input", "output"];
    output::table(header(names), rows, &[3, 4, 5, 6, 7, 8])
}

fn row(day: &str, label: &str, model: &ModelTotals) -> Vec<String> {
    let sum = &model.sum;
    let input = sum.input_tokens.saturating_add(sum.cached_read_tokens);
    vec![
        day.to_owned(),
        label.to_owned(),
        output::word(&model.quota_status),
        MicroUsd(sum.cost_usd_micros).to_string(),
        MicroUsd(model.quota_usd_micros).to_string(),
        format!("{:.2} %", model.quota_pct),
        output::thousands(sum.requests),
        output::thousands(input.saturating_add(sum.cached_write_tokens)),
        output::thousands(sum.output_tokens),
    ]
}

fn about(day: &DayTotals) -> std::io::Result<()> {
    output::line(format!(
        "{} in {}: {} for {}",
        day.date,
        day.timezone,
        MicroUsd(day.totals.cost_usd_micros),
        output::counted(day.totals.requests, "request")
    ))?;
    if let Some(state) = &day.sticky {
        output::line(sticky::line(state))?;
    }
    match &day.updated_at {
        Some(at) => output::line(format!("aggregated {}", time::relative(at))),
        None => Ok(()),
    }
}

/// The spend on each model as a share of its quota.
fn plot_day(day: &DayTotals) -> std::io::Result<()> {
    let widest = day.models.keys().map(String::len).max().unwrap_or_default();
    for (label, model) in &day.models {
        let (spent, quota) = (model.sum.cost_usd_micros, model.quota_usd_micros);
        let bar = bars::part(signed(spent), signed(quota));
        let (spent, quota) = (MicroUsd(spent), MicroUsd(quota));
        output::line(format!("  {label:widest$}  {bar} {spent} of {quota}"))?;
    }
    Ok(())
}

/// The spend of each day, model by model.
fn plot_days(days: &[DayTotals]) -> std::io::Result<()> {
    let labels: BTreeSet<&str> =
        days.iter().flat_map(|day| day.models.keys().map(String::as_str)).collect();
    if labels.is_empty() {
        return output::line("nothing was spent");
    }
    let labels: Vec<&str> = labels.into_iter().collect();
    let spent = |day: &DayTotals, label: &str| {
        day.models.get(label).map_or(0, |model| signed(model.sum.cost_usd_micros))
    };
    let values = days.iter().map(|day| {
        (day.date.clone(), labels.iter().map(|label| spent(day, label)).collect::<Vec<i64>>())
    });
    for line in bars::stacked(&labels, &values.collect::<Vec<_>>(), cents) {
        output::line(line)?;
    }
    Ok(())
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}
