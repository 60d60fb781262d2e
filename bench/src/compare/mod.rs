//! Servers under load, compared with each other: rounds, and the table of their medians.
//!
//! All servers run at once, each on an empty data folder. Peers have load in turn. Two builds of Weir
//! have load at the same time: whatever slows the machine down slows both, and their ratio stays.
//! The order of the servers is reversed in every second round. The first server is the baseline of
//! the ratios, which pair samples of the same round.

mod report;
mod running;

use std::path::{Path, PathBuf};
use std::time::Duration;

use self::report::Report;
use self::running::Running;
use crate::child::Child;
use crate::load::{Headers, Load, Request, RespCommand};
use crate::pinning::Pinning;
use crate::sample::Sample;

/// The explanation below `--help`.
pub(crate) const HELP: &str = "\
Comparing two builds:
  --weir-before OLD --weir NEW loads both binaries at the same time on the same CPU, each on an \
empty data folder, so that other work on the machine slows both. `CPU ratio` is the server's CPU \
time per request of NEW divided by that of OLD in the same round: 0.90 means that NEW needs 10 % \
less. The table shows the median over all rounds and the range. Two copies of one binary show the \
noise. req/s and latencies are those of half a CPU; run without --weir-before for absolute figures.

Pinning:
  The server runs on CPU 0 and the load generator on CPU 1, so Weir serves with one thread.
  --unpinned leaves the placement to the scheduler.";

/// Options of the benchmarks that start servers.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Seconds that a case runs in each round.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// Number of rounds.
    #[arg(long, default_value_t = 7)]
    pub(crate) rounds: usize,
    /// Connections of the load generator.
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: usize,
    /// Only the cases that judge a change.
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

impl Options {
    /// The time that a case runs in each round.
    pub(crate) fn length(&self) -> Duration {
        Duration::from_secs(self.seconds)
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

    fn selects(&self, case: &Case) -> bool {
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

    /// Runs the case once, if it can have these headers.
    fn run(&self, load: &Load, headers: Option<Headers>) -> Option<Sample> {
        match (&self.workload, headers) {
            (Workload::Http(request), Some(headers)) => Some(load.run(request, headers)),
            (Workload::Resp(command), None) => Some(load.run_resp(command)),
            _ => None,
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
        length: options.length(),
        connections: options.connections,
        pinning: options.pinning(),
        rate,
    };
    let mut running: Vec<Running> =
        contenders.iter().map(|contender| Running::start(contender, folder, options)).collect();
    let mut names: Vec<&'static str> = Vec::new();
    for case in running.iter().flat_map(|running| &running.cases) {
        if !names.contains(&case.name) {
            names.push(case.name);
        }
    }
    let mut report = Report::default();
    for round in 1..=options.rounds {
        for name in &names {
            for headers in [Some(Headers::Minimal), Some(Headers::Client), None] {
                let samples = match options.weir_before {
                    Some(_) => running::run_together(&mut running, &load, name, headers),
                    None => running::run_in_turn(&mut running, &load, name, headers),
                };
                for (server, case, sample) in samples {
                    report.record(round, server, case, headers, sample);
                }
            }
        }
        running.reverse();
    }
    let baseline = contenders.first().map_or("", |contender| contender.name);
    report.print(baseline, options);
    for running in running {
        if options.weir_before.is_none() {
            let (name, micros) = (running.name, running.background_micros());
            println!(
                "{name}: {micros:.2} µs/req of CPU time between its runs, for background work."
            );
        }
        running.server.stop();
    }
}
