//! `weir token`: tokens for operators and programs.

use clap::{Args, Subcommand};
use weir_api::server::{MadeToken, NewToken, Token};
use weir_framework::page::Page;

use crate::api::{Api, ApiFlags, part};
use crate::config::Source;
use crate::failure::Failure;
use crate::{output, time};

const AFTER_HELP: &str = "\
Examples:
  weir token issue nightly-report --scope ns:default --days 30
  weir token issue prometheus --scope metrics --days 366
  weir token issue deploy --scope admin
  weir token list
  weir token revoke 0198c1f2-7d1e-7c33-9c58-0d0f4d5b7a11

A scope is `admin`, `metrics` (only GET /metrics, for Prometheus), or grants separated by spaces:
`ns:NAME`, `org:ID`, `org:ID app:ID`, `reviews[:OWNER[/REPO]]`, `practice`, `practice:user:ID`, \
`practice:worker`. An action restricts a grant: `ns:NAME:acquire`, `org:ID:submit`, and `:read` \
at any of them. A token is shown once.";

const DAY_SECS: u64 = 24 * 60 * 60;

/// Flags of `weir token`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Issue a token and print it
    Issue(IssueArgs),
    /// List the tokens that have not expired
    List,
    /// Revoke a token
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
struct IssueArgs {
    /// Name of the token, shown in lists
    name: String,
    /// Scope of the token
    #[arg(long)]
    scope: String,
    /// Lifetime of the token in days
    #[arg(long, value_name = "N", default_value_t = 90, value_parser = clap::value_parser!(u64).range(1..=366))]
    days: u64,
}

#[derive(Debug, Args)]
struct RevokeArgs {
    /// Id of the token, as `list` shows it
    id: String,
}

/// Runs the verb.
pub(crate) async fn run(args: TokenArgs, source: &Source) -> Result<(), Failure> {
    let json = args.api.json;
    Api::with(&args.api.load(source)?, async |api| match args.verb {
        Verb::Issue(args) => issue(api, args, json).await,
        Verb::List => list(api, json).await,
        Verb::Revoke(args) => revoke(api, &args.id, json).await,
    })
    .await
}

async fn issue(api: &Api, args: IssueArgs, json: bool) -> Result<(), Failure> {
    let new =
        NewToken { name: args.name, scope: args.scope, expires_in: Some(args.days * DAY_SECS) };
    let made: MadeToken = api.post("/v1/tokens", &new).await?;
    if json {
        return Ok(output::json(&made)?);
    }
    output::note(format!(
        "token {} with scope `{}`, valid for {} days; its id is {}",
        made.name, made.scope, args.days, made.id
    ));
    Ok(output::line(made.access_token)?)
}

async fn list(api: &Api, json: bool) -> Result<(), Failure> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut path = "/v1/tokens?limit=100".to_owned();
    loop {
        let page: Page<Token> = api.get(&path).await?;
        tokens.extend(page.items);
        let Some(next) = page.next_cursor else { break };
        path = format!("/v1/tokens?limit=100&cursor={}", part(&next));
    }
    if json {
        return Ok(output::list(tokens)?);
    }
    let header = ["id", "name", "kind", "scope", "expires", "revoked"].map(str::to_owned);
    let rows = tokens.into_iter().map(|token| {
        let revoked = token.revoked_at.map(|at| time::relative(&at)).unwrap_or_default();
        vec![
            token.id,
            output::printable(&token.name),
            if token.session { "session" } else { "token" }.to_owned(),
            output::printable(&token.scope),
            time::relative(&token.expires_at),
            revoked,
        ]
    });
    Ok(output::table(header.to_vec(), rows, &[])?)
}

async fn revoke(api: &Api, id: &str, json: bool) -> Result<(), Failure> {
    let token: Token = api.delete(&format!("/v1/tokens/{}", part(id))).await?;
    if json {
        return Ok(output::json(&token)?);
    }
    Ok(output::line(format!("{} of {} is revoked", token.id, output::printable(&token.name)))?)
}
