//! `weir limiter acquire` and `check`: taking tokens, and showing how many are available.

use clap::Args;
use weir_api::limiter::{
    AcquireRequest, AcquireResponse, AvailabilityParams, AvailabilityResponse, LimitStatus,
    OnExpiry, RateLimit,
};

use super::amounts::{self, amount};
use super::idempotency::IdempotencyArgs;
use super::{one_of, spec};
use crate::commands::api_context::{ApiContext, header, tokens, with_params};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Args)]
pub(super) struct AcquireArgs {
    /// Entity that takes the tokens, for example user-1
    entity: String,
    /// Resource whose limits apply, for example gpt-4
    resource: String,
    /// Tokens to take from a limit, for example rpm=1; repeatable
    #[arg(long, value_name = "LIMIT=N", required = true, value_parser = amount)]
    take: Vec<(String, i64)>,
    /// Limit that applies when none is configured, for example rpm=100/min; repeatable
    #[arg(long, value_name = "SPEC", value_parser = spec::limit)]
    limit: Vec<RateLimit>,
    /// Lifetime of the lease in seconds, for example 60 [default: 600]
    #[arg(long, value_name = "SECS")]
    lease_ttl: Option<i64>,
    /// Fate of the tokens when the lease expires unsettled
    #[arg(long, value_name = "FATE", default_value = "keep", value_parser = one_of::<OnExpiry>(&["keep", "rollback"]))]
    on_expiry: OnExpiry,
    /// Decide without taking any tokens
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    idempotency: IdempotencyArgs,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Entity that would take the tokens, for example user-1
    entity: String,
    /// Resource whose limits apply, for example gpt-4
    resource: String,
    /// Amount to show the waiting time for, for example rpm=5; repeatable [default: 1 of each limit]
    #[arg(long, value_name = "LIMIT=N", value_parser = amount)]
    amount: Vec<(String, i64)>,
}

pub(super) async fn acquire(context: &ApiContext<'_>, args: AcquireArgs) -> Result<(), Failure> {
    let request = AcquireRequest {
        entity: args.entity,
        resource: args.resource,
        consume: amounts::collect(args.take)?,
        limits: (!args.limit.is_empty()).then_some(args.limit),
        lease_ttl_secs: args.lease_ttl,
        on_expiry: args.on_expiry,
        dry_run: args.dry_run,
    };
    let (path, key) = (context.path(&["acquire"]), args.idempotency.key());
    let response: AcquireResponse = context.api.post_once(&path, &request, key).await?;
    context.print(&response, show)
}

/// Prints the lease alone to stdout, so that a script can store it.
fn show(response: &AcquireResponse) -> std::io::Result<()> {
    if response.degraded {
        output::note("the store is unreachable; no tokens were taken");
    }
    match &response.lease {
        Some(lease) => {
            let until = time::until(response.expires_at.as_deref().unwrap_or_default());
            output::note(format!("granted; the lease can be settled until {until}"));
            output::line(lease)
        }
        None => table(&response.limits),
    }
}

pub(super) async fn check(context: &ApiContext<'_>, args: CheckArgs) -> Result<(), Failure> {
    let amounts = amounts::collect(args.amount)?;
    let amounts: Vec<_> = amounts.iter().map(|(name, amount)| format!("{name}:{amount}")).collect();
    let params = AvailabilityParams {
        entity: args.entity,
        resource: args.resource,
        amounts: (!amounts.is_empty()).then(|| amounts.join(",")),
    };
    let path = with_params(&context.path(&["availability"]), &params)?;
    let response: AvailabilityResponse = context.api.get(&path).await?;
    context.print(&response, |response| table(&response.limits))
}

fn table(limits: &[LimitStatus]) -> std::io::Result<()> {
    let rows = limits.iter().map(|limit| {
        vec![
            limit.entity.to_string(),
            limit.name.to_string(),
            tokens(limit.available),
            output::thousands(limit.capacity),
            tokens(limit.requested),
            time::wait(limit.retry_after_ms),
        ]
    });
    let names = ["entity", "limit", "available", "capacity", "requested", "available in"];
    output::table(header(names), rows, &[2, 3, 4, 5])
}
