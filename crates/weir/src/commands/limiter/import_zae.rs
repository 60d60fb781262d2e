//! `weir limiter import-zae`: a table of zae-limiter, copied into Weir's own.

use clap::Args;
use weir_limiter::Limiter;
use weir_limiter::import::{Counts, Import, ImportOptions, Kind, Report};
use weir_limiter::settings::{Compat, Settings};
use weir_table::clock::Clock;
use weir_table::{AnyBackend, Store};

use crate::config::Loaded;
use crate::failure::Failure;
use crate::store_location::{Missing, StoreLocation};
use crate::tables::Tables;
use crate::{output, progress};

const AFTER_HELP: &str = "\
Examples:
  weir limiter import-zae --from 'dynamodb:?region=eu-central-1' --table my-stack --dry-run
  weir limiter import-zae --from dynamodb:http://localhost:8000 --table my-stack --history

The source is a table of zae-limiter of any release. Namespaces, entities, limits and the live \
balances of buckets are created where they are missing, so the same command can run again: it \
continues where it stopped, and changes nothing that exists. What Weir cannot express is listed, \
and the exit code is 4.

Stop the programs that use the source first, and a Weir server on the same embedded store.";

/// The actor of the import in the audit trail.
const ACTOR: &str = "weir limiter import-zae";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ImportZaeArgs {
    /// Store of the table, for example dynamodb:?region=eu-central-1
    #[arg(long, value_name = "STORE")]
    from: StoreLocation,
    /// Table of zae-limiter, which it calls the stack
    #[arg(long, value_name = "NAME")]
    table: String,
    /// Import usage and audit events too
    #[arg(long)]
    history: bool,
    /// Show what an import would do, without writing
    #[arg(long)]
    dry_run: bool,
}

/// Imports into the configured store.
pub(super) async fn run(loaded: &Loaded, args: ImportZaeArgs, json: bool) -> Result<(), Failure> {
    let location = StoreLocation::of(&loaded.config.store);
    let limiter = &loaded.config.limiter;
    if Compat::from(limiter.compat) == Compat::Zae {
        return Err(Failure::usage("limiter.compat is \"zae\", so Weir has no table of its own")
            .help("import with limiter.compat = \"own\" and another limiter.table"));
    }
    if location == args.from && limiter.table == args.table {
        return Err(Failure::usage("the table is the one to import into")
            .help("set limiter.table to another name"));
    }
    let from = args.from.clone().bounded(&loaded.config.store);
    let report = from
        .with(Missing::Refuse, async |source| {
            let source = own(source, "the store to import from")?;
            location
                .with(Missing::Create, async |tables| {
                    let to = own(tables, "the store to import into")?;
                    import(source, to, &limiter.table, &args).await
                })
                .await
        })
        .await?;
    show(&report, args.dry_run, json)?;
    match report.refused() {
        0 => Ok(()),
        refused => Err(Failure::differs(format!(
            "{} could not be imported",
            output::counted(refused, "item")
        ))
        .help("the table above says why; create what they mean by hand, or leave them out")),
    }
}

/// A store that this process opened.
fn own(tables: &Tables, name: &str) -> Result<Store<AnyBackend>, Failure> {
    match tables {
        Tables::Own(store) => Ok(store.clone()),
        Tables::Server(_) => Err(Failure::refused(format!("a server has {name} open"))
            .help("stop it for the import, and start it again afterwards")),
    }
}

async fn import(
    source: Store<AnyBackend>,
    to: Store<AnyBackend>,
    table: &str,
    args: &ImportZaeArgs,
) -> Result<Report, Failure> {
    // No lease is issued, so their key does not matter.
    let settings =
        Settings { table: table.to_owned(), ..Settings::new(to.backend().is_shared(), [0; 32]) };
    let limiter = match args.dry_run {
        true => Limiter::new(to, Clock::System, settings),
        false => Limiter::open(to, Clock::System, settings).await.map_err(failure)?,
    };
    let options =
        ImportOptions { history: args.history, dry_run: args.dry_run, actor: ACTOR.to_owned() };
    let bar = progress::items(&format!("{}: reading", args.table), None);
    let report =
        Import::new(source, &args.table, limiter, options).run(|items| bar.inc(items)).await;
    bar.finish_and_clear();
    report.map_err(failure)
}

fn failure(error: weir_limiter::Error) -> Failure {
    match error {
        weir_limiter::Error::Store(error) => error.into(),
        error => Failure::refused(error.to_string()),
    }
}

fn show(report: &Report, dry_run: bool, json: bool) -> std::io::Result<()> {
    if json {
        return output::json(report);
    }
    if dry_run {
        output::note("a dry run: nothing is written");
    }
    let header = ["kind", "imported", "unchanged", "not imported"].map(str::to_owned);
    let rows = report.counts.iter().map(|(kind, counts)| {
        let Counts { imported, unchanged, refused } = *counts;
        let numbers = [imported, unchanged, refused].map(output::thousands);
        std::iter::once(kind_name(*kind).to_owned()).chain(numbers).collect()
    });
    output::table(header.into(), rows, &[1, 2, 3])?;
    if report.problems.is_empty() {
        return Ok(());
    }
    let header = ["namespace", "not imported", "why"].map(str::to_owned);
    let rows = report.problems.iter().map(|problem| {
        [&problem.namespace, &problem.item, &problem.problem]
            .map(|text| output::printable(text))
            .into()
    });
    output::table(header.into(), rows, &[])
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Namespace => "namespaces",
        Kind::Entity => "entities",
        Kind::Level => "levels of limits",
        Kind::Bucket => "buckets",
        Kind::Usage => "usage snapshots",
        Kind::Audit => "audit events",
        Kind::Other => "others",
    }
}
