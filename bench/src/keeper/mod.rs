//! `weir-bench keeper`: submissions and model selections over HTTP, as `weir serve` does them on the embedded store.
//!
//! Submissions are synced to disk before they are answered, so beside them stands what the disk can do: how often a second it
//! syncs, and how many submissions that allows when each sync serves every connection that waits.

mod disk;
mod server;

use std::path::{Path, PathBuf};
use std::time::Duration;

use comfy_table::{Cell, CellAlignment, Table};

use self::server::Server;
use crate::load::{Answers, Load, Request, Tool};
use crate::rounds::Told;

/// Submissions of a batch.
const BATCH: usize = 100;

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long each run takes, in seconds.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// How often each case is run.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Connections that ask at the same time.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// The server binary; the one beside this program when not given.
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) {
    // On the disk of the project, not in memory, which /tmp may be.
    let folder = tempfile::tempdir_in(".").expect("a temporary folder");
    let beside = std::env::current_exe().expect("this program").with_file_name("weir");
    let weir = args.weir.clone().unwrap_or(beside);
    let load = Load { length: Duration::from_secs(args.seconds), connections: args.connections };
    let mut table = Table::new();
    table.load_style(comfy_table::presets::UTF8_FULL_CONDENSED);
    table.set_header(["what", "quota of", "asked by", "req/s", "p50 ms", "p99 ms", "server µs"]);
    for scope in ["ORG", "APP"] {
        for row in measure(&weir, &folder.path().join(scope), scope, &load, args.rounds) {
            table.add_row(row);
        }
    }
    println!("{table}");
    println!(
        "figures are the middle ones of all rounds; server µs: processor time of the server for a request;\n\
         submissions are on disk before they are answered, and the jobs sum them up meanwhile"
    );
    disk::tell(folder.path(), args.connections);
}

fn measure(
    weir: &Path,
    data: &Path,
    scope: &'static str,
    load: &Load,
    rounds: usize,
) -> Vec<[Cell; 7]> {
    let server = Server::start(weir, data, scope);
    let cases = [
        ("submission", server.submission()),
        ("model selection", server.selection(&[])),
        ("model selection, not changed", server.selection(&[server.etag()])),
    ];
    let mut rows = Vec::new();
    for (what, request) in cases {
        let told: Vec<Answers> = (0..rounds).map(|_| server.ask(load, &request)).collect();
        rows.push(cells(what, scope, &Told::of(&told, Vec::new()).answers));
    }
    let batches: Vec<Answers> = (0..rounds).map(|_| server.batches(load, BATCH)).collect();
    let answers = Told::of(&batches, Vec::new()).answers;
    rows.push(cells("submissions of batches of 100", scope, &answers));
    rows
}

fn cells(what: &str, scope: &str, answers: &Answers) -> [Cell; 7] {
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    [
        Cell::new(what),
        Cell::new(scope),
        Cell::new(Tool::Wrk.name()),
        right(format!("{:.0}", answers.rate)),
        right(format!("{:.2}", answers.p50_ms)),
        right(format!("{:.2}", answers.p99_ms)),
        right(format!("{:.1}", answers.server_micros)),
    ]
}

impl Server {
    fn ask(&self, load: &Load, request: &Request) -> Answers {
        let before = self.child.processor_time();
        let answers = load.run(Tool::Wrk, request);
        let used = self.child.processor_time() - before;
        Answers { server_micros: used.as_secs_f64() * 1e6 / answers.count as f64, ..answers }
    }

    /// Batches, told as submissions.
    fn batches(&self, load: &Load, size: usize) -> Answers {
        let answers = self.ask(load, &self.batch(size));
        Answers {
            count: answers.count * size as u64,
            rate: answers.rate * size as f64,
            server_micros: answers.server_micros / size as f64,
            ..answers
        }
    }
}
