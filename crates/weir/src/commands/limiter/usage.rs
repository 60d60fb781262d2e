//! `weir limiter usage`: what was used.

use clap::{Args, Subcommand, ValueEnum};
use weir_server::limiter::usage::{Snapshot, Summary};

use super::{amounts, plot};
use crate::commands::api_context::{ApiContext, header, tokens, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct UsageArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Of this entity
    #[arg(long, value_name = "ID", global = true)]
    entity: Option<String>,
    /// Of this resource
    #[arg(long, value_name = "NAME", global = true)]
    resource: Option<String>,
    /// How long the windows are
    #[arg(long, value_enum, default_value_t = Window::Hourly, global = true)]
    window: Window,
    /// From this time on, like 2026-01-15T12:00:00Z [default: a day, 30 days or a year before --to]
    #[arg(long, value_name = "TIME", global = true)]
    from: Option<String>,
    /// Up to before this time [default: now]
    #[arg(long, value_name = "TIME", global = true)]
    to: Option<String>,
    /// Draw bars
    #[arg(long)]
    plot: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Sum it up
    Summary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Window {
    Hourly,
    Daily,
    Monthly,
}

impl UsageArgs {
    fn query(&self, path: &str) -> String {
        let window = match self.window {
            Window::Hourly => "hourly",
            Window::Daily => "daily",
            Window::Monthly => "monthly",
        };
        let parameters = [
            ("entity", self.entity.as_deref()),
            ("resource", self.resource.as_deref()),
            ("window", Some(window)),
            ("from", self.from.as_deref()),
            ("to", self.to.as_deref()),
        ];
        with_query(path, &parameters)
    }
}

pub(super) async fn run(context: &ApiContext<'_>, args: UsageArgs) -> Result<(), Failure> {
    if args.entity.is_none() && args.resource.is_none() {
        return Err(Failure::usage(
            "name an entity, a resource or both: --entity ID, --resource NAME",
        ));
    }
    if args.verb.is_some() {
        let path = args.query(&context.path(&["usage", "summary"]));
        let summary: Summary = context.api.get(&path).await?;
        return context.print(&summary, show_summary);
    }
    let snapshots: Vec<Snapshot> = context.all(&args.query(&context.path(&["usage"]))).await?;
    context.print(
        &snapshots,
        |snapshots| {
            if args.plot { plot::usage(snapshots) } else { table(snapshots) }
        },
    )
}

fn table(snapshots: &[Snapshot]) -> std::io::Result<()> {
    let rows = snapshots.iter().map(|snapshot| {
        vec![
            plot::short(&snapshot.start, snapshot.window).to_owned(),
            snapshot.entity.to_string(),
            snapshot.resource.to_string(),
            amounts::line(&snapshot.used),
            tokens(snapshot.events),
        ]
    });
    output::table(header(["window", "entity", "resource", "used", "events"]), rows, &[4])
}

fn show_summary(summary: &Summary) -> std::io::Result<()> {
    let rows = summary.total.iter().map(|(name, total)| {
        let peak = summary.peak.get(name).copied().unwrap_or_default();
        vec![name.to_string(), tokens(*total), tokens(peak)]
    });
    output::table(header(["limit", "total", "most in a window"]), rows, &[1, 2])?;
    output::line(format!(
        "{} from {} to {}",
        output::counted(summary.snapshots, &format!("{} window", output::word(&summary.window))),
        summary.from,
        summary.to
    ))
}
