//! What the sides do, and the table of what they came to.

use comfy_table::{Cell, CellAlignment, Table};

use crate::rounds::Told;

/// What a side does for a request.
#[derive(Debug, Clone)]
pub(super) struct Does {
    pub(super) who: &'static str,
    /// What nearly all requests are: admitted or refused.
    pub(super) answer: &'static str,
    pub(super) protocol: &'static str,
    /// Where the buckets are.
    pub(super) store: &'static str,
    pub(super) auth: &'static str,
    /// How many are taken from.
    pub(super) limits: usize,
}

impl Does {
    pub(super) fn name(&self) -> String {
        let Does { who, answer, protocol, store, limits, .. } = self;
        format!("{who} over {protocol}, {store}, limits: {limits}, {answer}")
    }
}

/// A side and what its rounds came to.
pub(super) struct Row {
    pub(super) does: Does,
    pub(super) tool: String,
    pub(super) told: Told,
}

/// Prints rows that each begin with, or follow, a row of throttlecrab over HTTP.
pub(super) fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "server",
        "buckets in",
        "auth",
        "limits",
        "asked by",
        "req/s",
        "p50 ms",
        "p99 ms",
        "of throttlecrab",
        "range",
        "refused",
        "server µs",
    ]);
    for row in rows {
        table.add_row(cells(row));
    }
    println!("{table}");
    println!(
        "figures are the middle ones of all rounds; a ratio is to the runs of throttlecrab over HTTP before and after;\n\
         throttlecrab beside its own first run is the noise; limits are those taken from by one request;\n\
         server µs: processor time of the server for a request"
    );
}

fn cells(row: &Row) -> [Cell; 12] {
    let (does, answers) = (&row.does, row.told.answers);
    let base = does.who == "throttlecrab" && does.protocol == "HTTP";
    let ratio = row.told.ratio().filter(|_| !base);
    let refused = answers.refused as f64 / answers.count as f64;
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    [
        Cell::new(format!("{}, {}", does.who, does.protocol)),
        Cell::new(does.store),
        Cell::new(does.auth),
        right(does.limits.to_string()),
        Cell::new(&row.tool),
        right(format!("{:.0}", answers.rate)),
        right(format!("{:.2}", answers.p50_ms)),
        right(format!("{:.2}", answers.p99_ms)),
        right(ratio.map_or(String::new(), |ratio| format!("{:.0} %", ratio * 100.0))),
        right(row.told.range()),
        right(format!("{:.1} %", refused * 100.0)),
        right(format!("{:.1}", answers.server_micros)),
    ]
}
