//! `weir keeper audit`: changes of orgs and apps.

use clap::Args;
use weir_api::keeper::OrgAuditEvent;

use super::target::TargetArgs;
use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The org's id, a UUID
    org: String,
    /// Only changes of this app [default: of the org and all its apps]
    #[arg(long, value_name = "ID")]
    app: Option<String>,
    /// Start of the time range, like 2026-01-15T12:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// End of the time range
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Largest number of events
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

pub(super) async fn run(context: &ApiContext<'_>, args: AuditArgs) -> Result<(), Failure> {
    let target = TargetArgs { org: args.org, app: args.app };
    let time = [("from", args.from.as_deref()), ("to", args.to.as_deref())];
    let path = with_query(&target.path(context, &["audit"]), &time);
    let (events, more) = context.first::<OrgAuditEvent>(&path, args.limit as usize).await?;
    context.print(&events, |events| table(events))?;
    if more {
        output::note("older events exist; show more with --limit");
    }
    Ok(())
}

fn table(events: &[OrgAuditEvent]) -> std::io::Result<()> {
    let rows = events.iter().map(|event| {
        vec![
            event.at.clone(),
            event.action.clone(),
            output::printable(&event.subject),
            output::printable(&event.actor),
            output::printable(event.detail.as_deref().unwrap_or_default()),
        ]
    });
    output::table(header(["at", "action", "subject", "actor", "detail"]), rows, &[])
}
