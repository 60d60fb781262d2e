//! `weir keeper audit`: changes of orgs and apps.

use clap::Args;
use weir_api::TimeRangeParams;
use weir_api::keeper::OrgAuditEvent;

use super::target::TargetArgs;
use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct AuditArgs {
    /// The org's id
    org: String,
    /// Only changes of this app [default: of the org and all its apps]
    #[arg(long, value_name = "ID")]
    app: Option<String>,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: AuditArgs) -> Result<(), Failure> {
    let target = TargetArgs { org: args.org, app: args.app };
    let range = TimeRangeParams::from(args.range);
    let path = with_params(&target.path(context, &["audit"]), &range)?;
    context.list::<OrgAuditEvent>(&path, &args.limit, table).await
}

fn table(events: &[OrgAuditEvent]) -> std::io::Result<()> {
    rows(
        events,
        &[
            ("at", |event| event.at.clone()),
            ("action", |event| event.action.clone()),
            ("subject", |event| output::printable(&event.subject)),
            ("actor", |event| output::printable(&event.actor)),
            ("detail", |event| output::printable(event.detail.as_deref().unwrap_or_default())),
        ],
    )
}
