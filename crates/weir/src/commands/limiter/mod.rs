//! `weir limiter`: rate limits from the command line. Every verb but `import-zae` is a call of the API.

mod acquire;
mod amounts;
mod audit;
mod bucket;
mod entity;
mod idempotency;
mod import_zae;
mod lease;
mod level;
mod limits;
mod limits_file;
mod namespace;
mod plan;
mod plot;
mod spec;
mod usage;

use clap::{Args, Subcommand};

use crate::api::{Api, ApiFlags};
use crate::commands::api_context::{ApiContext, below, one_of};
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

A limit is NAME=AMOUNT/PERIOD: its bucket refills AMOUNT tokens every PERIOD (s, min, h, day, or \
90s, 5min) and holds AMOUNT tokens at most, or N with `,burst=N`.";

/// Flags of `weir limiter`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct LimiterArgs {
    #[command(subcommand)]
    verb: Verb,
    /// Namespace to work in, for example acme
    #[arg(long, value_name = "NAME", global = true, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create, show, list and delete entities: the users, keys or projects that are limited
    #[command(subcommand)]
    Entity(entity::Verb),
    /// Set, show and remove limits, one by one or from a file
    #[command(subcommand)]
    Limits(limits::Verb),
    /// Show usage by hour, day or month
    Usage(usage::UsageArgs),
    /// Show the audit log
    Audit(audit::AuditArgs),
    /// Create, show, delete, recover and purge namespaces
    #[command(subcommand)]
    Namespace(namespace::Verb),
    /// Show live buckets, reset them or add tokens
    #[command(subcommand)]
    Bucket(bucket::Verb),
    /// Show the available tokens without taking any
    Check(acquire::CheckArgs),
    /// Take tokens and print the lease
    Acquire(acquire::AcquireArgs),
    /// Adjust, commit, release or roll back a lease
    #[command(subcommand)]
    Lease(lease::Verb),
    /// Copy a table of zae-limiter into Weir's own
    ImportZae(import_zae::ImportZaeArgs),
}

/// Runs the verb.
pub(crate) async fn run(args: LimiterArgs, source: &Source) -> Result<(), Failure> {
    let loaded = args.api.load(source)?;
    if let Verb::ImportZae(verb) = args.verb {
        return import_zae::run(&loaded.local()?, verb, args.api.json).await;
    }
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
            // It works on stores, and has run already.
            Verb::ImportZae(_) => Ok(()),
        }
    })
    .await
}

/// A path in a namespace; its parts are escaped.
fn namespace_path(namespace: &str, parts: &[&str]) -> String {
    below(&below("/v1/namespaces", &[namespace]), parts)
}
