//! `weir-bench limiter`: the cost of an acquire.
//!
//! 1. [`http`]: over the network: `weir serve`, compared with throttlecrab and Redis ([`peers`]).
//! 2. [`library`]: in this process, compared with the one update of the store that an acquire makes.
//! 3. [`config`]: resolving the limits in force, with the reads of the store metered
//!    ([`metered_store`]).

mod config;
mod fixture;
mod http;
mod library;
mod metered_store;
mod peers;
mod read_costs;

use crate::compare::Options;

/// Arguments of `weir-bench limiter`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Parts to run; all by default.
    #[arg(value_enum)]
    parts: Vec<Part>,
    #[command(flatten)]
    options: Options,
    /// http: send so many requests per second with oha, and count latencies from when each was due.
    #[arg(long)]
    rate: Option<f64>,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    /// Over the network, compared with peers or with another build.
    Http,
    /// In this process.
    Library,
    /// Reads of the config.
    Config,
}

pub(crate) fn run(args: &Args) {
    // The data folder is on the project's disk, because /tmp may be memory.
    let folder = tempfile::tempdir_in(".").expect("a temporary folder");
    let runs = |part| args.parts.is_empty() || args.parts.contains(&part);
    if runs(Part::Http) {
        http::run(&args.options, args.rate, folder.path());
    }
    if runs(Part::Library) {
        // Nothing has to connect first, so half of the time is enough.
        library::run(folder.path(), args.options.length() / 2, args.options.rounds);
    }
    if runs(Part::Config) {
        config::run(folder.path());
    }
}
