//! `weir copy`: whole tables from one store to another.
//!
//! 1. Check the destination, before any write: refuse a table with another schema or with other items.
//! 2. Create each table at the destination and copy its items page by page; store the [`position`] there after each
//!    page.
//! 3. Read both sides again and compare their [`digest`]s.
//!
//! If the destination has items of a table that do not come from an unfinished copy, the tables are only compared. A
//! difference is refused, unless `--overwrite` is given.

mod digest;
mod position;
mod retry;
mod transfer;

use clap::Args;
use serde::Serialize;
use weir_framework::auth::keys;
use weir_framework::jobs::JOBS_TABLE;
use weir_framework::security::keys::SECURITY_LOG;
use weir_table::clock::Clock;
use weir_table::feed::POSITIONS_TABLE;
use weir_table::{Item, Query, TableSpec};

use self::digest::Digest;
use self::position::{Position, Stage};
use crate::config::{Given, Source};
use crate::failure::Failure;
use crate::store_location::{Folder, Missing, StoreLocation};
use crate::tables::Tables;
use crate::{output, progress};

const AFTER_HELP: &str = "\
Stores:
  embedded:DIR                                     a folder on this machine
  dynamodb:                                        AWS; region and credentials from its settings
  dynamodb:?region=eu-central-1&prefix=prod-       the same with a region and a table prefix
  dynamodb:http://localhost:8000?prefix=test-      any endpoint with DynamoDB's API

Examples:
  weir copy --from embedded:./weir-data --to 'dynamodb:?region=eu-central-1&prefix=prod-'
  weir copy --from dynamodb:http://localhost:8000 --to embedded:./copy --tables orders,customers
  weir copy --from embedded:./weir-data --to dynamodb: --rate 500

A copy that was interrupted continues when the same command runs again: the destination stores \
the position in the table weir-copy-position, which is deleted at the end. At the end both sides \
are read and compared by count and checksum. With exit code 4 the message lists the tables that \
differ; running the command again copies those tables again. Stop writers to the source first.

The tables of the installation itself are not copied: the security log, the leases of jobs and \
the positions in the change feed. Of weir-edge the revocations are copied, and the admin key is \
not.

Expired items (by the table's ttl attribute) are not copied. Items that expire within the next \
hour are not compared, because each store deletes expired items at its own time.";

/// Items that expire within this time after the start of the comparison are not compared.
const EXPIRING_S: i64 = 3600;

/// Flags of `weir copy`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CopyArgs {
    /// Store to copy from
    #[arg(long, value_name = "STORE")]
    from: StoreLocation,
    /// Store to copy to
    #[arg(long, value_name = "STORE")]
    to: StoreLocation,
    /// Copy only these tables
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    tables: Option<Vec<String>>,
    /// Copy at most N items per second, to limit the load on a store in use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Overwrite items at the destination
    #[arg(long)]
    overwrite: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One run of the command.
struct Copy<'a> {
    from: &'a Tables,
    to: &'a Tables,
    /// The source, as stored in positions.
    source: String,
    /// Start of the copy, in seconds since 1970.
    now_s: i64,
    args: &'a CopyArgs,
}

/// Copies and compares.
pub(crate) async fn run(args: CopyArgs, source: &Source) -> Result<(), Failure> {
    let store = source.load(&Given::default())?.config.store;
    let (from, to) = (absolute(&args.from)?.bounded(&store), absolute(&args.to)?.bounded(&store));
    if from == to {
        return Err(Failure::usage("--from and --to are the same store"));
    }
    let reports = from
        .with(Missing::Refuse, async |from_tables| {
            to.with(Missing::Create, async |to_tables| {
                let copy = Copy {
                    from: from_tables,
                    to: to_tables,
                    source: from.to_string(),
                    now_s: now_s(),
                    args: &args,
                };
                copy.run().await
            })
            .await
        })
        .await?;
    show(&reports, args.json)?;
    let differing: Vec<_> = reports.iter().filter(|report| !report.verified()).collect();
    if differing.is_empty() {
        return Ok(());
    }
    let failure = Failure::differs("the destination is not the same as the source");
    let failure =
        differing.iter().fold(failure, |failure, report| failure.because(report.difference()));
    Err(failure.help(
        "the source may have changed during the copy; stop its writers and run the same command again: \
         it copies these tables anew. Items that only the destination has stay there",
    ))
}

/// The location with the canonical path of its folder.
fn absolute(location: &StoreLocation) -> Result<StoreLocation, Failure> {
    let StoreLocation::Embedded(folder) = location else {
        return Ok(location.clone());
    };
    let named = &folder.path;
    // A folder that does not exist yet has no canonical path.
    let path = std::fs::canonicalize(named).or_else(|_| std::path::absolute(named));
    let path = path.map_err(|error| {
        Failure::usage(format!("{} is not a folder", named.display())).because(error)
    })?;
    Ok(StoreLocation::Embedded(Folder { path, ..folder.clone() }))
}

fn now_s() -> i64 {
    i64::try_from(Clock::System.now_ms() / 1000).unwrap_or(i64::MAX)
}

/// The first step for a table.
enum Begin {
    /// Copy, from this position.
    At(Position),
    /// Nothing: the destination has the same items already.
    Done(Report),
}

/// The result for one table.
struct Report {
    table: String,
    /// Items that this run copied.
    copied: u64,
    source: Digest,
    destination: Digest,
}

impl Report {
    fn verified(&self) -> bool {
        self.source.same(&self.destination)
    }

    fn difference(&self) -> String {
        let side = |digest: &Digest| {
            let (items, bytes) = (digest.items, digest.bytes);
            format!(
                "{}, {}, checksum {}",
                output::counted(items, "item"),
                output::counted(bytes, "byte"),
                digest.checksum()
            )
        };
        format!(
            "table {:?}: the source has {}; the destination has {}",
            self.table,
            side(&self.source),
            side(&self.destination)
        )
    }
}

/// Tables that belong to the installation itself: its security log, the leases of its jobs, and the positions of its feed
/// consumers.
const OF_THE_INSTALLATION: [&str; 3] = [SECURITY_LOG, JOBS_TABLE, POSITIONS_TABLE];

/// Whether an item belongs to the installation itself: its admin key. The other items beside it are revocations, without
/// which the destination would accept tokens that the source refuses.
fn is_of_the_installation(spec: &TableSpec, item: &Item) -> bool {
    spec.name == keys::EDGE && item.s(keys::PK) == Some(keys::ADMIN)
}

impl Copy<'_> {
    async fn run(&self) -> Result<Vec<Report>, Failure> {
        let there = self.to.names().await?;
        let mut begun = Vec::new();
        // All checks come before the first write.
        for name in self.names().await? {
            let spec = self.from.spec(&name).await?;
            let begin = if there.contains(&name) {
                self.begin(&spec).await?
            } else {
                Begin::At(Position::start(&name, &self.source))
            };
            begun.push((spec, begin));
        }
        position::prepare(self.to).await?;
        let mut reports = Vec::new();
        for (spec, begin) in begun {
            reports.push(match begin {
                Begin::At(position) => self.table(&spec, position).await?,
                Begin::Done(report) => report,
            });
        }
        if reports.iter().all(Report::verified) {
            position::finish(self.to).await?;
        }
        Ok(reports)
    }

    /// The tables to copy.
    async fn names(&self) -> Result<Vec<String>, Failure> {
        let mut there = self.from.names().await?;
        there.retain(|name| name != position::TABLE);
        let Some(wanted) = &self.args.tables else {
            // With `--tables` they are copied too.
            there.retain(|name| !OF_THE_INSTALLATION.contains(&name.as_str()));
            return Ok(there);
        };
        match wanted.iter().find(|name| !there.contains(name)) {
            None => Ok(wanted.clone()),
            Some(name) => Err(Failure::refused(format!("no table {name:?} at the source"))
                .help(format!("tables at the source: {}", there.join(", ")))),
        }
    }

    /// The first step for a table that exists at the destination.
    async fn begin(&self, spec: &TableSpec) -> Result<Begin, Failure> {
        let name = &spec.name;
        self.to.verify(spec).await?;
        match Position::load(self.to, name).await? {
            Some(position) if position.from == self.source => {
                if position.items > 0 && position.stage == Stage::Copying {
                    let items = output::counted(position.items, "item");
                    output::note(format!("{name}: continuing after {items}"));
                }
                return Ok(Begin::At(position));
            }
            Some(position) if !self.args.overwrite => {
                let message = format!("table {name:?} is being copied from {}", position.from);
                return Err(Failure::refused(message)
                    .help("finish that copy first, or start again with --overwrite"));
            }
            _ => {}
        }
        // There is one item of the installation at most.
        let first = self.to.query(&Query::scan(name.as_str()).limit(2)).await?;
        let is_empty = first.items.iter().all(|item| is_of_the_installation(spec, item));
        if is_empty || self.args.overwrite {
            return Ok(Begin::At(Position::start(name, &self.source)));
        }
        self.compare_only(spec).await.map(Begin::Done)
    }

    /// Compares a table whose items do not come from an unfinished copy.
    async fn compare_only(&self, spec: &TableSpec) -> Result<Report, Failure> {
        let name = &spec.name;
        output::note(format!("{name}: has items at the destination; comparing"));
        let report = self.compare(spec, 0).await?;
        if report.verified() {
            return Ok(report);
        }
        let message = format!("table {name:?} has other items at the destination");
        Err(Failure::refused(message).because(report.difference()).help(
            "nothing was written; copy to an empty store or another prefix, \
             or write over them with --overwrite",
        ))
    }

    /// Copies one table, from its position on.
    async fn table(&self, spec: &TableSpec, mut position: Position) -> Result<Report, Failure> {
        self.to.create(spec).await?;
        position.save(self.to).await?;
        let mut copied = 0;
        if position.stage == Stage::Copying {
            copied = self.transfer(spec, &mut position).await?;
        }
        let report = self.compare(spec, copied).await?;
        if !report.verified() {
            Position::start(&spec.name, &self.source).save(self.to).await?;
        }
        Ok(report)
    }

    /// Reads both sides completely.
    async fn compare(&self, spec: &TableSpec, copied: u64) -> Result<Report, Failure> {
        let horizon_s = now_s().saturating_add(EXPIRING_S);
        let bar = progress::items(&format!("{}: comparing", spec.name), None);
        let seen = |items| bar.inc(items);
        let (source, destination) = tokio::join!(
            digest::of_table(self.from, spec, horizon_s, seen),
            digest::of_table(self.to, spec, horizon_s, seen),
        );
        bar.finish_and_clear();
        Ok(Report { table: spec.name.clone(), copied, source: source?, destination: destination? })
    }
}

/// A report for programs.
#[derive(Serialize)]
struct JsonReport<'a> {
    table: &'a str,
    copied: u64,
    items: u64,
    bytes: u64,
    checksum: String,
    expiring: u64,
    verified: bool,
}

fn show(reports: &[Report], json: bool) -> std::io::Result<()> {
    if json {
        return output::list(reports.iter().map(json_report).collect());
    }
    if reports.is_empty() {
        return output::line("the source has no tables");
    }
    let header = ["table", "copied", "items", "bytes", "checksum", "verified"].map(str::to_owned);
    let rows = reports.iter().map(|report| {
        vec![
            report.table.clone(),
            output::thousands(report.copied),
            output::thousands(report.source.items),
            output::thousands(report.source.bytes),
            report.source.checksum(),
            if report.verified() { "yes" } else { "NO" }.to_owned(),
        ]
    });
    output::table(header.into(), rows, &[1, 2, 3])
}

fn json_report(report: &Report) -> JsonReport<'_> {
    JsonReport {
        table: &report.table,
        copied: report.copied,
        items: report.source.items,
        bytes: report.source.bytes,
        checksum: report.source.checksum(),
        expiring: report.source.expired,
        verified: report.verified(),
    }
}
