//! `weir keeper rotate` and `secret`: the credentials of clients.

use clap::Args;
use weir_api::keeper::{ClientSecret, RotationRequest, RotationResponse};

use super::target::TargetArgs;
use crate::commands::api_context::{ApiContext, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct RotateArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Hours for which the old secret works after the new one was fetched: 0 to 168 [default: 24]
    #[arg(long, value_name = "N")]
    grace_hours: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct SecretArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// The one-time token that `apply` or `rotate` printed
    #[arg(long)]
    token: String,
}

/// The token alone goes to stdout, so that a script can store it.
pub(super) async fn rotate(context: &ApiContext<'_>, args: RotateArgs) -> Result<(), Failure> {
    let path = args.target.path(context, &["credentials", "rotate"]);
    let request = RotationRequest { grace_period_hours: args.grace_hours };
    let rotated: RotationResponse = context.api.post(&path, &request).await?;
    context.print(&rotated, |rotated| {
        let (retrieval, rotation) = (&rotated.secret_retrieval, &rotated.rotation);
        output::note(format!(
            "fetch the new secret before {} with `weir keeper secret {} --token …`; \
             the old one works for {} h after that",
            retrieval.expires_at,
            args.target.words(),
            rotation.grace_period_hours
        ));
        output::line(&retrieval.token)
    })
}

/// The secret alone goes to stdout, so that a script can store it.
pub(super) async fn secret(context: &ApiContext<'_>, args: SecretArgs) -> Result<(), Failure> {
    let path = args.target.path(context, &["credentials", "secret"]);
    let path = with_query(&path, &[("token", Some(&args.token))]);
    let fetched = context.api.get(&path).await;
    let secret: ClientSecret = fetched.map_err(|failure: Failure| {
        let again =
            format!("`weir keeper rotate {}` creates a new one-time token", args.target.words());
        if failure.next().is_none() { failure.help(again) } else { failure }
    })?;
    output::note("this secret is shown once and stored nowhere: save it now");
    context.print(&secret, |secret| {
        output::note(format!("client_id: {}", secret.client_id));
        output::line(&secret.client_secret)
    })
}
