//! `weir`: the server and the commands, in one binary.
//!
//! Each command is one file under `commands`. [`api`] calls the API of a running server or of a store
//! opened here; `place` says where tables are and opens them, `tables` asks for their items;
//! [`output`] is the only file that prints.

pub mod api;
mod bars;
mod commands;
mod config;
pub mod failure;
mod log;
pub mod output;
mod parse;
mod place;
mod plain;
mod progress;
mod serve;
mod settings;
mod tables;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use weir_framework::Service;

use crate::config::{Config, Source};
use crate::failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  weir serve                                    serve the embedded store in ./weir-data
  weir tables create --spec orders.json         make a table
  weir table put orders --plain --item '{\"PK\": \"ORG#1\", \"SK\": \"ORDER#7\", \"total\": 12.5}'
  weir table query orders --pk 'ORG#1'          look inside
  weir backup /backups/monday                   copy the store while it is in use
  weir copy --from embedded:./weir-data --to 'dynamodb:?region=eu-central-1'
  weir token issue report --scope ns:default    a token for a program
  weir limiter limits set --system --limit rpm=100/min
  weir keeper org apply org.yaml                a budget
  weir config                                   what is set, and where it came from
  weir doctor                                   check that all is well

Commands ask the server that has the store open, and open the store themselves when there is none.

Exit codes:
  0  done
  1  a fault: of the store, the disk, the network
  2  the request is wrong: a flag, the configuration, JSON, a spec, the kind of a key
  3  refused or not there: no such table or item, a condition that does not hold, a folder in use
  4  a check found something wrong: `tables verify`, `copy`, `doctor`, `limiter limits diff`,
     `keeper prices diff`";

/// Usage control plane for AI applications: limits, budgets, metering and their records.
#[derive(Parser)]
#[command(version, after_help = AFTER_HELP)]
struct Cli {
    /// Configuration file [default: ./weir.toml when it is there] [env: WEIR_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve until SIGTERM or Ctrl-C
    Serve(serve::ServeArgs),
    /// Show what is configured, and where each value came from
    Config(commands::config::ConfigArgs),
    /// Check that the configuration, the store and the machine are in order
    Doctor(commands::doctor::DoctorArgs),
    /// Issue, list and revoke tokens
    Token(commands::token::TokenArgs),
    /// Replace the admin key
    AdminKey(commands::admin_key::KeyArgs),
    /// Replace the key that signs tokens
    SigningKey(commands::admin_key::KeyArgs),
    /// Set rate limits, look at them, and take from them
    Limiter(commands::limiter::LimiterArgs),
    /// Keep spend inside daily budgets: orgs, apps, models, costs
    Keeper(commands::keeper::KeeperArgs),
    /// See and run background jobs
    Jobs(commands::jobs::JobsArgs),
    /// Make, check, list, describe and delete tables
    Tables(commands::tables::TablesArgs),
    /// Look inside a table, and change single items
    Table(commands::table::TableArgs),
    /// Copy an embedded store to a folder while it is in use
    Backup(commands::backup::BackupArgs),
    /// Make an embedded store from a backup
    Restore(commands::restore::RestoreArgs),
    /// Move whole tables between stores, and check that they arrived
    Copy(commands::copy::CopyArgs),
    /// Print a script that completes commands in a shell
    Completions(commands::completions::CompletionsArgs),
}

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::fault("starting the async runtime").because(error))
        .and_then(|runtime| runtime.block_on(run(cli.command, &Source::new(cli.config))));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// The services, set up as the configuration says.
fn services(config: &Config) -> Vec<Box<dyn Service>> {
    let (limiter, keeper) = (config.limiter.clone(), config.keeper.clone());
    weir_server::services(weir_server::Settings { limiter, keeper }, &config.jobs)
}

async fn run(command: Command, source: &Source) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => serve::run(args, source).await,
        Command::Config(args) => commands::config::run(&args, source),
        Command::Doctor(args) => commands::doctor::run(args, source).await,
        Command::Token(args) => commands::token::run(args, source).await,
        Command::AdminKey(args) => commands::admin_key::run(args, source).await,
        Command::SigningKey(args) => commands::admin_key::run_signing(args, source).await,
        Command::Limiter(args) => commands::limiter::run(args, source).await,
        Command::Keeper(args) => commands::keeper::run(args, source).await,
        Command::Jobs(args) => commands::jobs::run(args, source).await,
        Command::Tables(args) => commands::tables::run(args, source).await,
        Command::Table(args) => commands::table::run(args, source).await,
        Command::Backup(args) => commands::backup::run(args, source).await,
        Command::Restore(args) => commands::restore::run(args, source).await,
        Command::Copy(args) => commands::copy::run(args).await,
        Command::Completions(args) => commands::completions::run(&args, Cli::command()),
    }
}
