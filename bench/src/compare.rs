//! Servers under load, compared with each other: rounds, and the table of their medians.
//!
//! In each round every server starts alone on an empty data folder, runs all of its cases and stops.
//! The order of the servers is reversed in every second round. The first server is the baseline of
//! the ratios.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table};

use crate::child::Child;
use crate::load::{Headers, Load, Request, RespCommand};
use crate::pinning::Pinning;
use crate::sample::{Sample, Series};

/// The explanation below `--help`.
pub(crate) const HELP: &str = "\
Comparing two builds:
  --weir-before OLD --weir NEW runs both binaries in the same run. The rounds alternate between them, \
each on an empty data folder, and `CPU ratio` is the server's CPU time per request of NEW \
divided by that of OLD: 0.90 means that NEW needs 10 % less. The ratio is of the medians over all \
rounds, the range of single rounds. Two copies of one binary show the noise of the machine. \
Background jobs run every 10 s, so use --seconds 10 for a change to them.

Pinning:
  The server runs on CPU 0 and the load generator on CPU 1, so Weir serves with one thread.
  --unpinned leaves the placement to the scheduler.";

const QUICK_ROUNDS: usize = 3;
const ROUNDS: usize = 5;

/// Options of the benchmarks that start servers.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds that a case runs in each round.
    #[arg(long, default_value_t = 2)]
    pub(crate) seconds: u64,
    /// Number of rounds; 5 by default, 3 with --quick.
    #[arg(long)]
    rounds: Option<usize>,
    /// Connections of the load generator.
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: usize,
    /// Fewer rounds, and only the cases that judge a change.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run only the cases whose name contains this text.
    #[arg(long, value_name = "TEXT")]
    case: Option<String>,
    /// Leave the placement of the server and the load generator to the scheduler.
    #[arg(long)]
    unpinned: bool,
    /// The `weir` binary to measure; by default the one beside this program.
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
    /// Another `weir` binary to compare with, instead of the peers.
    #[arg(long, value_name = "PATH")]
    pub(crate) weir_before: Option<PathBuf>,
}

/// A server to measure.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    /// Starts the server on an empty folder and prepares its cases.
    pub(crate) start: Start<'a>,
}

/// Returns the server on a data folder, and the cases to run on it.
type Start<'a> = Box<dyn Fn(&Path) -> (Child, Vec<Case>) + 'a>;

/// A workload to measure.
pub(crate) struct Case {
    name: &'static str,
    /// The case of the baseline to compare with, if the baseline has no case of the same name.
    baseline: &'static str,
    workload: Workload,
    /// Operations that one request contains.
    operations: u64,
}

enum Workload {
    Http(Request),
    Resp(RespCommand),
}

/// The samples of a case on one server.
struct Row {
    server: &'static str,
    case: &'static str,
    baseline: &'static str,
    headers: Option<Headers>,
    series: Series,
}

impl Options {
    pub(crate) fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { QUICK_ROUNDS } else { ROUNDS })
    }

    pub(crate) fn pinning(&self) -> Pinning {
        if self.unpinned { Pinning::Unpinned } else { Pinning::Pinned }
    }

    pub(crate) fn weir(&self) -> PathBuf {
        let beside = std::env::current_exe().expect("this program").with_file_name("weir");
        let weir = self.weir.clone().unwrap_or(beside);
        assert!(weir.exists(), "{} does not exist, build it or pass --weir", weir.display());
        weir
    }

    /// The peers and Weir; with `--weir-before` the two builds of Weir.
    pub(crate) fn contenders<'a>(
        &'a self,
        peers: Vec<Contender<'a>>,
        start: impl Fn(&Path, &Path) -> (Child, Vec<Case>) + Copy + 'a,
    ) -> Vec<Contender<'a>> {
        let weir = |name, binary: PathBuf| Contender {
            name,
            start: Box::new(move |data| start(&binary, data)),
        };
        let mut contenders = match &self.weir_before {
            Some(before) => vec![weir("weir before", before.clone())],
            None => peers,
        };
        contenders.push(weir("weir", self.weir()));
        contenders
    }

    fn runs(&self, case: &Case) -> bool {
        self.case.as_ref().is_none_or(|text| case.name.contains(text))
    }
}

impl Case {
    pub(crate) fn http(name: &'static str, request: Request) -> Case {
        Case { name, baseline: name, workload: Workload::Http(request), operations: 1 }
    }

    pub(crate) fn resp(name: &'static str, command: RespCommand) -> Case {
        Case { name, baseline: name, workload: Workload::Resp(command), operations: 1 }
    }

    /// Compares this case with another case of the baseline.
    pub(crate) fn against(self, baseline: &'static str) -> Case {
        Case { baseline, ..self }
    }

    /// Counts each request as so many operations.
    pub(crate) fn operations(self, operations: u64) -> Case {
        Case { operations, ..self }
    }

    /// Runs the case once with each set of headers.
    fn run(&self, load: &Load, server: &Child) -> Vec<(Option<Headers>, Sample)> {
        let timed = |run: &dyn Fn() -> Sample| {
            let before = server.cpu_time();
            let sample = run();
            let used = (server.cpu_time() - before).as_secs_f64();
            let cpu_micros = used * 1e6 / sample.requests as f64;
            Sample { cpu_micros, ..sample }.per_operation(self.operations)
        };
        match &self.workload {
            Workload::Resp(command) => vec![(None, timed(&|| load.run_resp(command)))],
            Workload::Http(request) => {
                server.warm_up(request);
                let run = |headers| (Some(headers), timed(&|| load.run(request, headers)));
                vec![run(Headers::Minimal), run(Headers::Client)]
            }
        }
    }
}

/// Runs all rounds and prints the table. With a rate, requests are sent at that rate.
pub(crate) fn run(
    options: &Options,
    rate: Option<f64>,
    folder: &Path,
    contenders: &[Contender<'_>],
) {
    let load = Load {
        length: Duration::from_secs(options.seconds),
        connections: options.connections,
        pinning: options.pinning(),
        rate,
    };
    let mut rows = Vec::new();
    for round in 1..=options.rounds() {
        let mut order: Vec<&Contender<'_>> = contenders.iter().collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for contender in order {
            // The data folder is on the project's disk, because /tmp may be memory.
            let data = tempfile::tempdir_in(folder).expect("a data folder");
            let (server, cases) = (contender.start)(data.path());
            for case in cases.iter().filter(|case| options.runs(case)) {
                for (headers, sample) in case.run(&load, &server) {
                    progress(round, contender.name, case.name, headers, sample);
                    record(&mut rows, contender.name, case, headers, sample);
                }
            }
            server.stop();
        }
    }
    let baseline = contenders.first().map_or("", |contender| contender.name);
    print(&mut rows, baseline, options);
}

fn record(
    rows: &mut Vec<Row>,
    server: &'static str,
    case: &Case,
    headers: Option<Headers>,
    sample: Sample,
) {
    let same =
        |row: &&mut Row| row.server == server && row.case == case.name && row.headers == headers;
    if let Some(row) = rows.iter_mut().find(same) {
        row.series.0.push(sample);
        return;
    }
    let series = Series(vec![sample]);
    rows.push(Row { server, case: case.name, baseline: case.baseline, headers, series });
}

fn progress(round: usize, server: &str, case: &str, headers: Option<Headers>, sample: Sample) {
    let Sample { rate, cpu_micros, .. } = sample;
    let headers = headers.map_or("", Headers::name);
    println!("  round {round}, {server}, {case}, {headers}: {rate:.0}/s, {cpu_micros:.2} µs");
    std::io::stdout().flush().expect("stdout");
}

fn print(rows: &mut [Row], baseline: &'static str, options: &Options) {
    // Rows of the same case stand together, cases in the order in which they first ran.
    let cases: Vec<_> = rows.iter().map(|row| (row.case, row.headers)).collect();
    rows.sort_by_key(|row| cases.iter().position(|case| *case == (row.case, row.headers)));
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
    for row in rows.iter() {
        table.add_row(row.cells(baseline, rows));
    }
    println!("{table}");
    let place = match options.pinning() {
        Pinning::Pinned => "server and load generator pinned to a CPU each",
        Pinning::Unpinned => "server and load generator not pinned",
    };
    println!(
        "Medians of {} rounds of {} s with {} connections, {place}.\n\
         server µs/req: CPU time of the server process per request, user and kernel.\n\
         CPU ratio: that time divided by the time of {baseline}; range: the ratios of single rounds.",
        options.rounds(),
        options.seconds,
        options.connections,
    );
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
            right(ratio.map_or(String::new(), |ratio| ratio.medians_text())),
            right(ratio.map_or(String::new(), |ratio| ratio.range_text())),
        ]
    }
}
