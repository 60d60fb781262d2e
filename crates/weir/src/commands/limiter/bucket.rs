//! `weir limiter bucket`: live buckets.

use clap::{Args, Subcommand};
use serde::Serialize;
use weir_framework::page::Page;
use weir_server::limiter::buckets::{Bucket, Capacity, TopUp};
use weir_server::limiter::shapes::LimitName;

use super::amounts::{amount, together};
use super::once::OnceArgs;
use crate::commands::api_context::{ApiContext, header, tokens, wait, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List the live buckets of an entity
    List(EntityArgs),
    /// Fill a bucket up
    Reset(BucketArgs),
    /// Give a bucket tokens, at most up to its capacity
    TopUp(TopUpArgs),
    /// Show the live buckets of a resource
    Capacity(CapacityArgs),
}

#[derive(Debug, Args)]
pub(super) struct EntityArgs {
    /// The entity
    entity: String,
}

#[derive(Debug, Args)]
pub(super) struct BucketArgs {
    /// The entity
    entity: String,
    /// The resource
    resource: String,
    #[command(flatten)]
    once: OnceArgs,
}

#[derive(Debug, Args)]
pub(super) struct TopUpArgs {
    #[command(flatten)]
    bucket: BucketArgs,
    /// How much of a limit, like rpm=10; may be given several times
    #[arg(long, value_name = "LIMIT=N", required = true, value_parser = amount)]
    amount: Vec<(LimitName, i64)>,
}

#[derive(Debug, Args)]
pub(super) struct CapacityArgs {
    /// The resource
    resource: String,
    /// Where to go on, as the part before said
    #[arg(long)]
    cursor: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(args) => {
            let path = context.path(&["entities", &args.entity, "buckets"]);
            let buckets: Page<Bucket> = context.api.get(&path).await?;
            context.print(&buckets.items, |buckets| table(buckets))
        }
        Verb::Reset(args) => operate(context, &args, "reset", &()).await,
        Verb::TopUp(args) => {
            let body = TopUp { amounts: together(args.amount)? };
            operate(context, &args.bucket, "top-up", &body).await
        }
        Verb::Capacity(args) => {
            let path = context.path(&["resources", &args.resource, "capacity"]);
            let parameters = [("limit", Some("100")), ("cursor", args.cursor.as_deref())];
            let capacity: Capacity = context.api.get(&with_query(&path, &parameters)).await?;
            context.print(&capacity, show_capacity)
        }
    }
}

/// Does something to a bucket, and shows what it is then.
async fn operate(
    context: &ApiContext<'_>,
    args: &BucketArgs,
    verb: &str,
    body: &(impl Serialize + Sync),
) -> Result<(), Failure> {
    let path = context.path(&["entities", &args.entity, "buckets", &args.resource, verb]);
    let bucket: Bucket = context.api.post_once(&path, body, args.once.key()).await?;
    context.print(&bucket, |bucket| table(std::slice::from_ref(bucket)))
}

fn table(buckets: &[Bucket]) -> std::io::Result<()> {
    let limits = buckets.iter().flat_map(|bucket| {
        bucket.limits.iter().map(move |limit| {
            vec![
                bucket.entity.to_string(),
                bucket.resource.to_string(),
                limit.name.to_string(),
                tokens(limit.available),
                tokens(i64::try_from(limit.capacity).unwrap_or(i64::MAX)),
                tokens(limit.consumed),
                wait(limit.full_in_ms),
                bucket.shards.to_string(),
            ]
        })
    });
    let names =
        ["entity", "resource", "limit", "available", "capacity", "consumed", "full in", "shards"];
    output::table(header(names), limits, &[3, 4, 5, 6, 7])
}

fn show_capacity(capacity: &Capacity) -> std::io::Result<()> {
    table(&capacity.items)?;
    for limit in &capacity.limits {
        output::line(format!(
            "{}: {} of {} available",
            limit.name,
            tokens(limit.available),
            tokens(limit.capacity)
        ))?;
    }
    if let Some(cursor) = &capacity.next_cursor {
        output::note(format!("there is more: --cursor {cursor}"));
    }
    Ok(())
}
