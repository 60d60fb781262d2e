//! `weir limiter audit`: the audit log.

use clap::Args;
use serde_json::Value;
use weir_api::TimeRangeParams;
use weir_api::limiter::{LimiterAuditEvent, LimiterAuditParams};

use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::failure::Failure;
use crate::output;

/// Characters of a change that the table shows.
const SHOWN_MAX: usize = 60;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// Entity whose changes to show, for example user-1 [default: everything in the namespace]
    #[arg(long, value_name = "ID")]
    entity: Option<String>,
    /// Show the changes of the system's limits
    #[arg(long, conflicts_with = "entity")]
    system: bool,
    /// Resource whose changes to show, for example gpt-4
    #[arg(long, value_name = "NAME", conflicts_with_all = ["entity", "system"])]
    resource: Option<String>,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: AuditArgs) -> Result<(), Failure> {
    let resource = args.resource.map(|resource| format!("$RESOURCE:{resource}"));
    let system = args.system.then(|| "$SYSTEM".to_owned());
    let params = LimiterAuditParams { entity: args.entity.or(resource).or(system) };
    let range = TimeRangeParams::from(args.range);
    let path = with_params(&with_params(&context.path(&["audit"]), &params)?, &range)?;
    context.list::<LimiterAuditEvent>(&path, &args.limit, table).await
}

fn table(events: &[LimiterAuditEvent]) -> std::io::Result<()> {
    rows(
        events,
        &[
            ("at", |event| event.at.clone()),
            ("action", |event| event.action.clone()),
            ("subject", |event| output::printable(&event.subject)),
            ("resource", |event| output::printable(event.resource.as_deref().unwrap_or_default())),
            ("actor", |event| output::printable(&event.principal)),
            ("change", |event| change(event.before.as_ref(), event.after.as_ref())),
        ],
    )
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
