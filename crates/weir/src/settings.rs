//! Converts the configuration into settings of the server.

use std::fs;
use std::path::Path;

use weir_framework::auth::signing::KeySource;
use weir_framework::auth::{self, Secret};
use weir_framework::{Settings, edge};
use weir_table::cursor::CursorKey;

use crate::config::{self, Config};
use crate::failure::Failure;

/// The settings of authentication, edge and jobs.
pub(crate) fn server(config: &Config) -> Result<Settings, Failure> {
    Ok(Settings {
        auth: auth(&config.auth)?,
        edge: edge::Settings::from(&config.server),
        run_jobs: config.jobs.enabled,
        ..Settings::default()
    })
}

fn auth(auth: &config::Auth) -> Result<auth::Settings, Failure> {
    let secret = |secret: &config::Secret| Secret::new(secret.expose());
    Ok(auth::Settings {
        admin_key: auth.admin_key.as_ref().map(secret),
        issuer: auth.issuer.clone(),
        signing: key(
            "signing_key_file",
            auth.signing_key.as_ref(),
            auth.signing_key_file.as_deref(),
        )?,
        previous: key(
            "previous_signing_key_file",
            auth.previous_signing_key.as_ref(),
            auth.previous_signing_key_file.as_deref(),
        )?,
        access_secs: auth.access_token_secs,
        refresh_secs: auth.refresh_token_secs,
        cache_secs: auth.revocation_cache_secs,
    })
}

/// The configured key: a value, or a file.
fn key(
    name: &str,
    secret: Option<&config::Secret>,
    file: Option<&Path>,
) -> Result<Option<KeySource>, Failure> {
    match (file, secret) {
        (Some(file), _) => {
            let message = format!("auth.{name} cannot be read: {}", file.display());
            let pem =
                fs::read_to_string(file).map_err(|error| Failure::usage(message).because(error))?;
            Ok(Some(KeySource::Es256(Secret::new(pem))))
        }
        (None, Some(secret)) => Ok(Some(KeySource::Hs256(Secret::new(secret.expose())))),
        (None, None) => Ok(None),
    }
}

/// The configured cursor key, if there is one.
pub(crate) fn cursor_key(auth: &config::Auth) -> Result<Option<CursorKey>, Failure> {
    let Some(secret) = &auth.cursor_key else {
        return Ok(None);
    };
    let bytes = secret.key_bytes().and_then(|bytes| bytes.try_into().ok());
    let key = bytes.map(CursorKey::new);
    key.map(Some).ok_or_else(|| Failure::usage("auth.cursor_key is not base64 of 32 bytes"))
}
