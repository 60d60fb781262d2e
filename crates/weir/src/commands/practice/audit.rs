//! `weir practice audit`: changes by administrators.

use clap::Args;
use weir_api::TimeRangeParams;
use weir_api::practice::{PracticeAuditEvent, PracticeAuditParams};

use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  weir practice audit
  weir practice audit --subject 'user 42' --from 7d
  weir practice audit --subject 'problem baekjoon/1000' --json")]
pub(super) struct AuditArgs {
    /// Subject of the changes, like 'user 42', 'plan 2' or 'problem baekjoon/1000' [default: all]
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
}

pub(super) async fn run(context: &ApiContext<'_>, args: AuditArgs) -> Result<(), Failure> {
    let by = PracticeAuditParams { subject: args.subject };
    let path = with_params(&context.path(&["audit"]), &by)?;
    let path = with_params(&path, &TimeRangeParams::from(args.range))?;
    context.list::<PracticeAuditEvent>(&path, &args.limit, table).await
}

fn table(events: &[PracticeAuditEvent]) -> std::io::Result<()> {
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
