//! The table of a comparison.

use std::io::Write as _;

use comfy_table::{Cell, CellAlignment, Table};

use super::{Case, Options};
use crate::load::Headers;
use crate::pinning::Pinning;
use crate::sample::{Sample, Series};

/// All samples so far.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
}

/// The samples of a case on one server.
struct Row {
    server: &'static str,
    case: &'static str,
    baseline: &'static str,
    headers: Option<Headers>,
    series: Series,
}

impl Report {
    /// Adds a sample and prints it as progress.
    pub(super) fn record(
        &mut self,
        round: usize,
        server: &'static str,
        case: &Case,
        headers: Option<Headers>,
        sample: Sample,
    ) {
        progress(round, server, case.name, headers, sample);
        let same = |row: &&mut Row| {
            row.server == server && row.case == case.name && row.headers == headers
        };
        if let Some(row) = self.rows.iter_mut().find(same) {
            row.series.0.push(sample);
            return;
        }
        let series = Series(vec![sample]);
        let Case { name, baseline, .. } = *case;
        self.rows.push(Row { server, case: name, baseline, headers, series });
    }

    /// Prints the medians, and the ratios to the server named `baseline`.
    pub(super) fn print(mut self, baseline: &str, options: &Options) {
        // Rows of the same case stand together, cases in the order in which they first ran.
        let cases: Vec<_> = self.rows.iter().map(|row| (row.case, row.headers)).collect();
        self.rows.sort_by_key(|row| cases.iter().position(|case| *case == (row.case, row.headers)));
        let mut table = Table::new();
        table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
        table.set_header([
            "case",
            "headers",
            "server",
            "req/s",
            "p50 ms",
            "p99 ms",
            "server µs/req",
            "CPU ratio",
            "range",
        ]);
        for row in &self.rows {
            table.add_row(row.cells(baseline, &self.rows));
        }
        println!("{table}");
        let place = match options.pinning() {
            Pinning::Pinned => "server and load generator pinned to a CPU each",
            Pinning::Unpinned => "server and load generator not pinned",
        };
        println!(
            "Medians of {} rounds of {} s with {} connections, {place}.\n\
             server µs/req: CPU time of the server process per request, user and kernel.\n\
             CPU ratio: that time divided by the time of {baseline} in the same round; median and range over the rounds.",
            options.rounds,
            options.length().as_secs(),
            options.connections,
        );
    }
}

fn progress(round: usize, server: &str, case: &str, headers: Option<Headers>, sample: Sample) {
    let Sample { rate, cpu_micros, .. } = sample;
    let headers = headers.map_or("", Headers::name);
    println!("  round {round}, {server}, {case}, {headers}: {rate:.0}/s, {cpu_micros:.2} µs");
    std::io::stdout().flush().expect("stdout");
}

impl Row {
    fn cells(&self, baseline: &str, rows: &[Row]) -> [Cell; 9] {
        let find = |case: &str| {
            let headers = self.headers.unwrap_or(Headers::Minimal);
            rows.iter().find(|row| {
                row.server == baseline && row.case == case && row.headers == Some(headers)
            })
        };
        let base = find(self.case).or_else(|| find(self.baseline));
        let ratio = base
            .filter(|_| self.server != baseline)
            .and_then(|base| self.series.cpu_ratio(&base.series));
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        let number = |figure: fn(&Sample) -> f64, digits: usize| {
            right(format!("{:.digits$}", self.series.median(figure)))
        };
        [
            Cell::new(self.case),
            Cell::new(self.headers.map_or("RESP", Headers::name)),
            Cell::new(self.server),
            number(|sample| sample.rate, 0),
            number(|sample| sample.p50_ms, 2),
            number(|sample| sample.p99_ms, 2),
            number(|sample| sample.cpu_micros, 2),
            right(ratio.map_or(String::new(), |ratio| ratio.median_text())),
            right(ratio.map_or(String::new(), |ratio| ratio.range_text())),
        ]
    }
}
