//! `weir keeper token`: tokens of clients, as they get them themselves. Secrets and tokens are read from a file or from
//! standard input: what stands in a command line is seen by others.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_server::keeper::auth::issue::{RefreshAnswer, TokenAnswer};

use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::{output, parse};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Get a pair of tokens for a client's secret; the access token is printed
    Get(GetArgs),
    /// Get another access token for a refresh token
    Refresh(TokenArgs),
    /// Take a token back, or all tokens of a client
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// org-ORG or org-ORG-app-APP
    client_id: String,
    /// Where its secret is; - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    secret_file: String,
}

#[derive(Debug, Args)]
pub(super) struct TokenArgs {
    /// Where the token is; - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    token_file: String,
}

#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// Where the token is; - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    token_file: String,
    /// Take back all tokens that this client was given so far
    #[arg(long, value_name = "CLIENT_ID", conflicts_with = "token_file")]
    all_of: Option<String>,
}

pub(super) async fn run(context: &ApiContext<'_>, verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Get(args) => get(context, &args).await,
        Verb::Refresh(args) => refresh(context, &args).await,
        Verb::Revoke(args) => revoke(context, &args).await,
    }
}

/// What a file holds, without the line's end.
fn secret(file: &str, what: &str) -> Result<String, Failure> {
    let text = parse::read(file)?.trim().to_owned();
    if text.is_empty() {
        let place = if file == "-" { "standard input" } else { file };
        return Err(Failure::usage(format!("{place} has no {what}")));
    }
    Ok(text)
}

async fn get(context: &ApiContext<'_>, args: &GetArgs) -> Result<(), Failure> {
    let asked = json!({
        "client_id": args.client_id,
        "client_secret": secret(&args.secret_file, "secret")?,
        "grant_type": "client_credentials",
    });
    let pair: TokenAnswer = context.api.post("/auth/token", &asked).await?;
    context.print(&pair, |pair| {
        let (scope, secs) = (&pair.scope, pair.expires_in);
        output::note(format!(
            "it may do `{scope}` for {secs} s; --json tells the refresh token too"
        ));
        output::line(&pair.access_token)
    })
}

async fn refresh(context: &ApiContext<'_>, args: &TokenArgs) -> Result<(), Failure> {
    let token = secret(&args.token_file, "token")?;
    let asked = json!({"refresh_token": token, "grant_type": "refresh_token"});
    let answer: RefreshAnswer = context.api.post("/auth/refresh", &asked).await?;
    context.print(&answer, |answer| {
        output::note(format!("it may do `{}` for {} s", answer.scope, answer.expires_in));
        output::line(&answer.access_token)
    })
}

async fn revoke(context: &ApiContext<'_>, args: &RevokeArgs) -> Result<(), Failure> {
    let asked = match &args.all_of {
        Some(client) => json!({"client_id": client, "all": true}),
        None => json!({"token": secret(&args.token_file, "token")?}),
    };
    context.api.post::<()>("/auth/revoke", &asked).await?;
    let told = json!({"revoked": true, "all_of": args.all_of});
    context.print(&told, |_| match &args.all_of {
        Some(client) => {
            output::line(format!("no token of {} counts any more", output::printable(client)))
        }
        None => output::line("the token counts no more"),
    })
}
