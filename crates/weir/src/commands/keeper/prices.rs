//! `weir keeper prices`: prices of models.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::Page;
use weir_api::keeper::{
    LongContextPrice, ModelPrice, PRICES_MAX, PriceEntry, PriceImport, PriceImportRequest,
};
use weir_framework::serde_problem;
use weir_keeper::ids::{ModelId, Vendor};
use weir_keeper::money::{MicroUsd, Price};
use weir_keeper::prices::{PriceBook, PriceChange, PriceRow, diff};
use weir_server::keeper::convert;

use crate::commands::api_context::{ApiContext, header, with_query};
use crate::failure::Failure;
use crate::time::GivenTime;
use crate::{output, parse};

const FILE_HELP: &str = "a file is a price book, or a list of its entries: objects with model_id, vendor (where \
     several have it), region (all when it is absent), input_price_usd_micros_per_1m, output_price_usd_micros_per_1m, cache \
     prices and long_context";

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List the prices of a day
    List(ListArgs),
    /// Import prices from a file; past totals do not change
    Import(ImportArgs),
    /// Show what importing a file would change; exits with 4 when anything would
    Diff(DiffArgs),
    /// List imports, newest first
    Imports,
    /// Remove an import; the prices before it are in force again
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// Id of the import, as `imports` lists it
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only models whose id or vendor contains this
    model: Option<String>,
    /// Day in UTC: 2026-01-31, 7d (ago), today or yesterday [default: today]
    #[arg(long, value_name = "DAY")]
    on: Option<GivenTime>,
}

#[derive(Debug, Args)]
pub(super) struct ImportArgs {
    /// A price book, or a list of its entries, as JSON; - for standard input
    file: String,
    /// First day in UTC on which the prices are in force: 2026-01-31, today or tomorrow [default: today]
    #[arg(long, value_name = "DAY")]
    from: Option<GivenTime>,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    /// A price book, or a list of its entries, as JSON; - for standard input
    file: String,
    /// Day in UTC to compare with: 2026-01-31, 7d (ago), today or yesterday [default: today]
    #[arg(long, value_name = "DAY")]
    on: Option<GivenTime>,
    /// Also show prices that are not in the file; an import does not change them
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::List(args) => {
            let search = args.model.as_deref();
            let all = listed(context, args.on.as_ref(), search).await?;
            context.print_all(all, |all| match search.filter(|_| all.is_empty()) {
                Some(part) => output::line(format!("no model or vendor has {part:?} in its name")),
                None => table(all),
            })
        }
        Verb::Import(args) => import(context, args).await,
        Verb::Diff(args) => compare(context, &args).await,
        Verb::Imports => {
            let page: Page<PriceImport> =
                context.api.get(&context.path(&["prices", "imports"])).await?;
            context.print_all(page.items, imports)
        }
        Verb::Remove(args) => {
            remove(context, &args.id).await?;
            let result = json!({"id": args.id, "removed": true});
            context.print(&result, |_| output::line(format!("import {} was removed", args.id)))
        }
    }
}

async fn listed(
    context: &ApiContext<'_>,
    on: Option<&GivenTime>,
    search: Option<&str>,
) -> Result<Vec<ModelPrice>, Failure> {
    let on = on.map(GivenTime::utc_day).transpose()?;
    let query = [("on", on.as_deref()), ("search", search)];
    let page: Page<ModelPrice> =
        context.api.get(&with_query(&context.path(&["prices"]), &query)).await?;
    Ok(page.items)
}

/// The prices of a file.
fn rows(file: &str) -> Result<Vec<PriceRow>, Failure> {
    let text = parse::read(file)?;
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text).map_err(|error| {
            Failure::usage(format!("{file}: is not a list of prices"))
                .because(serde_problem::describe(&error.to_string()))
                .help(FILE_HELP)
        });
    }
    let book = PriceBook::parse(&text)
        .map_err(|error| Failure::usage(format!("{file}: {error}")).help(FILE_HELP))?;
    Ok(PriceRow::from_book(&book))
}

async fn import(context: &ApiContext<'_>, args: ImportArgs) -> Result<(), Failure> {
    let first_day = args.from.as_ref().map(GivenTime::utc_day).transpose()?;
    let parts = parts(rows(&args.file)?);
    let last = parts.len();
    let mut done: Option<PriceImport> = None;
    for (number, prices) in (1..).zip(parts) {
        let import = done.as_ref().map(|import| import.id.clone());
        let from = first_day.clone().filter(|_| import.is_none());
        let request =
            PriceImportRequest { from, prices, import: import.clone(), more: number < last };
        match context.api.post(&context.path(&["prices"]), &request).await {
            Ok(imported) => done = Some(imported),
            Err(failure) => {
                // An unfinished import has no effect, so it can be removed at once.
                if let Some(id) = import {
                    remove(context, &id).await.ok();
                }
                return Err(failure);
            }
        }
    }
    let none = || Failure::usage(format!("{}: has no prices", args.file));
    context.print(&done.ok_or_else(none)?, |imported| {
        let models = output::counted(imported.models, "model");
        output::line(format!("prices of {models} are in force from {}", imported.from))?;
        output::line(format!("to undo: weir keeper prices remove {}", imported.id))
    })
}

async fn remove(context: &ApiContext<'_>, id: &str) -> Result<(), Failure> {
    context.api.delete::<()>(&context.path(&["prices", "imports", id])).await
}

fn imports(all: &[PriceImport]) -> std::io::Result<()> {
    let rows = all.iter().map(|import| {
        vec![
            import.id.clone(),
            import.from.clone(),
            import.models.to_string(),
            output::printable(&import.by),
            import.imported_at.clone(),
            if import.open { "open" } else { "complete" }.to_owned(),
        ]
    });
    output::table(header(["import", "from", "models", "actor", "at", "state"]), rows, &[2])
}

/// The requests of an import. The prices of a model stay together: each import replaces all of them.
fn parts(mut rows: Vec<PriceRow>) -> Vec<Vec<PriceEntry>> {
    rows.sort_by(|a, b| a.model_id.cmp(&b.model_id));
    let mut parts: Vec<Vec<PriceEntry>> = Vec::new();
    for model in rows.chunk_by(|a, b| a.model_id == b.model_id) {
        let model = model.iter().map(convert::price_entry);
        match parts.last_mut() {
            Some(part) if part.len() + model.len() <= PRICES_MAX => part.extend(model),
            _ => parts.push(model.collect()),
        }
    }
    parts
}

async fn compare(context: &ApiContext<'_>, args: &DiffArgs) -> Result<(), Failure> {
    let new = rows(&args.file)?;
    let old = listed(context, args.on.as_ref(), None).await?.into_iter().filter_map(row);
    let old: Vec<PriceRow> = old.collect();
    let mut changes = diff(&old, &new);
    changes.retain(|change| args.all || change.new.is_some());
    let count = changes.len();
    context.print_all(changes, |changes| {
        changes.iter().try_for_each(|change| output::line(line(change)))
    })?;
    match count {
        0 if context.json => Ok(()),
        0 => Ok(output::line("all prices match the file")?),
        count => {
            let message = output::counted(count as u64, "price");
            Err(Failure::differs(format!("{message} would change"))
                .help("`weir keeper prices import` imports them"))
        }
    }
}

/// A listed price; `None` when its model id is malformed.
fn row(listed: ModelPrice) -> Option<PriceRow> {
    Some(PriceRow {
        model_id: ModelId::new(&listed.model_id).ok()?,
        vendor: listed.vendor.as_ref().map(Vendor::new).transpose().ok()?,
        price: price(&listed),
        region: listed.region.map(Into::into),
    })
}

/// The amounts of a listed price.
pub(super) fn price(listed: &ModelPrice) -> Price {
    Price {
        input: listed.input_price_usd_micros_per_1m,
        output: listed.output_price_usd_micros_per_1m,
        cache_read: listed.cache_read_price_usd_micros_per_1m,
        cache_write: listed.cache_write_price_usd_micros_per_1m,
        long_context: listed.long_context.map(convert::long_context),
    }
}

fn line(change: &PriceChange) -> String {
    let region = change.region.as_ref().map(|region| format!(" in {region}")).unwrap_or_default();
    let price = |price: &Price| {
        let cache = match (price.cache_read, price.cache_write) {
            (None, None) => String::new(),
            (read, write) => {
                let shown = |part: Option<u64>| dollars(part).unwrap_or_else(|| "—".to_owned());
                format!(", cache {} / {}", shown(read), shown(write))
            }
        };
        let long = price.long_context.map_or_else(String::new, |long| {
            let (input, output) = (MicroUsd(long.input), MicroUsd(long.output));
            format!(", above {} input tokens {input} / {output}", long.above_input_tokens)
        });
        format!("{} / {}{cache}{long}", MicroUsd(price.input), MicroUsd(price.output))
    };
    let vendor = change.vendor.as_ref().map(|vendor| format!("{vendor} ")).unwrap_or_default();
    let model = format!("{vendor}{}", output::printable(change.model_id.as_str()));
    match (&change.old, &change.new) {
        (None, Some(new)) => format!("+ {model}{region}: {}", price(new)),
        (Some(old), None) => format!("- {model}{region}: {}", price(old)),
        (Some(old), Some(new)) => format!("~ {model}{region}: {} → {}", price(old), price(new)),
        (None, None) => format!("  {model}{region}"),
    }
}

fn dollars(micros: Option<u64>) -> Option<String> {
    micros.map(|micros| MicroUsd(micros).to_string())
}

/// The price of a long input: `$5.00 / $22.50 above 272,000 tokens`.
fn long_context(price: &LongContextPrice) -> String {
    let (input, output) =
        (price.input_price_usd_micros_per_1m, price.output_price_usd_micros_per_1m);
    let above = output::thousands(price.above_input_tokens);
    format!("{} / {} above {above} tokens", MicroUsd(input), MicroUsd(output))
}

fn table(prices: &[ModelPrice]) -> std::io::Result<()> {
    let rows = prices.iter().map(|price| {
        vec![
            price.vendor.clone().unwrap_or_else(|| "bedrock".to_owned()),
            output::printable(&price.model_id),
            price.region.clone().unwrap_or_else(|| "all".to_owned()),
            MicroUsd(price.input_price_usd_micros_per_1m).to_string(),
            MicroUsd(price.output_price_usd_micros_per_1m).to_string(),
            dollars(price.cache_read_price_usd_micros_per_1m).unwrap_or_default(),
            dollars(price.cache_write_price_usd_micros_per_1m).unwrap_or_default(),
            price.long_context.as_ref().map(long_context).unwrap_or_default(),
            output::word(&price.source),
            price.version.clone(),
        ]
    });
    let names = [
        "vendor",
        "model",
        "region",
        "input",
        "output",
        "cache read",
        "cache write",
        "long input",
        "source",
        "version",
    ];
    output::table(header(names), rows, &[3, 4, 5, 6])?;
    output::line("prices are for a million tokens")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prices_of_a_model_stay_together() {
        let row = |model: usize, region: usize| PriceRow {
            model_id: ModelId::new(format!("m{model:04}")).unwrap(),
            vendor: None,
            region: Some(format!("r{region}").as_str().into()),
            price: Price::new(1, 1),
        };
        let rows = (0..3).flat_map(|region| (0..501).map(move |model| row(model, region)));
        let parts = parts(rows.collect());
        assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [999, 504]);
        assert_eq!(parts[1][0].model_id.as_deref(), Some("m0333"));
    }
}
