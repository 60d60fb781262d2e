//! `weir table query` and `weir table scan`.

use std::ffi::OsString;

use clap::Args;
use serde::Serialize;
use weir_table::expr::Condition;
use weir_table::{KeyValue, Name, Query, SortRange, TableSpec};

use super::read;
use super::show::{self, FormatArgs};
use crate::failure::Failure;
use crate::tables::Tables;
use crate::{output, parse};

/// Flags of `weir table query`.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// Partition key of the table or index
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pk: String,
    /// Reverse the order
    #[arg(long)]
    reverse: bool,
    #[command(flatten)]
    read: ReadArgs,
    // A heading applies until the next one, so flags with a heading come last.
    #[command(flatten)]
    range: RangeArgs,
}

/// Flags of `weir table scan`.
#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    read: ReadArgs,
}

/// Conditions on the sort key.
#[derive(Debug, Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Sort key (at most one)")]
struct RangeArgs {
    /// Sort keys that begin with P
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    begins_with: Option<String>,
    /// Sort keys from A to B, inclusive
    #[arg(long, num_args = 2, value_names = ["A", "B"], allow_hyphen_values = true)]
    between: Option<Vec<String>>,
    /// Exactly this sort key
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    eq: Option<String>,
    /// Sort keys below V
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    lt: Option<String>,
    /// Sort keys up to V
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    le: Option<String>,
    /// Sort keys above V
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    gt: Option<String>,
    /// Sort keys from V on
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    ge: Option<String>,
}

/// Flags that queries and scans share.
#[derive(Debug, Args)]
struct ReadArgs {
    /// Name of the table
    #[arg(value_name = "TABLE")]
    table: String,
    /// Read this index instead of the table
    #[arg(long, value_name = "INDEX")]
    index: Option<String>,
    /// Show only items that match: `total >= 10`, `state = open`, `name begins_with A`,
    /// `tags contains x`, `deleted absent`; repeatable. Numbers, true, false and null have their
    /// JSON type; a string is written bare or in double quotes
    #[arg(long = "where", value_name = "FILTER", value_parser = parse::filter)]
    filters: Vec<Condition>,
    /// Show at most N items
    #[arg(
        long,
        value_name = "N",
        default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    limit: u32,
    /// Continue at the cursor that an earlier command printed
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Print the number of all matching items instead; --limit does not apply
    #[arg(long, conflicts_with_all = ["limit", "attrs", "cursor"])]
    count: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// Shows the items of one partition.
pub(crate) async fn query(tables: &Tables, args: QueryArgs) -> Result<(), Failure> {
    let spec = tables.spec(&args.read.table).await?;
    let (partition, sort) = keys(&spec, args.read.index.as_deref())?;
    let pk = parse::key_value(&spec, partition, &args.pk, "--pk")?;
    let range = range(&spec, sort, args.range)?;
    let mut query = Query::partition(args.read.table.as_str(), pk).sort(range);
    if args.reverse {
        query = query.reverse();
    }
    read(tables, &spec, query, args.read).await
}

/// Shows the items of the whole table.
pub(crate) async fn scan(tables: &Tables, args: ScanArgs) -> Result<(), Failure> {
    let spec = tables.spec(&args.read.table).await?;
    keys(&spec, args.read.index.as_deref())?;
    let query = Query::scan(args.read.table.as_str());
    read(tables, &spec, query, args.read).await
}

/// The key attributes of the table, or of the index.
fn keys<'a>(
    spec: &'a TableSpec,
    index: Option<&str>,
) -> Result<(&'a Name, Option<&'a Name>), Failure> {
    let Some(name) = index else {
        return Ok((&spec.partition, spec.sort.as_ref()));
    };
    let index = spec.find_index(name).map_err(|problem| {
        let help = format!("`weir tables describe {}` shows its indexes", spec.name);
        Failure::usage(problem.to_string()).help(help)
    })?;
    Ok((&index.partition, index.sort.as_ref()))
}

fn range(spec: &TableSpec, sort: Option<&Name>, args: RangeArgs) -> Result<SortRange, Failure> {
    let value = |flag: &str, text: &str| -> Result<KeyValue, Failure> {
        let name = sort
            .ok_or_else(|| Failure::usage(format!("{flag}: the table or index has no sort key")))?;
        parse::key_value(spec, name, text, flag)
    };
    type Build = fn(KeyValue) -> SortRange;
    let single: [(&str, Option<String>, Build); 6] = [
        ("--begins-with", args.begins_with, SortRange::BeginsWith),
        ("--eq", args.eq, SortRange::Eq),
        ("--lt", args.lt, SortRange::Lt),
        ("--le", args.le, SortRange::Le),
        ("--gt", args.gt, SortRange::Gt),
        ("--ge", args.ge, SortRange::Ge),
    ];
    for (flag, text, build) in single {
        if let Some(text) = text {
            return Ok(build(value(flag, &text)?));
        }
    }
    match args.between.as_deref() {
        Some([low, high]) => {
            Ok(SortRange::Between(value("--between", low)?, value("--between", high)?))
        }
        _ => Ok(SortRange::All),
    }
}

/// A list, in the form of all JSON lists.
#[derive(Serialize)]
struct List<T> {
    items: Vec<T>,
    scanned: u64,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Count {
    count: u64,
    scanned: u64,
}

async fn read(
    tables: &Tables,
    spec: &TableSpec,
    mut query: Query,
    args: ReadArgs,
) -> Result<(), Failure> {
    if let Some(index) = args.index {
        query = query.index(index);
    }
    query.filter = args.filters.into_iter().reduce(Condition::and);
    query.cursor = args.cursor;
    if args.count {
        let (count, scanned) = read::count(tables, query).await?;
        if args.format.json() {
            output::json(&Count { count, scanned })?;
        } else {
            output::line(counted(count, scanned))?;
        }
        return Ok(());
    }
    query.projection.clone_from(&args.format.attrs);
    let reading = read::items(tables, query, args.limit).await?;
    if args.format.json() {
        let json = |item| args.format.to_json(item);
        output::json(&List {
            items: reading.items.iter().map(json).collect::<Result<Vec<_>, _>>()?,
            scanned: reading.scanned,
            next_cursor: reading.cursor,
        })?;
        return Ok(());
    }
    show::items(spec, &reading.items, &args.format)?;
    output::line(counted(reading.items.len() as u64, reading.scanned))?;
    if let Some(cursor) = &reading.cursor {
        output::line(format!("more items: {}", continued(std::env::args_os(), cursor)))?;
    }
    Ok(())
}

/// `2 items`, or `2 items of 9 read` when a filter dropped some.
fn counted(items: u64, scanned: u64) -> String {
    let counted = output::counted(items, "item");
    if items == scanned {
        counted
    } else {
        format!("{counted} of {} read", output::thousands(scanned))
    }
}

/// The command that continues at `cursor`.
fn continued(arguments: impl Iterator<Item = OsString>, cursor: &str) -> String {
    let mut words = vec!["weir".to_owned()];
    let mut arguments = arguments.skip(1);
    while let Some(word) = arguments.next() {
        match word.into_string() {
            Ok(word) if word == "--cursor" => drop(arguments.next()),
            Ok(word) if word.starts_with("--cursor=") => {}
            Ok(word) => words.push(word),
            // Such a folder or file cannot be written out.
            Err(_) => return the_same(cursor),
        }
    }
    words.extend(["--cursor".to_owned(), cursor.to_owned()]);
    let words = words.iter().map(String::as_str);
    shlex::try_join(words).unwrap_or_else(|_| the_same(cursor))
}

fn the_same(cursor: &str) -> String {
    format!("the same command with --cursor {cursor}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn the_command_to_go_on_can_be_pasted() {
        let run = |words: &[&str]| continued(words.iter().map(OsString::from), "c2");
        assert_eq!(
            run(&["/bin/weir", "table", "query", "orders", "--pk", "ORG#1 x"]),
            "weir table query orders --pk 'ORG#1 x' --cursor c2"
        );
        assert_eq!(
            run(&["weir", "table", "scan", "--cursor", "c1", "orders", "--cursor=c0"]),
            "weir table scan orders --cursor c2"
        );
        let not_text = OsString::from_vec(b"--data=\xff".to_vec());
        let words = ["weir".into(), "table".into(), "scan".into(), not_text];
        assert_eq!(continued(words.into_iter(), "c2"), "the same command with --cursor c2");
    }
}
