//! `weir keeper token`: tokens of clients. Secrets and tokens are read from a file or from standard input, because other users
//! can see command lines.

use clap::{Args, Subcommand};
use serde_json::json;
use weir_api::keeper::{
    RefreshRequest, RefreshResponse, RevocationRequest, TokenRequest, TokenResponse,
};
use weir_api::secret::Secret;

use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::{output, parse, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Get a pair of tokens for a client's secret, and print the access token
    Get(GetArgs),
    /// Get another access token for a refresh token
    Refresh(TokenArgs),
    /// Revoke a token, or all tokens of a client
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(super) struct GetArgs {
    /// org-ORG or org-ORG-app-APP
    client_id: String,
    /// File with the client's secret; - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    secret_file: String,
}

#[derive(Debug, Args)]
pub(super) struct TokenArgs {
    /// File with the token; - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    token_file: String,
}

#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// File with the token; - for standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    token_file: String,
    /// Revoke all tokens that this client has received so far
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

/// The content of a file, without blanks around it.
fn secret(file: &str, what: &str) -> Result<Secret, Failure> {
    let text = parse::read(file)?.trim().to_owned();
    if text.is_empty() {
        let place = if file == "-" { "standard input" } else { file };
        return Err(Failure::usage(format!("{place} has no {what}")));
    }
    Ok(Secret::new(text))
}

async fn get(context: &ApiContext<'_>, args: &GetArgs) -> Result<(), Failure> {
    let request = TokenRequest {
        client_id: args.client_id.clone(),
        client_secret: secret(&args.secret_file, "secret")?,
        grant_type: "client_credentials".to_owned(),
        scope: None,
    };
    let pair: TokenResponse = context.api.post("/auth/token", &request).await?;
    context.print(&pair, |pair| {
        output::note(format!(
            "valid for {} with scope `{}`; --json also prints the refresh token",
            time::secs(pair.expires_in),
            pair.scope
        ));
        output::line(&pair.access_token)
    })
}

async fn refresh(context: &ApiContext<'_>, args: &TokenArgs) -> Result<(), Failure> {
    let request = RefreshRequest {
        refresh_token: secret(&args.token_file, "token")?,
        grant_type: Some("refresh_token".to_owned()),
    };
    let issued: RefreshResponse = context.api.post("/auth/refresh", &request).await?;
    context.print(&issued, |issued| {
        output::note(format!(
            "valid for {} with scope `{}`",
            time::secs(issued.expires_in),
            issued.scope
        ));
        output::line(&issued.access_token)
    })
}

async fn revoke(context: &ApiContext<'_>, args: &RevokeArgs) -> Result<(), Failure> {
    let request = match &args.all_of {
        Some(client) => RevocationRequest {
            client_id: Some(client.clone()),
            all: true,
            ..RevocationRequest::default()
        },
        None => RevocationRequest {
            token: Some(secret(&args.token_file, "token")?),
            ..RevocationRequest::default()
        },
    };
    context.api.post::<()>("/auth/revoke", &request).await?;
    let result = json!({"revoked": true, "all_of": args.all_of});
    context.print(&result, |_| match &args.all_of {
        Some(client) => {
            output::line(format!("all tokens of {} are revoked", output::printable(client)))
        }
        None => output::line("the token is revoked"),
    })
}
