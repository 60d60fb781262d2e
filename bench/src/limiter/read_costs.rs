//! Operations with the reads they caused, and their table.

use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table};
use hdrhistogram::Histogram;
use weir_limiter::config::CacheStatistics;

use super::metered_store::Counts;
use crate::measure::histogram;

/// The operations of a case and their reads.
pub(super) struct Row {
    case: &'static str,
    operation: &'static str,
    /// The cost that the design of the config hierarchy expected.
    expected: &'static str,
    latency: Histogram<u64>,
    /// Operations that read no config level.
    hits: u64,
    calls: u64,
    config_items: u64,
    config_milliunits: u64,
    other_items: u64,
    writes: u64,
    /// Levels found in the cache, those of them cached as missing, and all levels looked up.
    cached: u64,
    cached_missing: u64,
    levels: u64,
}

impl Row {
    pub(super) fn new(case: &'static str, operation: &'static str, expected: &'static str) -> Row {
        Row {
            case,
            operation,
            expected,
            latency: histogram(),
            hits: 0,
            calls: 0,
            config_items: 0,
            config_milliunits: 0,
            other_items: 0,
            writes: 0,
            cached: 0,
            cached_missing: 0,
            levels: 0,
        }
    }

    /// Adds an operation.
    pub(super) fn record(&mut self, took: Duration, counts: Counts) {
        self.latency.saturating_record(took.as_nanos() as u64);
        self.hits += u64::from(counts.config_items == 0);
        self.calls += counts.calls;
        self.config_items += counts.config_items;
        self.config_milliunits += counts.config_milliunits;
        self.other_items += counts.other_items;
        self.writes += counts.writes;
    }

    /// Records the statistics of the cache from before and after the operations.
    pub(super) fn record_cache(&mut self, before: CacheStatistics, after: CacheStatistics) {
        self.cached = after.hits - before.hits;
        self.cached_missing = after.negative_hits - before.negative_hits;
        self.levels = self.cached + after.misses - before.misses;
    }

    fn cells(&self) -> [Cell; 13] {
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        let each = |count: u64| right(format!("{:.2}", count as f64 / self.latency.len() as f64));
        let micros = |quantile: f64| self.latency.value_at_quantile(quantile) as f64 / 1000.0;
        [
            Cell::new(self.case),
            Cell::new(self.operation),
            right(self.latency.len().to_string()),
            right(format!("{:.1}", micros(0.5))),
            right(format!("{:.1}", micros(0.99))),
            each(self.calls),
            each(self.config_items),
            right(format!(
                "{:.3}",
                self.config_milliunits as f64 / 1000.0 / self.latency.len() as f64
            )),
            right(format!("{:.1} %", self.hits as f64 / self.latency.len() as f64 * 100.0)),
            match self.levels {
                0 => right("none".to_owned()),
                levels => right(format!(
                    "{:.1} %, {:.1} % missing",
                    self.cached as f64 / levels as f64 * 100.0,
                    self.cached_missing as f64 / levels as f64 * 100.0
                )),
            },
            Cell::new(self.expected),
            each(self.other_items),
            each(self.writes),
        ]
    }
}

pub(super) fn print(rows: &[Row]) {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header([
        "case",
        "operation",
        "count",
        "p50 µs",
        "p99 µs",
        "read calls",
        "config levels read",
        "read units",
        "without config reads",
        "levels cached",
        "expected",
        "other items read",
        "items written",
    ]);
    for row in rows {
        table.add_row(row.cells());
    }
    println!("{table}");
    println!(
        "Counts are per operation. Read units: the charge of DynamoDB for the config levels read, 0.5 each.\n\
         Expected: the estimate in the design of the config hierarchy, for three levels."
    );
}
