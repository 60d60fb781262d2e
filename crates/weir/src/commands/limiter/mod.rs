//! `weir limiter`: rate limits, from the command line. Every verb is a call of the API.

mod acquire;
mod amounts;
mod audit;
mod bucket;
mod entity;
mod lease;
mod level;
mod limits;
mod namespace;
mod once;
mod plan;
mod plot;
mod spec;
mod usage;
mod wanted;

use clap::{Args, Subcommand};

use crate::api::{Api, ApiFlags};
use crate::commands::api_context::{ApiContext, below};
use crate::config::Source;
use crate::failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  weir limiter limits set --system --limit rpm=100/min --limit tpm=10000/min,burst=20000
  weir limiter limits set --entity user-1 --resource gpt-4 --limit rpm=5/s
  weir limiter acquire user-1 gpt-4 --take rpm=1 --take tpm=500
  weir limiter check user-1 gpt-4
  weir limiter limits plan limits.yaml
  weir limiter usage --entity user-1 --plot

A limit is NAME=AMOUNT/PERIOD: AMOUNT tokens come back every PERIOD (s, min, h, day, or 90s, 5min), and as
many can be there at once unless `,burst=N` says otherwise.";

/// Flags of `weir limiter`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct LimiterArgs {
    #[command(subcommand)]
    verb: Verb,
    /// The namespace to work in
    #[arg(long, value_name = "NAME", global = true, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make, show, list and remove entities: those who are limited
    #[command(subcommand)]
    Entity(entity::Verb),
    /// Set, show and remove limits, one by one or from a file
    #[command(subcommand)]
    Limits(limits::Verb),
    /// Show what was used
    Usage(usage::UsageArgs),
    /// Show who changed what
    Audit(audit::AuditArgs),
    /// Make, show, delete, recover and purge namespaces
    #[command(subcommand)]
    Namespace(namespace::Verb),
    /// Look at live buckets, fill them up
    #[command(subcommand)]
    Bucket(bucket::Verb),
    /// Tell what is available, without taking any
    Check(acquire::CheckArgs),
    /// Take tokens and print the lease
    Acquire(acquire::AcquireArgs),
    /// Adjust, commit, release or roll back a lease
    #[command(subcommand)]
    Lease(lease::Verb),
}

/// Runs the verb.
pub(crate) async fn run(args: LimiterArgs, source: &Source) -> Result<(), Failure> {
    let loaded = args.api.load(source)?;
    Api::with(&loaded, async |api| {
        let context = ApiContext::new(api, namespace_path(&args.namespace, &[]), args.api.json);
        match args.verb {
            Verb::Entity(verb) => entity::run(&context, verb).await,
            Verb::Limits(verb) => limits::run(&context, verb).await,
            Verb::Usage(args) => usage::run(&context, args).await,
            Verb::Audit(args) => audit::run(&context, args).await,
            Verb::Namespace(verb) => namespace::run(&context, verb).await,
            Verb::Bucket(verb) => bucket::run(&context, verb).await,
            Verb::Check(args) => acquire::check(&context, args).await,
            Verb::Acquire(args) => acquire::acquire(&context, args).await,
            Verb::Lease(verb) => lease::run(&context, verb).await,
        }
    })
    .await
}

/// A path in a namespace; its parts are escaped.
fn namespace_path(namespace: &str, parts: &[&str]) -> String {
    below(&below("/v1/namespaces", &[namespace]), parts)
}
