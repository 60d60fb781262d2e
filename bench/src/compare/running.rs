//! A contender while it runs.

use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::{Case, Contender, Options, Workload};
use crate::child::Child;
use crate::load::{Headers, Load};
use crate::sample::Sample;

/// The samples of one case, with the names of the servers.
type Samples<'a> = Vec<(&'static str, &'a Case, Sample)>;

/// A contender that runs, with its CPU time so far.
pub(super) struct Running {
    pub(super) name: &'static str,
    pub(super) server: Child,
    pub(super) cases: Vec<Case>,
    /// CPU time before the first run, and during all runs.
    cpu_before: Duration,
    cpu_in_runs: Duration,
    requests: u64,
    /// Removed when the server has stopped.
    _data: TempDir,
}

impl Running {
    pub(super) fn start(contender: &Contender<'_>, folder: &Path, options: &Options) -> Running {
        let data = tempfile::tempdir_in(folder).expect("a data folder");
        let (server, mut cases) = (contender.start)(data.path());
        cases.retain(|case| options.selects(case));
        for case in &cases {
            if let Workload::Http(request) = &case.workload {
                server.warm_up(request);
            }
        }
        Running {
            name: contender.name,
            cpu_before: server.cpu_time(),
            server,
            cases,
            cpu_in_runs: Duration::ZERO,
            requests: 0,
            _data: data,
        }
    }

    /// Runs the case of this name with these headers, if the server has one.
    fn run(
        &mut self,
        load: &Load,
        name: &str,
        headers: Option<Headers>,
    ) -> Option<(&'static str, &Case, Sample)> {
        let before = self.server.cpu_time();
        let mut cases = self.cases.iter().filter(|case| case.name == name);
        let (case, sample) = cases.find_map(|case| Some((case, case.run(load, headers)?)))?;
        let used = self.server.cpu_time() - before;
        let cpu_micros = used.as_secs_f64() * 1e6 / sample.requests as f64;
        let sample = Sample { cpu_micros, ..sample }.per_operation(case.operations);
        self.cpu_in_runs += used;
        self.requests += sample.requests;
        Some((self.name, case, sample))
    }

    /// CPU time per request outside of the runs: background work.
    pub(super) fn background_micros(&self) -> f64 {
        let used = self.server.cpu_time() - self.cpu_before - self.cpu_in_runs;
        used.as_secs_f64() * 1e6 / self.requests as f64
    }
}

/// Runs a case on one server after the other.
pub(super) fn run_in_turn<'a>(
    all: &'a mut [Running],
    load: &Load,
    case: &str,
    headers: Option<Headers>,
) -> Samples<'a> {
    all.iter_mut().filter_map(|running| running.run(load, case, headers)).collect()
}

/// Runs a case on all servers at the same time.
pub(super) fn run_together<'a>(
    all: &'a mut [Running],
    load: &Load,
    case: &str,
    headers: Option<Headers>,
) -> Samples<'a> {
    std::thread::scope(|scope| {
        let run = |running: &'a mut Running| scope.spawn(move || running.run(load, case, headers));
        let threads: Vec<_> = all.iter_mut().map(run).collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("a run")).collect()
    })
}
