//! `weir-bench reviews`: recordings, the access patterns, rollups and comparisons in this process, on the embedded store, and
//! recordings through a server.

mod generate;
mod growth;
mod http;
mod queries;
mod recording;
mod scene;

use std::path::PathBuf;
use std::time::Duration;

use crate::print::{right, table};

/// Findings in the tables on which queries and comparisons run.
const SIZES: [u64; 3] = [10_000, 100_000, 1_000_000];
const QUICK_SIZES: usize = 2;

/// Arguments of `weir-bench reviews`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parts to run: all of them by default.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// The `weir` binary to measure; by default the one beside this program.
    #[arg(long)]
    weir: Option<PathBuf>,
    /// Seconds that each case runs.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// One second for each case, and no table of a million findings.
    #[arg(long)]
    quick: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    /// Recordings of whole reviews.
    Recording,
    /// Recordings of whole reviews through `weir serve`.
    Http,
    /// Rollup, comparison and queries on tables of growing size.
    Growth,
    /// Comparison of as many models as are allowed.
    Models,
}

pub(crate) fn run(args: &Args) {
    // The data folder is on the project's disk, because /tmp may be memory.
    let folder = tempfile::tempdir_in(".").expect("a temporary folder");
    let length = Duration::from_secs_f64(if args.quick { 1.0 } else { args.seconds });
    let sizes = SIZES.get(..if args.quick { QUICK_SIZES } else { SIZES.len() });
    let runs = |part| args.parts.is_empty() || args.parts.contains(&part);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("tokio");
    runtime.block_on(async {
        if runs(Part::Recording) {
            recording::run(folder.path(), length).await;
        }
        if runs(Part::Growth) {
            growth::run(folder.path(), sizes.expect("sizes"), length).await;
        }
        if runs(Part::Models) {
            growth::compare_most_models(folder.path()).await;
        }
    });
    if runs(Part::Http) {
        let beside = || std::env::current_exe().expect("this program").with_file_name("weir");
        let binary = args.weir.clone().unwrap_or_else(beside);
        http::run(folder.path(), &binary, length);
    }
}
