//! `weir admin-key` and `weir signing-key`: replacing and ending the operator's keys.

use clap::{Args, Subcommand};
use weir_api::server::{NewAdminKey, NewSigningKey, SigningKey, SigningKeyRotation};
use weir_framework::ADMIN_KEY_FILE;
use weir_framework::page::Page;

use crate::api::{Api, ApiFlags, part};
use crate::config::Source;
use crate::failure::Failure;
use crate::output;
use crate::store_location::StoreLocation;

const SIGNING_AFTER_HELP: &str = "\
Examples:
  weir signing-key rotate                  sign with a new key; existing tokens stay valid
  weir signing-key rotate --end-previous   and refuse every token signed so far
  weir signing-key list                    the keys that verify tokens
  weir signing-key end 3f0c9a1be2d47765    refuse every token of a replaced key

The server that is asked refuses the tokens of an ended key at once; instances on the same \
tables follow within auth.revocation_cache_secs. Keys that configuration sets are replaced \
there, and `end` works on them too.";

/// Flags of `weir admin-key`.
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

/// Flags of `weir signing-key`.
#[derive(Debug, Args)]
#[command(after_help = SIGNING_AFTER_HELP)]
pub(crate) struct SigningKeyArgs {
    #[command(subcommand)]
    verb: SigningVerb,
    #[command(flatten)]
    api: ApiFlags,
}

#[derive(Debug, Subcommand)]
enum SigningVerb {
    /// Replace the key with a new one
    Rotate {
        /// End the replaced key: refuse every token that it signed
        #[arg(long)]
        end_previous: bool,
    },
    /// List the keys that verify tokens
    List,
    /// End a replaced key: refuse every token that it signed
    End {
        /// Id of the key, as `list` shows it
        kid: String,
    },
}

/// Replaces the admin key and prints the new one.
pub(crate) async fn run(args: KeyArgs, source: &Source) -> Result<(), Failure> {
    let Verb::Rotate = args.verb;
    let loaded = args.api.load(source)?;
    let rotate = async |api: &Api| api.post::<NewAdminKey>("/v1/admin-key/rotate", &()).await;
    let new = Api::with(&loaded, rotate).await?;
    if let (None, Some(data)) = (&loaded.remote, StoreLocation::of(&loaded.config.store).folder()) {
        let file = data.join(ADMIN_KEY_FILE);
        let note = match file.exists() {
            true => format!("the new admin key is saved in {}", file.display()),
            false => format!("the new admin key could not be saved in {}", file.display()),
        };
        output::note(format!("{note}; the old one is no longer valid"));
    }
    if args.api.json {
        return Ok(output::json(&new)?);
    }
    Ok(output::line(&new.admin_key)?)
}

/// Replaces, lists or ends keys that sign tokens.
pub(crate) async fn run_signing(args: SigningKeyArgs, source: &Source) -> Result<(), Failure> {
    let json = args.api.json;
    Api::with(&args.api.load(source)?, async |api| match args.verb {
        SigningVerb::Rotate { end_previous } => rotate_signing(api, end_previous, json).await,
        SigningVerb::List => list_signing(api, json).await,
        SigningVerb::End { kid } => end_signing(api, &kid).await,
    })
    .await
}

async fn rotate_signing(api: &Api, end_previous: bool, json: bool) -> Result<(), Failure> {
    let rotation = SigningKeyRotation { end_previous };
    let new: NewSigningKey = api.post("/v1/signing-key/rotate", &rotation).await?;
    if json {
        return Ok(output::json(&new)?);
    }
    let previous = &new.previous_kid;
    output::note(match new.previous_ended {
        true => format!("tokens signed with {previous} are refused from now on"),
        false => format!(
            "tokens signed with {previous} stay valid until they expire; \
             `weir signing-key end {previous}` ends them"
        ),
    });
    Ok(output::line(format!("tokens are signed with {} from now on", new.kid))?)
}

async fn list_signing(api: &Api, json: bool) -> Result<(), Failure> {
    let page: Page<SigningKey> = api.get("/v1/signing-keys").await?;
    if json {
        return Ok(output::json(&page)?);
    }
    let header = ["kid", "use"].map(str::to_owned);
    let purpose = |key: &SigningKey| if key.signs { "signs and verifies" } else { "verifies" };
    let rows = page.items.iter().map(|key| vec![key.kid.clone(), purpose(key).to_owned()]);
    Ok(output::table(header.to_vec(), rows, &[])?)
}

async fn end_signing(api: &Api, kid: &str) -> Result<(), Failure> {
    api.delete::<()>(&format!("/v1/signing-keys/{}", part(kid))).await?;
    Ok(output::line(format!(
        "tokens signed with {} are refused from now on",
        output::printable(kid)
    ))?)
}
