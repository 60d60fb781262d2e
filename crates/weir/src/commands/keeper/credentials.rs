//! `weir keeper rotate` and `secret`: the credentials of clients.

use clap::Args;
use serde_json::json;
use weir_api::keeper::{ClientSecret, RotationRequest, RotationResponse, SecretRequest};
use weir_api::secret::Secret;

use super::target::TargetArgs;
use crate::commands::api_context::ApiContext;
use crate::failure::Failure;
use crate::{output, time};

#[derive(Debug, Args)]
pub(super) struct RotateArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Hours for which the old secret works after the new one was fetched: 0 to 168 [default: 24]
    #[arg(long, value_name = "N")]
    grace_hours: Option<u32>,
    /// Cancel the rotation that waits: its one-time token becomes void, and the secret stays
    #[arg(long, conflicts_with = "grace_hours")]
    cancel: bool,
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
    if args.cancel {
        context.api.delete::<()>(&path).await?;
        let result = json!({"cancelled": true});
        return context.print(&result, |_| output::line("the rotation was cancelled"));
    }
    let request = RotationRequest { grace_period_hours: args.grace_hours };
    let rotated: RotationResponse = context.api.post(&path, &request).await?;
    context.print(&rotated, |rotated| {
        let (retrieval, rotation) = (&rotated.secret_retrieval, &rotated.rotation);
        output::note(format!(
            "fetch the new secret before {} with `weir keeper secret {} --token …`; \
             the old one works for {} h after that",
            time::until(&retrieval.expires_at),
            args.target.words(),
            rotation.grace_period_hours
        ));
        output::line(&retrieval.token)
    })
}

/// The secret alone goes to stdout, so that a script can store it.
pub(super) async fn secret(context: &ApiContext<'_>, args: SecretArgs) -> Result<(), Failure> {
    let path = args.target.path(context, &["credentials", "secret"]);
    // In the body, because proxies log the query.
    let request = SecretRequest { token: Some(Secret::new(args.token)) };
    let fetched = context.api.post(&path, &request).await;
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
