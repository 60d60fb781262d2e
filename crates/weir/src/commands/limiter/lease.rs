//! `weir limiter lease`: settling a lease.

use clap::{Args, Subcommand};
use serde::Serialize;
use weir_api::limiter::{
    AdjustLeaseRequest, CommitLeaseRequest, LeaseResponse, ReleaseLeaseRequest,
    RollbackLeaseRequest,
};

use super::amounts::{self, amount};
use super::idempotency::IdempotencyArgs;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Take more tokens or return some; the lease stays open
    Adjust(AdjustArgs),
    /// End the lease; its tokens, or the actual ones, stay taken
    Commit(CommitArgs),
    /// Return some tokens and leave the lease open, or return all and end it
    Release(ReleaseArgs),
    /// Return all tokens, adjustments included, and end the lease
    Rollback(LeaseArgs),
}

#[derive(Debug, Args)]
pub(super) struct LeaseArgs {
    /// Lease that `acquire` printed
    #[arg(allow_hyphen_values = true)]
    lease: String,
    #[command(flatten)]
    idempotency: IdempotencyArgs,
}

#[derive(Debug, Args)]
pub(super) struct AdjustArgs {
    #[command(flatten)]
    lease: LeaseArgs,
    /// Tokens to take from a limit (tpm=500) or to return to it (tpm=-500); repeatable
    #[arg(long, value_name = "LIMIT=±N", required = true, value_parser = amount)]
    by: Vec<(String, i64)>,
}

#[derive(Debug, Args)]
pub(super) struct CommitArgs {
    #[command(flatten)]
    lease: LeaseArgs,
    /// Tokens of a limit that were used, for example tpm=250; repeatable [default: the tokens that the lease holds]
    #[arg(long, value_name = "LIMIT=N", value_parser = amount)]
    actual: Vec<(String, i64)>,
}

#[derive(Debug, Args)]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    lease: LeaseArgs,
    /// Tokens to return to a limit, for example tpm=50; repeatable [default: all tokens]
    #[arg(long, value_name = "LIMIT=N", value_parser = amount)]
    amount: Vec<(String, i64)>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    let lease = match verb {
        Verb::Adjust(args) => {
            let request = AdjustLeaseRequest { adjust: amounts::collect(args.by)? };
            settle(context, &args.lease, "adjust", &request).await?
        }
        Verb::Commit(args) => {
            let request = CommitLeaseRequest { actual: amounts::collect(args.actual)? };
            settle(context, &args.lease, "commit", &request).await?
        }
        Verb::Release(args) => {
            let request = ReleaseLeaseRequest { release: amounts::collect(args.amount)? };
            settle(context, &args.lease, "release", &request).await?
        }
        Verb::Rollback(args) => {
            settle(context, &args, "rollback", &RollbackLeaseRequest {}).await?
        }
    };
    context.print(&lease, |lease| {
        let state = output::word(&lease.state).replace('_', " ");
        let held = amounts::line(&lease.net);
        let held = if held.is_empty() { "no tokens".to_owned() } else { held };
        output::line(format!("the lease is {state} and holds {held}"))
    })
}

async fn settle(
    context: &ApiContext<'_>,
    args: &LeaseArgs,
    operation: &str,
    request: &(impl Serialize + Sync),
) -> Result<LeaseResponse, Failure> {
    let path = context.path(&["leases", &args.lease, operation]);
    context.api.post_once(&path, request, args.idempotency.key()).await
}
