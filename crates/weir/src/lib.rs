//! `weir`: the server and the commands, in one binary.
//!
//! Each command is one file under `commands`. [`api`] calls the API of a running server or of a store that this process
//! opens; `place` selects and opens the store, `tables` reads and writes items; [`output`] is the only file that prints.

pub mod api;
mod arguments;
mod bars;
mod commands;
mod config;
mod demo;
pub mod failure;
mod layout;
mod log;
pub mod output;
mod parse;
mod plain;
mod progress;
mod remote;
mod serve;
mod settings;
mod state;
mod store_location;
mod tables;
mod time;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use weir_framework::Service;

use crate::config::{Loaded, Source};
use crate::failure::Failure;

const AFTER_HELP: &str = "\
Examples:
  weir serve                                    run a server on the store in ./weir-data
  weir tables create --spec orders.json         create a table
  weir table put orders --plain --item '{\"PK\": \"ORG#1\", \"SK\": \"ORDER#7\", \"total\": 12.5}'
  weir table query orders --pk 'ORG#1'          read items
  weir backup /backups/monday --passphrase-file FILE    copy the store while it is in use
  weir copy --from embedded:./weir-data --to 'dynamodb:?region=eu-central-1'
  weir token issue report --scope ns:default    a token for a program
  weir limiter limits set --system --limit rpm=100/min
  weir keeper org apply org.yaml                a budget
  weir reviews record review.json --fail-on high
  weir practice usage take 42 hint              one action of a user's daily limit
  weir practice migrate backfill                copy the data of an application from PostgreSQL
  weir config                                   the values in effect and their origins
  weir doctor                                   check configuration, store and machine

Commands use the server that has the store open. Without a server they open the store \
themselves. With --url (or WEIR_URL) they call a server elsewhere, with the token or admin key \
of --token-file, WEIR_TOKEN_FILE or WEIR_TOKEN:
  weir --url https://weir.example.com --token-file token.txt limiter check user-1 gpt-4

Exit codes:
  0  success
  1  a failure of the store, the disk or the network
  2  invalid input: a flag, the configuration, JSON, a spec, the kind of a key
  3  refused or not found: a missing table or item, a condition that is not met, a folder in use
  4  a check found a problem: `tables verify`, `verify`, `repair`, `copy`, `doctor`,
     `limiter limits diff`, `keeper prices diff`, `reviews record --fail-on`, `reviews rollups verify`,
     `practice jobs watch`, `practice usage recount`, `practice plans recount`,
     `practice stats verify`, `practice migrate backfill`,
     `practice migrate validate`";

/// Usage control plane for AI applications: limits, budgets, metering and their records.
#[derive(Parser)]
#[command(version, after_help = AFTER_HELP)]
struct Cli {
    /// Configuration file [default: ./weir.toml if it exists] [env: WEIR_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    remote: remote::RemoteFlags,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server until SIGTERM or Ctrl-C
    Serve(serve::ServeArgs),
    /// Wait until a server is ready, and print its address
    Wait(commands::wait::WaitArgs),
    /// Show the configuration in effect, and the origin of each value
    Config(commands::config::ConfigArgs),
    /// Check the configuration, the store and the machine
    Doctor(commands::doctor::DoctorArgs),
    /// Issue, list and revoke tokens
    Token(commands::token::TokenArgs),
    /// Replace the admin key
    AdminKey(commands::admin_key::KeyArgs),
    /// Replace and end signing keys of tokens
    SigningKey(commands::admin_key::SigningKeyArgs),
    /// List who issued, revoked and rotated credentials, and who failed to sign in
    SecurityLog(commands::security_log::SecurityLogArgs),
    /// Set and show rate limits, and take tokens
    Limiter(commands::limiter::LimiterArgs),
    /// Manage daily budgets: orgs, apps, models, costs
    Keeper(commands::keeper::KeeperArgs),
    /// Record reviews of pull requests by AI models, and compare the models
    Reviews(commands::reviews::ReviewsArgs),
    /// Manage users, daily limits, problems, runs and jobs of a coding-practice platform
    Practice(commands::practice::PracticeArgs),
    /// List and run background jobs
    Jobs(commands::jobs::JobsArgs),
    /// Create, check, list, describe and delete tables
    Tables(commands::tables::TablesArgs),
    /// Read a table, and change single items
    Table(commands::table::TableArgs),
    /// Copy an embedded store to a folder while it is in use
    Backup(commands::backup::BackupArgs),
    /// Create an embedded store from a backup
    Restore(commands::restore::RestoreArgs),
    /// Check every byte of an embedded store that is not in use
    Verify(commands::verify::VerifyArgs),
    /// Write a damaged embedded store anew from what can be read
    Repair(commands::repair::RepairArgs),
    /// Copy whole tables between stores, and verify the copies
    Copy(commands::copy::CopyArgs),
    /// Print a completion script for a shell
    Completions(commands::completions::CompletionsArgs),
}

impl Command {
    /// Whether the command calls the API of a server, or works on a store that a server may have open.
    fn calls_api(&self) -> bool {
        !matches!(
            self,
            Command::Serve(_)
                | Command::Config(_)
                | Command::Doctor(_)
                | Command::Restore(_)
                | Command::Copy(_)
                | Command::Completions(_)
        )
    }
}

/// Runs the command that the arguments name.
#[must_use]
pub fn main() -> ExitCode {
    // Everything that this process makes is for its user only, the files of the libraries it uses included.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let (cli, json) = match arguments::parse() {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::fault("starting the async runtime").because(error))
        .and_then(|runtime| runtime.block_on(run(cli)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

/// The services, with the configured settings.
fn services(loaded: &Loaded) -> Vec<Box<dyn Service>> {
    let in_force = config::in_force(loaded).unwrap_or_default();
    let settings = weir_server::Settings { in_force, ..loaded.config.services() };
    weir_server::services(settings, &loaded.config.jobs)
}

async fn run(cli: Cli) -> Result<(), Failure> {
    if cli.remote.names_server() && !cli.command.calls_api() {
        return Err(Failure::usage("--url is for commands that call the API of a server")
            .help("`weir --help` lists the commands"));
    }
    let source = &Source::new(cli.config, cli.remote);
    match cli.command {
        Command::Serve(args) => serve::run(args, source).await,
        Command::Wait(args) => commands::wait::run(args, source).await,
        Command::Config(args) => commands::config::run(&args, source),
        Command::Doctor(args) => commands::doctor::run(args, source).await,
        Command::Token(args) => commands::token::run(args, source).await,
        Command::AdminKey(args) => commands::admin_key::run(args, source).await,
        Command::SigningKey(args) => commands::admin_key::run_signing(args, source).await,
        Command::SecurityLog(args) => commands::security_log::run(args, source).await,
        Command::Limiter(args) => commands::limiter::run(args, source).await,
        Command::Keeper(args) => commands::keeper::run(args, source).await,
        Command::Reviews(args) => commands::reviews::run(args, source).await,
        Command::Practice(args) => commands::practice::run(args, source).await,
        Command::Jobs(args) => commands::jobs::run(args, source).await,
        Command::Tables(args) => commands::tables::run(args, source).await,
        Command::Table(args) => commands::table::run(args, source).await,
        Command::Backup(args) => commands::backup::run(args, source).await,
        Command::Restore(args) => commands::restore::run(args, source).await,
        Command::Verify(args) => commands::verify::run(args, source).await,
        Command::Repair(args) => commands::repair::run(args, source).await,
        Command::Copy(args) => commands::copy::run(args, source).await,
        Command::Completions(args) => commands::completions::run(&args, Cli::command()),
    }
}
