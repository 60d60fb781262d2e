//! `weir limiter lease`: settling what was acquired.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use weir_server::limiter::leases::{Adjust, Settled};
use weir_server::limiter::shapes::LimitName;

use super::amounts::{amount, line, together};
use super::once::OnceArgs;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Take more or give back; the lease stays open
    Adjust(AdjustArgs),
    /// Keep what was taken, and end the lease
    Commit(LeaseArgs),
    /// Give back some and keep the lease open, or all and end it
    Release(ReleaseArgs),
    /// Give back all, adjustments included, and end the lease
    Rollback(LeaseArgs),
}

#[derive(Debug, Args)]
pub(super) struct LeaseArgs {
    /// The lease, as `acquire` printed it
    #[arg(allow_hyphen_values = true)]
    lease: String,
    #[command(flatten)]
    once: OnceArgs,
}

#[derive(Debug, Args)]
pub(super) struct AdjustArgs {
    #[command(flatten)]
    lease: LeaseArgs,
    /// How much more of a limit (tpm=500) or less (tpm=-500); may be given several times
    #[arg(long, value_name = "LIMIT=±N", required = true, value_parser = amount)]
    by: Vec<(LimitName, i64)>,
}

#[derive(Debug, Args)]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    lease: LeaseArgs,
    /// How much of a limit [default: all of all]; may be given several times
    #[arg(long, value_name = "LIMIT=N", value_parser = amount)]
    amount: Vec<(LimitName, i64)>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let settled = match verb {
        Verb::Adjust(args) => {
            let body = json!(Adjust { adjust: together(args.by)? });
            settle(context, &args.lease, "adjust", body).await?
        }
        Verb::Commit(args) => settle(context, &args, "commit", Value::Null).await?,
        Verb::Release(args) => {
            let body = json!({"release": together(args.amount)?});
            settle(context, &args.lease, "release", body).await?
        }
        Verb::Rollback(args) => settle(context, &args, "rollback", Value::Null).await?,
    };
    context.print(&settled, |settled| {
        let state = output::word(&settled.state).replace('_', " ");
        let held = line(&settled.net);
        let held = if held.is_empty() { "nothing".to_owned() } else { held };
        output::line(format!("the lease is {state} and holds {held}"))
    })
}

async fn settle(
    context: &ApiContext<'_>,
    args: &LeaseArgs,
    verb: &str,
    body: Value,
) -> Result<Settled, Failure> {
    let path = context.path(&["leases", &args.lease, verb]);
    context.api.post_once(&path, &body, args.once.key()).await
}
