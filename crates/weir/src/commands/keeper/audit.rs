//! `weir keeper audit`: who changed what.

use clap::Args;
use weir_server::keeper::audit::Event;

use super::whose::WhoseArgs;
use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The org's id, a UUID
    org: String,
    /// About this app alone [default: about the org and all its apps]
    #[arg(long, value_name = "ID")]
    app: Option<String>,
    /// Not before this time, like 2026-01-15T12:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
}

pub(super) async fn run(context: &ApiContext<'_>, args: AuditArgs) -> Result<(), Failure> {
    let whose = WhoseArgs { org: args.org, app: args.app };
    let time = [("from", args.from.as_deref()), ("to", args.to.as_deref())];
    let path = with_query(&whose.path(context, &["audit"]), &time);
    let (events, more) = context.first::<Event>(&path, args.limit as usize).await?;
    context.print(&events, |events| table(events))?;
    if more {
        output::note("there are older ones; --limit says how many are shown");
    }
    Ok(())
}

fn table(events: &[Event]) -> std::io::Result<()> {
    let rows = events.iter().map(|event| {
        vec![
            event.at.clone(),
            output::word(&event.action),
            output::printable(&event.subject),
            output::printable(&event.actor),
            output::printable(event.detail.as_deref().unwrap_or_default()),
        ]
    });
    output::table(header(["at", "what", "subject", "by", "detail"]), rows, &[])
}
