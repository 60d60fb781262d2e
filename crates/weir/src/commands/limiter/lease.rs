//! `weir limiter lease`: settling what was acquired.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_server::routes::limiter::leases::{Adjust, Settled};
use weir_server::routes::limiter::shapes::LimitName;

use super::amounts::{amount, line, together};
use crate::commands::desk::Desk;
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

pub(super) async fn run(desk: &Desk<'_>, verb: Verb) -> Result<(), Failure> {
    let path = |args: &LeaseArgs, verb: &str| desk.path(&["leases", &args.lease, verb]);
    let settled: Settled = match verb {
        Verb::Adjust(args) => {
            let body = Adjust { adjust: together(args.by)? };
            desk.api.post(&path(&args.lease, "adjust"), &body).await?
        }
        Verb::Commit(args) => desk.api.post(&path(&args, "commit"), &()).await?,
        Verb::Release(args) => {
            let body = json!({"release": together(args.amount)?});
            desk.api.post(&path(&args.lease, "release"), &body).await?
        }
        Verb::Rollback(args) => desk.api.post(&path(&args, "rollback"), &()).await?,
    };
    desk.tell(&settled, |settled| {
        let state = output::word(&settled.state).replace('_', " ");
        let held = line(&settled.net);
        let held = if held.is_empty() { "nothing".to_owned() } else { held };
        output::line(format!("the lease is {state} and holds {held}"))
    })
}
