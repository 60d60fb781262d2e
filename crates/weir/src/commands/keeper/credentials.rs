//! `weir keeper rotate` and `secret`: the credentials of clients.

use clap::Args;
use weir_server::keeper::credentials::{Rotate, Rotated, SecretAnswer};

use super::whose::WhoseArgs;
use crate::commands::api_context::{ApiContext, with_query};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct RotateArgs {
    #[command(flatten)]
    whose: WhoseArgs,
    /// Hours for which the old secret goes on working once the new one was fetched: 0 to 168 [default: 24]
    #[arg(long, value_name = "N")]
    grace_hours: Option<u32>,
}

#[derive(Debug, Args)]
pub(super) struct SecretArgs {
    #[command(flatten)]
    whose: WhoseArgs,
    /// The one-time token that `apply` or `rotate` printed
    #[arg(long)]
    token: String,
}

/// The token alone goes to stdout, so that a script can keep it.
pub(super) async fn rotate(context: &ApiContext<'_>, args: RotateArgs) -> Result<(), Failure> {
    let path = args.whose.path(context, &["credentials", "rotate"]);
    let wanted = Rotate { grace_period_hours: args.grace_hours };
    let rotated: Rotated = context.api.post(&path, &wanted).await?;
    context.print(&rotated, |rotated| {
        let (retrieval, rotation) = (&rotated.secret_retrieval, &rotated.rotation);
        output::note(format!(
            "until {} `weir keeper secret {} --token …` makes the new secret; \
             the old one works for {} h more from then on, and as before if nobody does",
            retrieval.expires_at,
            args.whose.words(),
            rotation.grace_period_hours
        ));
        output::line(&retrieval.token)
    })
}

/// The secret alone goes to stdout, so that a script can keep it.
pub(super) async fn secret(context: &ApiContext<'_>, args: SecretArgs) -> Result<(), Failure> {
    let path = args.whose.path(context, &["credentials", "secret"]);
    let path = with_query(&path, &[("token", Some(&args.token))]);
    let fetched = context.api.get(&path).await;
    let secret: SecretAnswer = fetched.map_err(|failure: Failure| {
        let again = format!("`weir keeper rotate {}` promises a new one", args.whose.words());
        if failure.next().is_none() { failure.help(again) } else { failure }
    })?;
    output::note("this secret is shown once and kept nowhere: put it away now");
    context.print(&secret, |secret| {
        output::note(format!("client_id: {}", secret.client_id));
        output::line(&secret.client_secret)
    })
}
