//! Benchmarks that print tables. Ratios count: both sides are measured in the same run.
#![expect(clippy::print_stdout, reason = "printing tables is what a benchmark is for")]
#![expect(clippy::expect_used, reason = "a benchmark that cannot go on should stop and say why")]

mod child;
mod edge;
mod keeper;
mod limiter;
mod load;
mod measure;
mod rounds;
mod table;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Weir's benchmarks.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The table store: conditional updates, gets and queries beside dynoxide-rs.
    Table(table::Args),
    /// The HTTP edge: routes of Weir's server beside a bare axum server.
    Edge(edge::Args),
    /// The limiter: acquires over HTTP and in process, beside throttlecrab and Redis.
    Limiter(limiter::Args),
    /// The keeper: submissions and model selections over HTTP.
    Keeper(keeper::Args),
    /// One of the servers that `edge` measures.
    #[command(hide = true)]
    EdgeServer(edge::ServerArgs),
}

fn main() {
    match Cli::parse().command {
        Command::Table(args) => table::run(&args),
        Command::Edge(args) => edge::run(&args),
        Command::Limiter(args) => limiter::run(&args),
        Command::Keeper(args) => keeper::run(&args),
        Command::EdgeServer(args) => edge::serve(args),
    }
}
