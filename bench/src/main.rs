//! Benchmarks that print tables. Ratios count: both sides are measured in the same run.
#![expect(clippy::print_stdout, reason = "printing tables is what a benchmark is for")]
#![expect(clippy::expect_used, reason = "a benchmark that cannot go on should stop and say why")]

mod measure;
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
}

fn main() {
    match Cli::parse().command {
        Command::Table(args) => table::run(&args),
    }
}
