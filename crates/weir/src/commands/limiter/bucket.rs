//! `weir limiter bucket`: live buckets.

use clap::{Args, Subcommand};
use serde::Serialize;
use weir_api::limiter::{BucketResponse, CapacityResponse, TopUpRequest};
use weir_api::page::{LIMIT_MAX, Page, PageParams};

use super::amounts::{self, amount};
use super::idempotency::IdempotencyArgs;
use crate::commands::api_context::{ApiContext, header, tokens, with_params};
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List the live buckets of an entity
    List(EntityArgs),
    /// Fill a bucket up to its capacity
    Reset(BucketArgs),
    /// Add tokens to a bucket, up to its capacity
    TopUp(TopUpArgs),
    /// List the live buckets of a resource, with their sums
    Capacity(CapacityArgs),
}

#[derive(Debug, Args)]
pub(super) struct EntityArgs {
    /// Entity that the buckets belong to, for example user-1
    entity: String,
}

#[derive(Debug, Args)]
pub(super) struct BucketArgs {
    /// Entity that the bucket belongs to, for example user-1
    entity: String,
    /// Resource that the bucket limits, for example gpt-4
    resource: String,
    #[command(flatten)]
    idempotency: IdempotencyArgs,
}

#[derive(Debug, Args)]
pub(super) struct TopUpArgs {
    #[command(flatten)]
    bucket: BucketArgs,
    /// Tokens to add to a limit, for example rpm=10; repeatable
    #[arg(long, value_name = "LIMIT=N", required = true, value_parser = amount)]
    amount: Vec<(String, i64)>,
}

#[derive(Debug, Args)]
pub(super) struct CapacityArgs {
    /// Resource that the buckets limit, for example gpt-4
    resource: String,
    /// Cursor of the next page, as the page before printed it
    #[arg(long)]
    cursor: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(args) => {
            let path = context.path(&["entities", &args.entity, "buckets"]);
            let buckets: Page<BucketResponse> = context.api.get(&path).await?;
            context.print_all(buckets.items, table)
        }
        Verb::Reset(args) => operate(context, &args, "reset", &()).await,
        Verb::TopUp(args) => {
            let request = TopUpRequest { amounts: amounts::collect(args.amount)? };
            operate(context, &args.bucket, "top-up", &request).await
        }
        Verb::Capacity(args) => {
            let path = context.path(&["resources", &args.resource, "capacity"]);
            let params = PageParams { limit: Some(LIMIT_MAX), cursor: args.cursor };
            let capacity: CapacityResponse = context.api.get(&with_params(&path, &params)?).await?;
            context.print(&capacity, show_capacity)
        }
    }
}

/// Sends an operation on a bucket, and prints the bucket after it.
async fn operate(
    context: &ApiContext<'_>,
    args: &BucketArgs,
    operation: &str,
    request: &(impl Serialize + Sync),
) -> Result<(), Failure> {
    let path = context.path(&["entities", &args.entity, "buckets", &args.resource, operation]);
    let bucket: BucketResponse =
        context.api.post_once(&path, request, args.idempotency.key()).await?;
    context.print(&bucket, |bucket| table(std::slice::from_ref(bucket)))
}

fn table(buckets: &[BucketResponse]) -> std::io::Result<()> {
    let limits = buckets.iter().flat_map(|bucket| {
        bucket.limits.iter().map(move |limit| {
            vec![
                bucket.entity.clone(),
                bucket.resource.clone(),
                limit.name.clone(),
                tokens(limit.available),
                output::thousands(limit.capacity),
                tokens(limit.consumed),
                time::wait(limit.full_in_ms),
                bucket.shards.to_string(),
            ]
        })
    });
    let names =
        ["entity", "resource", "limit", "available", "capacity", "consumed", "full in", "shards"];
    output::table(header(names), limits, &[3, 4, 5, 6, 7])
}

fn show_capacity(capacity: &CapacityResponse) -> std::io::Result<()> {
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
        output::note(format!("there are more buckets: --cursor {cursor}"));
    }
    Ok(())
}
