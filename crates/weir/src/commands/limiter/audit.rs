//! `weir limiter audit`: who changed what.

use clap::Args;
use serde_json::Value;
use weir_server::limiter::audit::Event;

use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::output;

/// Characters of a change that the table shows.
const SHOWN_MAX: usize = 60;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// About this entity [default: about the namespace itself]
    #[arg(long, value_name = "ID")]
    entity: Option<String>,
    /// About the limits of the system
    #[arg(long, conflicts_with = "entity")]
    system: bool,
    /// About the limits of this resource
    #[arg(long, value_name = "NAME", conflicts_with_all = ["entity", "system"])]
    resource: Option<String>,
    /// Not before this time, like 2026-01-15T12:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

impl AuditArgs {
    fn subject(&self) -> Option<String> {
        if self.system {
            return Some("$SYSTEM".to_owned());
        }
        let resource = self.resource.as_ref().map(|resource| format!("$RESOURCE:{resource}"));
        resource.or_else(|| self.entity.clone())
    }
}

pub(super) async fn run(context: &ApiContext<'_>, args: AuditArgs) -> Result<(), Failure> {
    let subject = args.subject();
    let parameters = [
        ("entity", subject.as_deref()),
        ("from", args.from.as_deref()),
        ("to", args.to.as_deref()),
    ];
    let events: Vec<Event> =
        context.all(&with_query(&context.path(&["audit"]), &parameters)).await?;
    context.print(&events, |events| table(events))
}

fn table(events: &[Event]) -> std::io::Result<()> {
    let rows = events.iter().map(|event| {
        vec![
            event.at.clone(),
            output::word(&event.action),
            output::printable(&event.subject),
            output::printable(event.resource.as_deref().unwrap_or_default()),
            output::printable(&event.principal),
            change(event.before.as_ref(), event.after.as_ref()),
        ]
    });
    output::table(header(["at", "what", "subject", "resource", "by", "change"]), rows, &[])
}

fn change(before: Option<&Value>, after: Option<&Value>) -> String {
    let text = |value: &Value| output::printable(&output::cut(&value.to_string(), SHOWN_MAX));
    match (before.map(text), after.map(text)) {
        (None, None) => String::new(),
        (None, Some(after)) => after,
        (Some(before), None) => format!("{before} → nothing"),
        (Some(before), Some(after)) => format!("{before} → {after}"),
    }
}
