//! `weir-bench limiter`: what an acquire costs, beside two peers in the same run.
//!
//! 1. [`http`]: over the network, as processes of their own ([`servers`]): `weir serve`,
//!    throttlecrab-server and Redis, asked by wrk, oha and redis-benchmark ([`resp`]).
//! 2. [`library`]: in this process, beside the one update of the store that an acquire comes to.
//! 3. [`config`]: finding out whose limits hold, with the reads of the store counted ([`counting`]).

mod config;
mod counting;
mod fixture;
mod http;
mod library;
mod reads;
mod resp;
mod servers;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use crate::load::Load;

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to measure; everything when not given.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// How long each run takes, in seconds.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// How often each case is run.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Connections that ask at the same time.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Only wrk, for tuning.
    #[arg(long)]
    quick: bool,
    /// The server binary; the one beside this program when not given.
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum Part {
    /// Over the network, beside peers.
    Http,
    /// In this process.
    Library,
    /// Reads of the config.
    Config,
}

pub(crate) fn run(args: &Args) {
    // On the disk of the project, not in memory, which /tmp may be.
    let folder = tempfile::tempdir_in(".").expect("a temporary folder");
    let length = Duration::from_secs(args.seconds);
    let wanted = |part| args.parts.is_empty() || args.parts.contains(&part);
    if wanted(Part::Http) {
        let load = Load { length, connections: args.connections };
        let beside = std::env::current_exe().expect("this program").with_file_name("weir");
        let weir = args.weir.clone().unwrap_or(beside);
        let weir = Some(weir.as_path()).filter(|binary| binary.exists());
        if weir.is_none() {
            println!("no `weir` beside this program: only its peers are measured");
        }
        http::run(&load, folder.path(), weir, args.rounds, args.quick);
    }
    if wanted(Part::Library) {
        // Nothing has to connect and warm up first, so half as long tells as much.
        library::run(folder.path(), length / 2, args.rounds);
    }
    if wanted(Part::Config) {
        config::run(folder.path());
    }
}
