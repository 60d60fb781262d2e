//! `weir security-log`: who issued, revoked and rotated credentials, and who failed to sign in.

use clap::Args;
use weir_api::TimeRangeParams;
use weir_api::server::SecurityEvent;

use crate::api::{Api, ApiFlags};
use crate::commands::api_context::{ApiContext, LimitArgs, TimeRangeArgs, rows, with_params};
use crate::config::Source;
use crate::failure::Failure;
use crate::output;

const AFTER_HELP: &str = "\
Examples:
  weir security-log                the newest events
  weir security-log --from yesterday --limit 1000 --json

Events are kept for 90 days. They name tokens, keys and clients by their ids and contain no \
secrets. Of failed sign-ins, at most 60 per minute and instance are recorded; the server's log \
has all of them.";

/// Flags of `weir security-log`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SecurityLogArgs {
    #[command(flatten)]
    range: TimeRangeArgs,
    #[command(flatten)]
    limit: LimitArgs,
    #[command(flatten)]
    api: ApiFlags,
}

/// Lists events, the newest first.
pub(crate) async fn run(args: SecurityLogArgs, source: &Source) -> Result<(), Failure> {
    Api::with(&args.api.load(source)?, async |api| {
        let context = ApiContext::new(api, "/v1/security-log", args.api.json);
        let path = with_params(&context.path(&[]), &TimeRangeParams::from(args.range))?;
        context.list::<SecurityEvent>(&path, &args.limit, table).await
    })
    .await
}

fn table(events: &[SecurityEvent]) -> std::io::Result<()> {
    rows(
        events,
        &[
            ("at", |event| event.at.clone()),
            ("action", |event| event.action.clone()),
            ("actor", |event| output::printable(event.actor.as_deref().unwrap_or_default())),
            ("address", |event| event.client_address.clone().unwrap_or_default()),
            ("target", |event| output::printable(event.target.as_deref().unwrap_or_default())),
            ("detail", |event| output::printable(event.detail.as_deref().unwrap_or_default())),
        ],
    )
}
