//! `weir copy`: whole tables from one store to another.
//!
//! 1. What can be refused is refused: a table there with another shape, or with other items.
//! 2. A table is made at the destination and its items are copied page by page; the [`position`]
//!    is kept there after each page.
//! 3. Both sides are read once more and compared by their [`digest`].
//!
//! A table that has items at the destination which no unfinished copy brought there is only
//! compared: the same is success, anything else is refused, unless `--overwrite` is given.

mod digest;
mod position;
mod retry;
mod transfer;

use clap::Args;
use serde::Serialize;
use weir_framework::auth::keys;
use weir_framework::jobs::JOBS_TABLE;
use weir_table::clock::Clock;
use weir_table::feed::POSITIONS_TABLE;
use weir_table::{Query, TableSpec};

use self::digest::Digest;
use self::position::{Position, Stage};
use crate::failure::Failure;
use crate::place::{Missing, Place};
use crate::tables::Tables;
use crate::{output, progress};

const AFTER_HELP: &str = "\
A store is written
  embedded:DIR                                     a folder on this machine
  dynamodb:                                        AWS, with region and credentials as usual
  dynamodb:?region=eu-central-1&prefix=prod-       the same with a region and a table prefix
  dynamodb:http://localhost:8000?prefix=test-      any endpoint that speaks DynamoDB

Examples:
  weir copy --from embedded:./weir-data --to 'dynamodb:?region=eu-central-1&prefix=prod-'
  weir copy --from dynamodb:http://localhost:8000 --to embedded:./copy --tables orders,customers
  weir copy --from embedded:./weir-data --to dynamodb: --rate 500

A copy that was stopped goes on where it stopped when the same command is run again: how far it came
is kept at the destination, in the table weir-copy-position, which is removed at the end. At the end
both sides are read and compared by count and checksum; exit code 4 names the tables that differ,
and running the command again copies those anew. Stop writers to the source first.

Items whose expiry (the table's ttl attribute) has passed are not copied, and those that expire
within the next hour are not compared, because each store removes them when it likes.";

/// Items that expire so soon after the comparison began are left out of it.
const EXPIRING_S: i64 = 3600;

/// Flags of `weir copy`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CopyArgs {
    /// The store to copy from
    #[arg(long, value_name = "STORE")]
    from: Place,
    /// The store to copy to
    #[arg(long, value_name = "STORE")]
    to: Place,
    /// Only these tables
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    tables: Option<Vec<String>>,
    /// Copy at most N items a second, to spare a store that is in use
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rate: Option<u32>,
    /// Write over items that are at the destination already
    #[arg(long)]
    overwrite: bool,
    /// Answer with JSON
    #[arg(long)]
    json: bool,
}

/// One run of the command.
struct Copy<'a> {
    from: &'a Tables,
    to: &'a Tables,
    /// The source as positions name it.
    source: String,
    /// Seconds since 1970 when the copy began.
    now_s: i64,
    args: &'a CopyArgs,
}

/// Copies and compares.
pub(crate) async fn run(args: CopyArgs) -> Result<(), Failure> {
    let (from, to) = (absolute(&args.from)?, absolute(&args.to)?);
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
        "was the source written to meanwhile? Stop its writers and run the same command again: \
         it copies these tables anew. Items that only the destination has stay there",
    ))
}

/// The place with its folder as every process names it.
fn absolute(place: &Place) -> Result<Place, Failure> {
    let Place::Embedded(folder) = place else {
        return Ok(place.clone());
    };
    // A folder that is not there yet has no canonical name.
    let named = std::fs::canonicalize(folder).or_else(|_| std::path::absolute(folder));
    named.map(Place::Embedded).map_err(|error| {
        Failure::usage(format!("{} is no folder", folder.display())).because(error)
    })
}

fn now_s() -> i64 {
    i64::try_from(Clock::System.now_ms() / 1000).unwrap_or(i64::MAX)
}

/// How a table begins.
enum Begin {
    /// With copying, from here.
    At(Position),
    /// With nothing to do: it is there already, and the same.
    Done(Report),
}

/// What came of one table.
struct Report {
    table: String,
    /// Items this run copied.
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

/// Tables that belong to a store and not to what is in it: its keys, the leases of its jobs, and how
/// far readers have come in its log.
const OF_THE_STORE: [&str; 3] = [keys::EDGE, JOBS_TABLE, POSITIONS_TABLE];

impl Copy<'_> {
    async fn run(&self) -> Result<Vec<Report>, Failure> {
        let there = self.to.names().await?;
        let mut begun = Vec::new();
        // Everything that can be refused is refused before anything is written.
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
            // Asked for by name, they are copied too.
            there.retain(|name| !OF_THE_STORE.contains(&name.as_str()));
            return Ok(there);
        };
        match wanted.iter().find(|name| !there.contains(name)) {
            None => Ok(wanted.clone()),
            Some(name) => Err(Failure::refused(format!("no table {name:?} at the source"))
                .help(format!("there are: {}", there.join(", ")))),
        }
    }

    /// Where to begin with a table that is at the destination already.
    async fn begin(&self, spec: &TableSpec) -> Result<Begin, Failure> {
        let name = &spec.name;
        self.to.verify(spec).await?;
        match Position::load(self.to, name).await? {
            Some(position) if position.from == self.source => {
                if position.items > 0 && position.stage == Stage::Copying {
                    let items = output::counted(position.items, "item");
                    output::note(format!("{name}: going on after {items}"));
                }
                return Ok(Begin::At(position));
            }
            Some(position) if !self.args.overwrite => {
                let message = format!("table {name:?} is being copied from {}", position.from);
                return Err(Failure::refused(message)
                    .help("finish that copy first, or start anew from here with --overwrite"));
            }
            _ => {}
        }
        let first = Query::scan(name.as_str()).limit(1);
        let is_empty = self.to.query(&first).await?.scanned == 0;
        if is_empty || self.args.overwrite {
            return Ok(Begin::At(Position::start(name, &self.source)));
        }
        self.compare_only(spec).await.map(Begin::Done)
    }

    /// Compares a table whose items no unfinished copy from here has brought.
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

    /// Brings one table over, from wherever it stands.
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

    /// Reads both sides whole.
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
        let reports: Vec<_> = reports.iter().map(json_report).collect();
        return output::json(&reports);
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
