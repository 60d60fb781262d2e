//! `weir-bench edge`: what the HTTP edge costs, beside a bare axum server in the same run.
//!
//! 1. [`server`]: two servers, each a process of its own: a bare `hello`, and Weir's with the routes
//!    of [`counters`].
//! 2. [`crate::load`]: wrk and oha ask a route for a while and tell how fast it answered.
//! 3. [`compare`]: every run of a route stands between two runs of the bare server, as
//!    [`crate::rounds`] has it.
//! 4. [`footprint`]: memory, start and size of the server that runs alone.

mod compare;
mod counters;
mod footprint;
mod server;

use std::path::PathBuf;
use std::time::Duration;

pub(crate) use server::{Args as ServerArgs, serve};

use crate::child::Child;
use crate::load::Load;

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long each run of a route takes, in seconds.
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// How often each route is run.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Connections that ask at the same time.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// Only wrk, and neither memory nor start, for tuning.
    #[arg(long)]
    quick: bool,
    /// The server binary for memory, start and size; the one beside this program when not given.
    #[arg(long, value_name = "PATH")]
    weir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) {
    // On the disk of the project, not in memory, which /tmp may be.
    let folder = tempfile::tempdir_in(".").expect("a temporary folder");
    let bare = Child::start(&mut server::command("bare", folder.path()));
    let weir = Child::start(&mut server::command("weir", &folder.path().join("weir")));
    let load = Load { length: Duration::from_secs(args.seconds), connections: args.connections };
    compare::run(&load, &bare, &weir, args.rounds, args.quick);
    bare.stop();
    weir.stop();
    if !args.quick {
        footprint::run(folder.path(), args.weir.clone());
    }
}
