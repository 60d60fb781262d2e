//! `weir practice migrate`: plans, users, problems, test cases, runs and usage from PostgreSQL, and back.

mod dual_write;
mod open;
mod show;
mod url;

use std::num::NonZeroU32;

use clap::{Args, Subcommand};
use indicatif::ProgressBar;
use weir_practice::migrate::{
    BackfillOptions, BackfillReport, Entity, Error, Migration, RollbackOptions, Scope,
};
use weir_table::AnyBackend;

use self::open::PracticeFlags;
use self::url::UrlFlags;
use crate::config::Loaded;
use crate::failure::Failure;
use crate::{output, progress};

const AFTER_HELP: &str = "\
Examples:
  export WEIR_MIGRATE_FROM=postgres://weir@db.example/algoitny?sslmode=require
  weir practice migrate backfill --dry-run        check every row, write nothing
  weir practice migrate backfill --rate 500       copy; the same command continues a copy that was cut off
  weir practice migrate validate --all            compare both sides field by field
  weir practice migrate dual-write                keep both sides equal until Ctrl-C
  weir practice migrate rollback --dry-run        what PostgreSQL lacks
  weir practice migrate status

Ids derive from the ids of rows, so copying a row twice changes nothing. \
docs/practice-migration.md is the guide. A server on the same embedded store must be stopped \
meanwhile.";

/// Flags of `weir practice migrate`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct MigrateArgs {
    #[command(flatten)]
    url: UrlFlags,
    #[command(flatten)]
    practice: PracticeFlags,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Copy rows that are not copied yet
    Backfill(BackfillArgs),
    /// Compare counts and a random sample of records, or all of them, field by field
    Validate(ValidateArgs),
    /// Keep both sides equal while either is written
    DualWrite(dual_write::DualWriteArgs),
    /// Write to PostgreSQL what only Weir has
    Rollback(RollbackArgs),
    /// Show how far the migration is
    Status,
}

#[derive(Debug, Args)]
struct BackfillArgs {
    /// Check every row, without writing
    #[arg(long)]
    dry_run: bool,
    /// Begin with the first row, whatever was copied before
    #[arg(long)]
    restart: bool,
    /// Replace records in Weir that differ, also those that were changed later
    #[arg(long)]
    overwrite: bool,
    /// Copy at most N rows per second, to limit the load on either side
    #[arg(long, value_name = "N")]
    rate: Option<NonZeroU32>,
}

#[derive(Debug, Args)]
struct ValidateArgs {
    /// Compare every record
    #[arg(long, conflicts_with_all = ["sample", "seed"])]
    all: bool,
    /// Rows of each table to compare
    #[arg(long, value_name = "ROWS", default_value_t = 100)]
    sample: u32,
    /// Seed of the sample; a random one by default
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Debug, Args)]
struct RollbackArgs {
    /// Show what would be written, without writing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the verb.
pub(super) async fn run(loaded: &Loaded, args: MigrateArgs, json: bool) -> Result<(), Failure> {
    let MigrateArgs { url, practice, verb } = args;
    let url = url.read()?;
    let writes_table = !matches!(&verb, Verb::Backfill(args) if args.dry_run);
    practice
        .with(loaded, writes_table, async |practice| {
            let migration = Migration::connect(&url, practice).await.map_err(failure)?;
            match verb {
                Verb::Backfill(args) => backfill(&migration, &args, json).await,
                Verb::Validate(args) => validate(&migration, &args, json).await,
                Verb::DualWrite(args) => dual_write::run(&migration, &args, json).await,
                Verb::Rollback(args) => rollback(&migration, &args, json).await,
                Verb::Status => {
                    Ok(show::status(&migration.status().await.map_err(failure)?, json)?)
                }
            }
        })
        .await
}

async fn backfill(
    migration: &Migration<AnyBackend>,
    args: &BackfillArgs,
    json: bool,
) -> Result<(), Failure> {
    let BackfillArgs { dry_run, restart, overwrite, rate } = *args;
    let options = BackfillOptions { dry_run, restart, overwrite, rate };
    let mut bar: Option<(Entity, ProgressBar)> = None;
    let copied = migration
        .backfill(&options, &mut |now| {
            if bar.as_ref().is_none_or(|(entity, _)| *entity != now.entity) {
                let title =
                    format!("{}: {}", now.entity, if dry_run { "checking" } else { "copying" });
                let next = (now.entity, progress::items(&title, Some(now.total)));
                if let Some((_, done)) = bar.replace(next) {
                    done.finish_and_clear();
                }
            }
            if let Some((_, bar)) = &bar {
                bar.set_position(now.done);
            }
        })
        .await;
    if let Some((_, bar)) = bar {
        bar.finish_and_clear();
    }
    let report = copied.map_err(|error| {
        failure(error).help("the same command continues where this one stopped")
    })?;
    show::backfill(&report, dry_run, json)?;
    refused(&report)
}

fn refused(report: &BackfillReport) -> Result<(), Failure> {
    match report.bad() {
        0 => Ok(()),
        bad => Err(Failure::differs(format!("{} cannot be copied", output::counted(bad, "row")))
            .help("correct them in PostgreSQL, then run backfill --restart")),
    }
}

async fn validate(
    migration: &Migration<AnyBackend>,
    args: &ValidateArgs,
    json: bool,
) -> Result<(), Failure> {
    let seed = args.seed.unwrap_or_else(|| u64::from(uuid::Uuid::new_v4().as_fields().0));
    let scope = if args.all { Scope::All } else { Scope::Sample { rows: args.sample, seed } };
    let bar = progress::items("comparing", None);
    let compared = migration.validate(scope, &mut |done| bar.set_position(done)).await;
    bar.finish_and_clear();
    let report = compared.map_err(failure)?;
    show::validate(&report, scope, json)?;
    match report.difference_count() {
        0 => Ok(()),
        count => Err(Failure::differs(output::counted(count, "difference")).help(
            "`weir practice migrate backfill --restart` copies rows that are missing or newer; \
             `rollback` writes back what only Weir has",
        )),
    }
}

async fn rollback(
    migration: &Migration<AnyBackend>,
    args: &RollbackArgs,
    json: bool,
) -> Result<(), Failure> {
    let options = RollbackOptions { dry_run: args.dry_run };
    let bar = progress::items("writing back", None);
    let written = migration.rollback(options, &mut |done| bar.set_position(done)).await;
    bar.finish_and_clear();
    let report = written.map_err(failure)?;
    show::rollback(&report, args.dry_run, json)?;
    match report.tables.iter().map(|(_, counts)| counts.refused).sum() {
        0 => Ok(()),
        refused => {
            let records = output::counted(refused, "record");
            Err(Failure::differs(format!("PostgreSQL refused {records}")))
        }
    }
}

/// The failure of a migration.
fn failure(error: Error) -> Failure {
    match error {
        Error::Url(_) => Failure::usage(error.to_string()),
        Error::Unreachable(_) => Failure::fault(error.to_string())
            .help("check the URL, the network and sslmode, then try again"),
        Error::Refused { .. } => Failure::fault(error.to_string()),
        Error::Practice(weir_practice::Error::Store(error)) => error.into(),
        Error::Practice(error) if error.is_unavailable() => Failure::fault(error.to_string()),
        error => Failure::refused(error.to_string()),
    }
}
