//! `weir keeper`: budgets from the command line. Every verb calls the API, except `simulate`, which runs the keeper's rules
//! without a store.

mod amount;
mod app;
mod audit;
mod credentials;
mod deletion;
mod effective;
mod file;
mod org;
mod prices;
mod profiles;
mod select;
mod simulate;
mod sticky;
mod submit;
mod target;
mod token;
mod totals;
mod webhooks;

use clap::{Args, Subcommand};

use crate::api::{Api, ApiFlags};
use crate::commands::api_context::ApiContext;
use crate::config::Source;
use crate::failure::Failure;

const ROOT: &str = "/api/v1";

const AFTER_HELP: &str = "\
Examples:
  weir keeper org apply org.yaml
  weir keeper app apply app.yaml
  weir keeper secret 550e8400-e29b-41d4-a716-446655440000 api --token TOKEN
  weir keeper select 550e8400-e29b-41d4-a716-446655440000 api
  weir keeper submit 550e8400-e29b-41d4-a716-446655440000 api --model premium --input 1200 --output 300
  weir keeper totals 550e8400-e29b-41d4-a716-446655440000 --from 2026-01-01 --to 2026-01-31 --plot
  weir keeper simulate --org org.yaml --requests 20000 --plot

An org's file has org_id, org_name, timezone, quota_scope (ORG or APP), model_ordering and \
quotas; an app's file has org_id, app_id, app_name and the settings that differ from its org. \
Quotas apply to a day, in micro-USD or like $12.50.";

/// Flags of `weir keeper`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct KeeperArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create, change, list, show, delete and restore orgs
    #[command(subcommand)]
    Org(org::Verb),
    /// Create, change, list, show, delete and restore the apps of an org
    #[command(subcommand)]
    App(app::Verb),
    /// Create a one-time token for a new secret of a client, and print it; or cancel that
    Rotate(credentials::RotateArgs),
    /// Fetch a new secret with its one-time token, and print it
    Secret(credentials::SecretArgs),
    /// Get, refresh and revoke tokens of clients
    #[command(subcommand)]
    Token(token::Verb),
    /// Select the model for an app's next call
    Select(select::SelectArgs),
    /// Submit the usage of calls
    Submit(Box<submit::SubmitArgs>),
    /// Show usage and spend
    Totals(totals::TotalsArgs),
    /// Move a chain to a model for the rest of the day, or undo that
    #[command(subcommand)]
    Sticky(sticky::Verb),
    /// Show changes of an org or an app, newest first
    Audit(audit::AuditArgs),
    /// List, import and compare prices of models
    #[command(subcommand)]
    Prices(prices::Verb),
    /// Register, list and delete inference profiles of an app
    #[command(subcommand)]
    Profiles(profiles::Verb),
    /// Set, show, list and remove webhooks; list their last notices, and send one again
    #[command(subcommand)]
    Webhooks(webhooks::Verb),
    /// Replay a day against a configuration: when each quota would be spent, and what the day would cost
    Simulate(Box<simulate::SimulateArgs>),
}

/// Runs the verb.
pub(crate) async fn run(args: KeeperArgs, source: &Source) -> Result<(), Failure> {
    call(args, source).await.map_err(with_list_command)
}

/// Says how to list the resources when one was not found.
fn with_list_command(failure: Failure) -> Failure {
    let list = match failure.missing_kind() {
        Some("org") => "org list",
        Some("app") => "app list ORG",
        Some("webhook") => "webhooks list ORG",
        Some("delivery") => "webhooks deliveries ORG ID",
        _ => return failure,
    };
    failure.help(format!("`weir keeper {list}` shows those that exist"))
}

async fn call(args: KeeperArgs, source: &Source) -> Result<(), Failure> {
    let loaded = args.api.load(source)?;
    let verb = match args.verb {
        Verb::Simulate(verb) => return simulate::run(&loaded, *verb, args.api.json).await,
        verb => verb,
    };
    Api::with(&loaded, async |api| {
        let context = ApiContext::new(api, ROOT, args.api.json);
        match verb {
            Verb::Org(verb) => org::run(&context, verb).await,
            Verb::App(verb) => app::run(&context, verb).await,
            Verb::Rotate(args) => credentials::rotate(&context, args).await,
            Verb::Secret(args) => credentials::secret(&context, args).await,
            Verb::Token(verb) => token::run(&context, verb).await,
            Verb::Select(args) => select::run(&context, args).await,
            Verb::Submit(args) => submit::run(&context, &loaded, *args).await,
            Verb::Totals(args) => totals::run(&context, args).await,
            Verb::Sticky(verb) => sticky::run(&context, verb).await,
            Verb::Audit(args) => audit::run(&context, args).await,
            Verb::Prices(verb) => prices::run(&context, verb).await,
            Verb::Profiles(verb) => profiles::run(&context, verb).await,
            Verb::Webhooks(verb) => webhooks::run(&context, verb).await,
            // Run above, without a store.
            Verb::Simulate(_) => Ok(()),
        }
    })
    .await
}
