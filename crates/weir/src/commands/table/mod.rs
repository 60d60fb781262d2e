//! `weir table`: read a table, and change single items.

mod query;
mod read;
mod show;

use clap::{Args, Subcommand};
use weir_table::expr::{Condition, attr};
use weir_table::{Get, Write, Written};

use crate::config::{Source, StoreFlags};
use crate::failure::Failure;
use crate::store_location::{Missing, StoreLocation};
use crate::tables::Tables;
use crate::{output, parse};
use show::FormatArgs;

const AFTER_HELP: &str = r##"
Examples:
  weir table get orders --pk 'ORG#1' --sk 'ORDER#7'
  weir table query orders --pk 'ORG#1' --begins-with 'ORDER#' --reverse --limit 10
  weir table query orders --index by-customer --pk ada --where 'total >= 10' --where 'state = open'
  weir table scan orders --where 'state absent' --count
  weir table put orders --plain --item '{"PK": "ORG#1", "SK": "ORDER#7", "total": 12.5}'
  weir table put orders --if-absent --item @order.json
  weir table delete orders --pk 'ORG#1' --sk 'ORDER#7'

The declared kind of a key decides how its value is written: a string as it is, a number as digits,
bytes as base64. Items are DynamoDB JSON ({"PK": {"S": "ORG#1"}}), or ordinary JSON with --plain."##;

/// Flags of `weir table`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TableArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    store: StoreFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show one item
    Get(GetArgs),
    /// Show items of one partition, in sort order
    Query(query::QueryArgs),
    /// Show items of the whole table, in no order
    Scan(query::ScanArgs),
    /// Store an item, replacing the item with the same key
    Put(PutArgs),
    /// Delete an item
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
struct KeyArgs {
    /// Name of the table
    #[arg(value_name = "TABLE")]
    table: String,
    /// Partition key of the item
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pk: String,
    /// Sort key of the item, if the table has one
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    sk: Option<String>,
}

#[derive(Debug, Args)]
struct GetArgs {
    #[command(flatten)]
    key: KeyArgs,
    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Debug, Args)]
struct PutArgs {
    /// Name of the table
    #[arg(value_name = "TABLE")]
    table: String,
    /// Item: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    item: String,
    /// Read the item as ordinary JSON, not DynamoDB JSON
    #[arg(long)]
    plain: bool,
    /// Fail if an item with this key exists
    #[arg(long)]
    if_absent: bool,
}

#[derive(Debug, Args)]
struct DeleteArgs {
    #[command(flatten)]
    key: KeyArgs,
}

/// Runs the verb.
pub(crate) async fn run(args: TableArgs, source: &Source) -> Result<(), Failure> {
    let loaded = source.load_for_store(&args.store.given())?;
    StoreLocation::of(&loaded.config.store)
        .with(Missing::Refuse, async |tables| match args.verb {
            Verb::Get(args) => get(tables, args).await,
            Verb::Query(args) => query::query(tables, args).await,
            Verb::Scan(args) => query::scan(tables, args).await,
            Verb::Put(args) => put(tables, args).await,
            Verb::Delete(args) => delete(tables, args).await,
        })
        .await
}

async fn get(tables: &Tables, args: GetArgs) -> Result<(), Failure> {
    let spec = tables.spec(&args.key.table).await?;
    let key = parse::key(&spec, &args.key.pk, args.key.sk.as_deref())?;
    let mut get = Get::new(args.key.table.as_str(), key.clone());
    get.projection.clone_from(&args.format.attrs);
    match tables.get(&get).await? {
        Some(item) => Ok(show::item(&spec, &item, &args.format)?),
        None => Err(Failure::refused(format!("no item {key} in table {:?}", spec.name))),
    }
}

async fn put(tables: &Tables, args: PutArgs) -> Result<(), Failure> {
    let spec = tables.spec(&args.table).await?;
    let item = parse::item(&parse::argument(&args.item)?, args.plain)?;
    let key = spec.key_of(&item)?;
    let mut write = Write::put(args.table.as_str(), item);
    if args.if_absent {
        write = write.when(absent(&spec.partition));
    }
    match tables.write(write).await? {
        Written::Applied(None) => output::line(format!("put {key}"))?,
        Written::Applied(Some(_)) => {
            output::line(format!("put {key}, replacing the old item"))?;
        }
        Written::Refused(_) => {
            return Err(Failure::refused(format!("item {key} already exists"))
                .help("without --if-absent the item is replaced"));
        }
    }
    Ok(())
}

fn absent(name: &weir_table::Name) -> Condition {
    attr(name.clone()).absent()
}

async fn delete(tables: &Tables, args: DeleteArgs) -> Result<(), Failure> {
    let spec = tables.spec(&args.key.table).await?;
    let key = parse::key(&spec, &args.key.pk, args.key.sk.as_deref())?;
    let write = Write::delete(args.key.table.as_str(), key.clone());
    match tables.write(write).await? {
        Written::Applied(Some(_)) => Ok(output::line(format!("deleted {key}"))?),
        _ => Err(Failure::refused(format!("no item {key} in table {:?}", spec.name))),
    }
}
