//! `weir keeper`: budgets, from the command line. Every verb is a call of the API, but for `simulate`, which works
//! nothing out that the keeper does not, and needs no store.

mod amount;
mod app;
mod audit;
mod configured;
mod credentials;
mod file;
mod org;
mod prices;
mod profiles;
mod select;
mod simulate;
mod sticky;
mod submit;
mod token;
mod totals;
mod webhooks;
mod whose;

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

An org's file has org_id, org_name, timezone, quota_scope (ORG or APP), model_ordering and quotas; an app's file has
org_id, app_id, app_name and what differs from its org. Quotas are a day's, in micro-USD or like $12.50.";

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
    /// Set orgs up, list them, look at them
    #[command(subcommand)]
    Org(org::Verb),
    /// Set apps of an org up, list them, look at them
    #[command(subcommand)]
    App(app::Verb),
    /// Promise a client a new secret, and print the one-time token that fetches it
    Rotate(credentials::RotateArgs),
    /// Fetch a promised secret, once, and print it
    Secret(credentials::SecretArgs),
    /// Get, renew and take back the tokens of clients
    #[command(subcommand)]
    Token(token::Verb),
    /// Tell which model an app shall use now
    Select(select::SelectArgs),
    /// Submit what calls of a model used
    Submit(Box<submit::SubmitArgs>),
    /// Show what was used and spent
    Totals(totals::TotalsArgs),
    /// Move a chain to a model for the rest of the day, or take that back
    #[command(subcommand)]
    Sticky(sticky::Verb),
    /// Show who changed what of an org or an app, the newest first
    Audit(audit::AuditArgs),
    /// List, import and compare what models cost
    #[command(subcommand)]
    Prices(prices::Verb),
    /// Register and list inference profiles of an app
    #[command(subcommand)]
    Profiles(profiles::Verb),
    /// Set, show, list and remove targets of signed notices
    #[command(subcommand)]
    Webhooks(webhooks::Verb),
    /// Replay a day against a configuration: when models would tighten and fall back, and what it would cost
    Simulate(Box<simulate::SimulateArgs>),
}

/// Runs the verb.
pub(crate) async fn run(args: KeeperArgs, source: &Source) -> Result<(), Failure> {
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
            // It was run above, without a store.
            Verb::Simulate(_) => Ok(()),
        }
    })
    .await
}
