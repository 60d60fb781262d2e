//! `weir admin-key` and `weir signing-key`: replacing the operator's keys.

use clap::{Args, Subcommand};
use weir_api::server::{NewAdminKey, NewSigningKey};
use weir_framework::auth::Secret;

use crate::api::{Api, ApiFlags};
use crate::config::Source;
use crate::failure::Failure;
use crate::output;
use crate::place::Place;

/// Flags of `weir admin-key` and `weir signing-key`.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Replace the key with a new one
    Rotate,
}

/// Replaces the admin key and prints the new one.
pub(crate) async fn run(args: KeyArgs, source: &Source) -> Result<(), Failure> {
    let Verb::Rotate = args.verb;
    let loaded = args.api.load(source)?;
    let rotate = async |api: &Api| api.post::<NewAdminKey>("/v1/admin-key/rotate", &()).await;
    let new = Api::with(&loaded, rotate).await?;
    if let (None, Some(data)) = (&loaded.remote, Place::of(&loaded.config.store).folder()) {
        let file = weir_framework::save_admin_key(data, &Secret::new(new.admin_key.as_str()))?;
        output::note(format!(
            "the new admin key is saved in {}; the old one is no longer valid",
            file.display()
        ));
    }
    if args.api.json {
        return Ok(output::json(&new)?);
    }
    Ok(output::line(&new.admin_key)?)
}

/// Replaces the key that signs tokens.
pub(crate) async fn run_signing(args: KeyArgs, source: &Source) -> Result<(), Failure> {
    let Verb::Rotate = args.verb;
    let loaded = args.api.load(source)?;
    let rotate = async |api: &Api| api.post::<NewSigningKey>("/v1/signing-key/rotate", &()).await;
    let new = Api::with(&loaded, rotate).await?;
    if args.api.json {
        return Ok(output::json(&new)?);
    }
    output::note("tokens signed with the previous key stay valid until they expire");
    Ok(output::line(format!("tokens are signed with {} from now on", new.kid))?)
}
