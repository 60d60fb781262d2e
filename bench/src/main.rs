//! Benchmarks that print tables. Compare the ratios: both sides of a ratio come from the same run.
#![expect(clippy::print_stdout, reason = "a benchmark prints tables")]
#![expect(clippy::expect_used, reason = "a benchmark that fails should stop and say why")]
#![expect(clippy::panic, reason = "a benchmark that fails should stop and say why")]

mod child;
mod compare;
mod edge;
mod keeper;
mod limiter;
mod load;
mod measure;
mod pinning;
mod practice;
mod print;
mod reviews;
mod sample;
mod table;
mod weir;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Weir's benchmarks.
///
/// `edge`, `limiter http` and `keeper` start servers, load them with wrk, and print requests/s,
/// latencies and the CPU time that the server used per request. Judge by the CPU time: on a
/// machine with other work it varies least.
///
/// To judge a change, build `weir` without and with it, and compare the two binaries in one run:
///
///   weir-bench limiter http --quick --weir-before OLD --weir NEW
///   weir-bench keeper --quick --weir-before OLD --weir NEW
///   weir-bench edge --quick --weir-before OLD --weir NEW
#[derive(Debug, Parser)]
#[command(verbatim_doc_comment)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The table store: conditional updates, gets and queries, compared with dynoxide-rs.
    Table(table::Args),
    /// The HTTP edge: routes of `weir serve`, compared with a bare axum server.
    #[command(after_long_help = compare::HELP)]
    Edge(edge::Args),
    /// The limiter: acquires over HTTP and in process, compared with throttlecrab and Redis.
    #[command(after_long_help = compare::HELP)]
    Limiter(limiter::Args),
    /// The keeper: submissions and model selections over HTTP.
    #[command(after_long_help = compare::HELP)]
    Keeper(keeper::Args),
    /// The reviews: recordings, queries, rollups and comparisons in process.
    Reviews(reviews::Args),
    /// The practice service: the load of a coding-practice platform over HTTP.
    Practice(practice::Args),
    /// The bare axum server that `edge` compares with.
    #[command(hide = true)]
    BareServer,
}

fn main() {
    match Cli::parse().command {
        Command::Table(args) => table::run(&args),
        Command::Edge(args) => edge::run(&args),
        Command::Limiter(args) => limiter::run(&args),
        Command::Keeper(args) => keeper::run(&args),
        Command::Reviews(args) => reviews::run(&args),
        Command::Practice(args) => practice::run(&args),
        Command::BareServer => edge::bare::serve(),
    }
}
