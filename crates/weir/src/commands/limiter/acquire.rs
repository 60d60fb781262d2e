//! `weir limiter acquire` and `check`: taking tokens, and looking at how many there are.

use clap::{Args, ValueEnum};
use serde_json::json;
use weir_server::limiter::acquire::{Availability, Lease};
use weir_server::limiter::shapes::{Limit, LimitName, LimitState};

use super::amounts::{amount, together};
use super::spec;
use crate::commands::api_context::{ApiContext, header, tokens, wait, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct AcquireArgs {
    /// Who asks
    entity: String,
    /// For what
    resource: String,
    /// How much of a limit, like rpm=1; may be given several times
    #[arg(long, value_name = "LIMIT=N", required = true, value_parser = amount)]
    take: Vec<(LimitName, i64)>,
    /// A limit that holds when none are set, like rpm=100/min; may be given several times
    #[arg(long, value_name = "SPEC", value_parser = spec::limit)]
    limit: Vec<Limit>,
    /// How long the lease can be settled
    #[arg(long, value_name = "SECS")]
    lease_ttl: Option<u64>,
    /// What becomes of the tokens when nobody settles the lease
    #[arg(long, value_enum, default_value_t = OnExpiry::Keep)]
    on_expiry: OnExpiry,
    /// Only look: take nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnExpiry {
    Keep,
    Rollback,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Who would ask
    entity: String,
    /// For what
    resource: String,
    /// An amount that the waiting time is for, like rpm=5; may be given several times
    #[arg(long, value_name = "LIMIT=N", value_parser = amount)]
    amount: Vec<(LimitName, i64)>,
}

pub(super) async fn acquire(context: &ApiContext<'_>, args: AcquireArgs) -> Result<(), Failure> {
    let on_expiry = match args.on_expiry {
        OnExpiry::Keep => "keep",
        OnExpiry::Rollback => "rollback",
    };
    let limits = (!args.limit.is_empty()).then_some(args.limit);
    let ask = json!({
        "entity": args.entity,
        "resource": args.resource,
        "consume": together(args.take)?,
        "limits": limits,
        "lease_ttl_secs": args.lease_ttl,
        "on_expiry": on_expiry,
        "dry_run": args.dry_run,
    });
    let lease: Lease = context.api.post(&context.path(&["acquire"]), &ask).await?;
    context.print(&lease, show)
}

/// The lease alone goes to stdout, so that a script can keep it.
fn show(lease: &Lease) -> std::io::Result<()> {
    if lease.degraded {
        output::note("the store could not be reached; nothing was taken");
    }
    match &lease.lease {
        Some(token) => {
            let until = lease.expires_at.as_deref().unwrap_or_default();
            output::note(format!("granted; the lease can be settled until {until}"));
            output::line(token)
        }
        None => table(&lease.limits),
    }
}

pub(super) async fn check(context: &ApiContext<'_>, args: CheckArgs) -> Result<(), Failure> {
    let amounts = together(args.amount)?;
    let amounts: Vec<_> = amounts.iter().map(|(name, amount)| format!("{name}:{amount}")).collect();
    let amounts = amounts.join(",");
    let of = [
        ("entity", Some(args.entity.as_str())),
        ("resource", Some(args.resource.as_str())),
        ("amounts", Some(amounts.as_str()).filter(|text| !text.is_empty())),
    ];
    let path = with_query(&context.path(&["availability"]), &of);
    let found: Availability = context.api.get(&path).await?;
    context.print(&found, |found| table(&found.limits))
}

fn table(limits: &[LimitState]) -> std::io::Result<()> {
    let rows = limits.iter().map(|limit| {
        vec![
            limit.entity.to_string(),
            limit.name.to_string(),
            tokens(limit.available),
            tokens(i64::try_from(limit.capacity).unwrap_or(i64::MAX)),
            tokens(limit.asked),
            wait(limit.retry_after_ms),
        ]
    });
    let names = ["entity", "limit", "available", "capacity", "asked", "there in"];
    output::table(header(names), rows, &[2, 3, 4, 5])
}
