//! The largest multiple of the load that the machine holds: doubled until it fails, then bisected.

use std::time::Duration;

use comfy_table::Table;

use super::open_loop::Outcome;
use super::report::millis;
use super::requests::per_minute;
use crate::print::{right, table};

/// The largest 99th percentile of a class.
const P99_MAX: Duration = Duration::from_millis(10);
/// The largest multiple to try.
const MULTIPLE_MAX: f64 = 256.0;
/// Bisections after the first failure.
const BISECTIONS: usize = 4;
const COLUMNS: [&str; 6] =
    ["multiple", "requests/min", "p99 ms", "errors", "server µs/req", "held"];

/// Searches from the load at the rates of the source, and prints every step.
pub(super) fn print(first: &Outcome, run: impl Fn(f64) -> Outcome) {
    let mut rows = table(COLUMNS);
    let mut holds = |multiple: f64, outcome: &Outcome| {
        println!("  {multiple:.1} ×: p99 {} ms", millis(outcome.p99().as_nanos() as u64));
        add(&mut rows, multiple, outcome);
        is_held(outcome)
    };
    if !holds(1.0, first) {
        println!("The machine does not hold the rates of the source:\n{rows}");
        return;
    }
    let (mut held, mut failed) = (1.0, None);
    while failed.is_none() && held < MULTIPLE_MAX {
        let multiple = held * 2.0;
        if holds(multiple, &run(multiple)) {
            held = multiple;
        } else {
            failed = Some(multiple);
        }
    }
    for _ in 0..BISECTIONS {
        let Some(too_much) = failed else { break };
        let multiple = f64::midpoint(held, too_much);
        if holds(multiple, &run(multiple)) {
            held = multiple;
        } else {
            failed = Some(multiple);
        }
    }
    println!("Multiples of the load:\n{rows}");
    println!(
        "Held with every p99 under {} ms and no errors: {held:.1} × the rates of the source, {:.0} requests/min",
        P99_MAX.as_millis(),
        held * per_minute() as f64,
    );
}

fn is_held(outcome: &Outcome) -> bool {
    !outcome.is_abandoned && outcome.errors() == 0 && outcome.p99() < P99_MAX
}

fn add(rows: &mut Table, multiple: f64, outcome: &Outcome) {
    rows.add_row([
        right(format!("{multiple:.1}")),
        right(format!("{:.0}", multiple * per_minute() as f64)),
        right(millis(outcome.p99().as_nanos() as u64)),
        right(outcome.errors().to_string()),
        right(format!("{:.1}", outcome.server_micros())),
        right(if is_held(outcome) { "yes" } else { "no" }.to_owned()),
    ]);
}
