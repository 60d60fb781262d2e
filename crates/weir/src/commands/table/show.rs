//! Items on the screen: a table for people, JSON for programs.

use std::collections::BTreeSet;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::value::{RawValue, to_raw_value};
use weir_table::expr::Path;
use weir_table::{Item, Name, TableSpec, Value};

use crate::plain::{PlainItem, PlainValue};
use crate::{output, parse};

/// Characters of a value in a table of many items.
const CELL_MAX: usize = 40;
/// Characters of a value when one item is shown.
const VALUE_MAX: usize = 200;
/// Columns of a table of items.
const COLUMNS_MAX: usize = 12;

/// Flags for the output of items.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct FormatArgs {
    /// Show only these attributes: total,address.city
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = parse::path)]
    pub(crate) attrs: Option<Vec<Path>>,
    /// Print DynamoDB JSON, which preserves the kind of every value
    #[arg(long)]
    json: bool,
    /// Print ordinary JSON
    #[arg(long, conflicts_with = "json")]
    plain_json: bool,
    /// Show all attributes, and long values in full
    #[arg(long, conflicts_with_all = ["json", "plain_json"])]
    full: bool,
}

impl FormatArgs {
    /// Whether the output is JSON.
    pub(crate) fn json(&self) -> bool {
        self.json || self.plain_json
    }

    /// The item in the requested form of JSON.
    pub(crate) fn to_json(&self, item: &Item) -> io::Result<Box<RawValue>> {
        let raw = if self.plain_json { to_raw_value(&PlainItem(item)) } else { to_raw_value(item) };
        raw.map_err(io::Error::other)
    }

    fn text(&self, value: &Value, max: usize) -> String {
        let text = output::printable(&text(value));
        if self.full { text } else { output::cut(&text, max) }
    }
}

/// Shows one item, one attribute per row.
pub(crate) fn item(spec: &TableSpec, item: &Item, format: &FormatArgs) -> io::Result<()> {
    if format.plain_json {
        return output::json(&PlainItem(item));
    }
    if format.json {
        return output::json(item);
    }
    let header = ["attribute", "kind", "value"].map(str::to_owned);
    let (names, _) = columns(spec, [item], usize::MAX);
    let rows = names.iter().filter_map(|name| {
        let value = item.get(name)?;
        let name = output::printable(name);
        Some(vec![name, value.kind().to_string(), format.text(value, VALUE_MAX)])
    });
    output::table(header.into(), rows, &[])
}

/// Shows items, one per row.
pub(crate) fn items(spec: &TableSpec, items: &[Item], format: &FormatArgs) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let max = if format.full { usize::MAX } else { COLUMNS_MAX };
    let (names, left_out) = columns(spec, items, max);
    let cell = |item: &Item, name: &Name| match item.get(name) {
        Some(value) => format.text(value, CELL_MAX),
        None => String::new(),
    };
    let rows = items.iter().map(|item| names.iter().map(|name| cell(item, name)).collect());
    let is_number = |name: &Name| {
        let mut values = items.iter().filter_map(|item| item.get(name));
        values.all(|value| matches!(value, Value::N(_)))
    };
    let numbers: Vec<usize> =
        (0..).zip(&names).filter_map(|(at, name)| is_number(name).then_some(at)).collect();
    let header = names.iter().map(|name| output::printable(name)).collect();
    output::table(header, rows, &numbers)?;
    if left_out.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = left_out.iter().map(|name| output::printable(name)).collect();
    output::line(format!(
        "not shown: {} (choose with --attrs, or see all with --full)",
        output::cut(&names.join(", "), VALUE_MAX)
    ))
}

/// The attributes of `items`, keys first, at most `max`, and the remaining ones.
fn columns<'a>(
    spec: &TableSpec,
    items: impl IntoIterator<Item = &'a Item>,
    max: usize,
) -> (Vec<Name>, Vec<Name>) {
    let mut present: BTreeSet<&Name> = items.into_iter().flat_map(|i| i.attrs().keys()).collect();
    let keys = [Some(&spec.partition), spec.sort.as_ref()];
    let mut names: Vec<Name> =
        keys.into_iter().flatten().filter(|name| present.remove(*name)).cloned().collect();
    names.extend(present.into_iter().cloned());
    let left_out = names.split_off(names.len().min(max));
    (names, left_out)
}

/// A value as text: strings as they are, bytes as base64, everything else as ordinary JSON.
fn text(value: &Value) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::B(bytes) => STANDARD.encode(bytes),
        other => serde_json::to_string(&PlainValue(other)).unwrap_or_default(),
    }
}
