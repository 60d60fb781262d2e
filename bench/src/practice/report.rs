//! The table of the load at the rates of the source.

use std::time::Duration;

use comfy_table::Cell;

use super::open_loop::{ClassOutcome, Outcome};
use crate::print::{right, table};

const COLUMNS: [&str; 9] = [
    "requests", "rate/min", "count", "refused", "errors", "p50 ms", "p99 ms", "p99.9 ms", "max ms",
];

pub(super) fn print_classes(outcome: &Outcome, length: Duration) {
    let mut rows = table(COLUMNS);
    for class in &outcome.classes {
        rows.add_row(cells(class, length));
    }
    println!("At the rates of the source for {} s:\n{rows}", length.as_secs());
    println!(
        "Server: {:.1} µs of CPU per request, background jobs included; {}",
        outcome.server_micros(),
        if outcome.is_abandoned { "the rate was NOT held" } else { "every request was sent" },
    );
}

fn cells(of: &ClassOutcome, length: Duration) -> [Cell; 9] {
    let count = of.latency.len();
    let quantile = |quantile| millis(of.latency.value_at_quantile(quantile));
    [
        of.class.name().into(),
        right(format!("{:.0}", count as f64 * 60.0 / length.as_secs_f64())),
        right(count.to_string()),
        right(of.refused.to_string()),
        right(of.errors.to_string()),
        right(quantile(0.5)),
        right(quantile(0.99)),
        right(quantile(0.999)),
        right(millis(of.latency.max())),
    ]
}

/// Nanoseconds as milliseconds.
pub(super) fn millis(nanos: u64) -> String {
    format!("{:.2}", nanos as f64 / 1e6)
}
