//! `weir tables`: create, check, list, describe and delete tables.

use clap::{Args, Subcommand};
use serde::Serialize;
use weir_framework::serde_problem;
use weir_table::{Error, Name, Projection, TableSpec};

use crate::config::{Source, StoreFlags};
use crate::failure::Failure;
use crate::store_location::{Missing, StoreLocation};
use crate::tables::Tables;
use crate::{output, parse};

const AFTER_HELP: &str = r##"
Examples:
  weir tables create --spec orders.json       create missing tables, check existing ones
  weir tables verify --spec orders.json       only check; exit code 4 if a table differs
  weir tables list --store dynamodb --dynamodb-endpoint http://localhost:8000
  weir tables describe orders
  weir tables delete orders --yes             with all its items, without confirmation

A spec is one table, or a list of tables:

  {
    "name": "orders",
    "attributes": {"PK": "S", "SK": "S", "customer": "S", "total": "N"},
    "partition": "PK",
    "sort": "SK",
    "indexes": [
      {"name": "by-customer", "partition": "customer", "sort": "total",
       "projection": {"include": ["state"]}}
    ],
    "ttl": "expires",
    "feed": true
  }

`attributes` declares the kind (S for string, N for number, B for bytes) of every attribute that is
part of a key, and of no other. `sort`, `indexes`, `ttl` and `feed` are optional. A projection is
"all" (the default), "keys_only" or {"include": [...]}."##;

/// Flags of `weir tables`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TablesArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    store: StoreFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create the missing tables of a spec, and check the existing ones
    Create(SpecArgs),
    /// Check that the tables of a spec exist with the same schema
    Verify(SpecArgs),
    /// List all tables
    List(ListArgs),
    /// Show the schema of a table
    Describe(DescribeArgs),
    /// Delete a table with all its items
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
struct SpecArgs {
    /// JSON file of table specs; - for standard input
    #[arg(long, value_name = "FILE")]
    spec: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result of `weir tables create` for a table, as JSON.
#[derive(Serialize)]
struct Created<'a> {
    name: &'a str,
    created: bool,
}

/// The result of `weir tables verify` for a table, as JSON.
#[derive(Serialize)]
struct Verified<'a> {
    name: &'a str,
    /// Differences from the spec; none if the table is as declared.
    problems: Vec<String>,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct DescribeArgs {
    /// Name of the table
    #[arg(value_name = "TABLE")]
    name: String,
    /// Print JSON: the spec, in the form that `create` accepts
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct DeleteArgs {
    /// Name of the table
    #[arg(value_name = "TABLE")]
    name: String,
    /// Delete without asking for confirmation
    #[arg(long)]
    yes: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: TablesArgs, source: &Source) -> Result<(), Failure> {
    let loaded = source.load_for_store(&args.store.given())?;
    let location = StoreLocation::of(&loaded.config.store);
    match args.verb {
        Verb::Create(args) => create(&location, &args).await,
        Verb::Verify(args) => verify(&location, &args).await,
        Verb::List(args) => {
            location.with(Missing::Refuse, async |tables| list(tables, args.json).await).await
        }
        Verb::Describe(args) => {
            let describe = async |tables: &Tables| Ok(tables.spec(&args.name).await?);
            let spec = location.with(Missing::Refuse, describe).await?;
            Ok(if args.json { output::json(&spec) } else { show(&spec) }?)
        }
        Verb::Delete(args) => {
            location.with(Missing::Refuse, async |tables| delete(tables, &args).await).await
        }
    }
}

/// The specs in a file, all of them checked.
fn specs(file: &str) -> Result<Vec<TableSpec>, Failure> {
    let text = parse::read(file)?;
    let wrong = |problem: serde_json::Error| {
        let problem = serde_problem::describe(&problem.to_string());
        Failure::usage(format!("{file}: {problem}"))
            .help("`weir tables --help` shows an example of a spec")
    };
    let specs: Vec<TableSpec> = if text.trim_start().starts_with('[') {
        serde_json::from_str(&text).map_err(wrong)?
    } else {
        vec![serde_json::from_str(&text).map_err(wrong)?]
    };
    for spec in &specs {
        spec.check().map_err(|problem| {
            Failure::usage(format!("{file}: table {:?}: {problem}", spec.name))
        })?;
    }
    Ok(specs)
}

async fn create(location: &StoreLocation, args: &SpecArgs) -> Result<(), Failure> {
    let specs = specs(&args.spec)?;
    location
        .with(Missing::Create, async |tables| {
            let there = tables.names().await?;
            let mut all = Vec::new();
            for spec in &specs {
                tables.create(spec).await?;
                let (name, created) = (spec.name.as_str(), !there.contains(&spec.name));
                if !args.json {
                    let done = if created { "created" } else { "already exists, as declared" };
                    output::line(format!("{name} {done}"))?;
                }
                all.push(Created { name, created });
            }
            Ok(if args.json { output::list(all) } else { Ok(()) }?)
        })
        .await
}

async fn verify(location: &StoreLocation, args: &SpecArgs) -> Result<(), Failure> {
    let file = &args.spec;
    let specs = specs(file)?;
    location
        .with(Missing::Refuse, async |tables| {
            let mut all = Vec::new();
            for spec in &specs {
                let problems = match tables.verify(spec).await {
                    Ok(()) => Vec::new(),
                    Err(Error::NoSuchTable(_)) => vec!["does not exist".to_owned()],
                    Err(Error::SpecMismatch { differences, .. }) => differences,
                    Err(error) => return Err(error.into()),
                };
                let name = spec.name.as_str();
                if problems.is_empty() && !args.json {
                    output::line(format!("{name} is as declared"))?;
                }
                all.push(Verified { name, problems });
            }
            let of_table = |Verified { name, problems }: &Verified<'_>| {
                problems.iter().map(|how| format!("{name}: {how}")).collect::<Vec<_>>()
            };
            let wrong: Vec<String> = all.iter().flat_map(of_table).collect();
            if args.json {
                output::list(all)?;
            }
            if wrong.is_empty() {
                return Ok(());
            }
            let failure = Failure::differs(format!("the tables are not as {file} declares them"));
            Err(wrong.iter().fold(failure, Failure::because).help(
                "`weir tables create` creates a missing table; \
                 to change one, copy it to a store that has the new shape",
            ))
        })
        .await
}

async fn delete(tables: &Tables, args: &DeleteArgs) -> Result<(), Failure> {
    let name = &args.name;
    // A missing table is reported before the confirmation is requested.
    tables.spec(name).await?;
    if !args.yes {
        match output::confirmed(&format!("Delete table {name:?} with all its items?"))? {
            Some(true) => {}
            Some(false) => return Err(Failure::refused("nothing was deleted")),
            None => {
                let message = format!("deleting table {name:?} was not confirmed");
                return Err(Failure::refused(message)
                    .help("add --yes, or run the command on a terminal, where it asks"));
            }
        }
    }
    tables.remove(name).await?;
    Ok(output::line(format!("{name} deleted, with all its items"))?)
}

async fn list(tables: &Tables, json: bool) -> Result<(), Failure> {
    let mut specs = Vec::new();
    for name in tables.names().await? {
        specs.push(tables.spec(&name).await?);
    }
    if json {
        return Ok(output::list(specs)?);
    }
    if specs.is_empty() {
        output::line("there are no tables; `weir tables create --spec FILE` creates one")?;
        return Ok(());
    }
    let header = ["table", "key", "indexes", "ttl", "feed"].map(str::to_owned);
    let rows = specs.iter().map(|spec| {
        let indexes: Vec<_> = spec.indexes.iter().map(|index| index.name.as_str()).collect();
        vec![
            spec.name.clone(),
            key_text(spec, &spec.partition, spec.sort.as_ref()),
            indexes.join(", "),
            spec.ttl.as_ref().map(Name::to_string).unwrap_or_default(),
            if spec.feed { "yes" } else { "" }.to_owned(),
        ]
    });
    Ok(output::table(header.into(), rows, &[])?)
}

/// `PK S, SK S`.
fn key_text(spec: &TableSpec, partition: &Name, sort: Option<&Name>) -> String {
    let part = |name: &Name| match spec.attributes.get(name) {
        Some(kind) => format!("{name} {kind}"),
        None => name.to_string(),
    };
    let parts: Vec<_> = [Some(partition), sort].into_iter().flatten().map(part).collect();
    parts.join(", ")
}

fn show(spec: &TableSpec) -> std::io::Result<()> {
    output::line(format!("table  {}", spec.name))?;
    output::line(format!("key    {}", key_text(spec, &spec.partition, spec.sort.as_ref())))?;
    output::line(format!("ttl    {}", spec.ttl.as_deref().unwrap_or("none")))?;
    output::line(format!("feed   {}", if spec.feed { "yes" } else { "no" }))?;
    if spec.indexes.is_empty() {
        return output::line("there are no indexes");
    }
    let header = ["index", "key", "holds"].map(str::to_owned);
    let rows = spec.indexes.iter().map(|index| {
        let holds = match &index.projection {
            Projection::All => "all attributes".to_owned(),
            Projection::KeysOnly => "keys".to_owned(),
            Projection::Include(names) => {
                let names: Vec<_> = names.iter().map(Name::as_str).collect();
                format!("keys and {}", names.join(", "))
            }
        };
        let key = key_text(spec, &index.partition, index.sort.as_ref());
        vec![index.name.clone(), key, holds]
    });
    output::table(header.into(), rows, &[])
}
