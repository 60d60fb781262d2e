//! `weir-bench practice`: the load of a coding-practice platform on `weir serve`, at the rates and with the volumes of the
//! source document, and the largest multiple of it that the machine holds.

mod connection;
mod exact;
mod open_loop;
mod report;
mod requests;
mod search;
mod seed;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use self::exact::AllowedCounts;
use self::open_loop::{Load, Outcome};
use self::requests::Requests;
use self::seed::Volumes;
use crate::child::Child;
use crate::measure::{bytes_below, load_average};
use crate::pinning::Pinning;
use crate::weir;

/// CPU time in a second below which the server counts as idle.
const IDLE_CPU: Duration = Duration::from_millis(100);
/// Longest wait for an idle server. After seeding, it rolls up what the change feed has.
const IDLE_WAIT_MAX: Duration = Duration::from_secs(600);
/// Users whose counters are compared with the log at the end.
const SAMPLE_USERS: u64 = 200;

/// Arguments of `weir-bench practice`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds of the load at the rates of the source.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Seconds of each multiple of it.
    #[arg(long, default_value_t = 10)]
    step_seconds: u64,
    /// Connections of the load generator.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// A tenth of the volumes, ten seconds of load, three of each multiple.
    #[arg(long)]
    quick: bool,
    /// Keep the seeded data in this folder, or use what is there.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Only the load at the rates of the source, no multiples.
    #[arg(long)]
    no_search: bool,
    /// Leave the placement of the server and the load generator to the scheduler.
    #[arg(long)]
    unpinned: bool,
    /// The `weir` binary to measure; by default the one beside this program.
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
}

impl Args {
    fn binary(&self) -> PathBuf {
        let beside = || std::env::current_exe().expect("this program").with_file_name("weir");
        self.weir.clone().unwrap_or_else(beside)
    }

    fn pinning(&self) -> Pinning {
        if self.unpinned { Pinning::Unpinned } else { Pinning::Pinned }
    }

    fn volumes(&self) -> Volumes {
        if self.quick { Volumes::SOURCE.tenth() } else { Volumes::SOURCE }
    }

    /// Length of the load at the rates of the source, and of each multiple.
    fn lengths(&self) -> (Duration, Duration) {
        let seconds = if self.quick { (10, 3) } else { (self.seconds, self.step_seconds) };
        (Duration::from_secs(seconds.0), Duration::from_secs(seconds.1))
    }
}

pub(crate) fn run(args: &Args) {
    // The data folder is on the project's disk, because /tmp may be memory.
    let temporary = tempfile::tempdir_in(".").expect("a temporary folder");
    let data = args.data.clone().unwrap_or_else(|| temporary.path().join("data"));
    let volumes = args.volumes();
    seed::ensure(&data, volumes);
    let server = weir::start(args.pinning(), &args.binary(), &data, &[]);
    args.pinning().move_this_process();
    wait_until_idle(&server);
    measure(args, &server, volumes, &data);
    server.stop();
}

fn measure(args: &Args, server: &Child, volumes: Volumes, data: &Path) {
    println!(
        "{volumes}; {} MiB on disk, server resident {} MiB; load average {}",
        bytes_below(data) / 1024 / 1024,
        server.resident_mib(),
        load_average(),
    );
    let requests = Requests::new(&server.origin, &practice_token(server), volumes);
    let allowed = AllowedCounts::start(server, volumes, SAMPLE_USERS);
    let (length, step) = args.lengths();
    let run = |multiple: f64, length: Duration| -> Outcome {
        let load = Load { multiple, length, connections: args.connections };
        open_loop::run(server, &requests, &allowed, load)
    };
    // Fills the caches, as after some minutes of use.
    run(1.0, step);
    let outcome = run(1.0, length);
    report::print_classes(&outcome, length);
    if !args.no_search {
        search::print(&outcome, |multiple| run(multiple, step));
    }
    allowed.check(server);
    println!("Load average at the end: {}", load_average());
}

/// A token with the scope of a backend that serves all users.
fn practice_token(server: &Child) -> String {
    let new = json!({"name": "bench", "scope": "practice"});
    weir::text(&weir::admin(server, "POST", "/v1/tokens", &new), "/access_token")
}

/// Waits until background jobs have nothing left of the seeding.
fn wait_until_idle(server: &Child) {
    println!("Waiting until the background jobs have rolled up the seeded usage");
    let begin = Instant::now();
    loop {
        let before = server.cpu_time();
        std::thread::sleep(Duration::from_secs(1));
        let is_idle = server.cpu_time() - before < IDLE_CPU;
        // The jobs begin some seconds after the start.
        if is_idle && begin.elapsed() > Duration::from_secs(15) {
            return;
        }
        assert!(begin.elapsed() < IDLE_WAIT_MAX, "the server does not become idle");
    }
}
