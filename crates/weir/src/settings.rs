//! Converts the configuration into settings of the server.

use std::path::Path;

use weir_framework::auth::signing::KeySource;
use weir_framework::auth::{self, Secret};
use weir_framework::{Settings, edge};
use weir_table::cursor::CursorKey;

use crate::config::{self, Config};
use crate::failure::Failure;

/// The beginning of a key in PEM.
const PEM: &str = "-----BEGIN";

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
    let admin_key =
        secret("auth.admin_key", auth.admin_key.as_ref(), auth.admin_key_file.as_deref());
    let admin_key = checked(admin_key?, "auth.admin_key_file", config::check::admin)?;
    Ok(auth::Settings {
        admin_key: admin_key.map(|key| Secret::new(key.expose())),
        issuer: auth.issuer.clone(),
        signing: signing_key(
            "auth.signing_key",
            auth.signing_key.as_ref(),
            auth.signing_key_file.as_deref(),
        )?,
        previous: signing_key(
            "auth.previous_signing_key",
            auth.previous_signing_key.as_ref(),
            auth.previous_signing_key_file.as_deref(),
        )?,
        access_secs: auth.access_token_secs,
        refresh_secs: auth.refresh_token_secs,
        cache_secs: auth.revocation_cache_secs,
    })
}

/// The secret of the setting `key`: its value, or the content of its file.
fn secret(
    key: &str,
    value: Option<&config::Secret>,
    file: Option<&Path>,
) -> Result<Option<config::Secret>, Failure> {
    match (file, value) {
        (Some(file), _) => config::Secret::read(&format!("{key}_file"), file).map(Some),
        (None, value) => Ok(value.cloned()),
    }
}

/// The secret of a file, if it has the form of such a secret. `problem` has checked the others already.
fn checked(
    secret: Option<config::Secret>,
    name: &str,
    problem: fn(&config::Secret) -> Option<String>,
) -> Result<Option<config::Secret>, Failure> {
    match secret.as_ref().and_then(problem) {
        Some(problem) => Err(Failure::usage(format!("{name} {problem}"))),
        None => Ok(secret),
    }
}

/// The configured signing key: PEM for ES256, base64 for HS256.
fn signing_key(
    key: &str,
    value: Option<&config::Secret>,
    file: Option<&Path>,
) -> Result<Option<KeySource>, Failure> {
    let Some(secret) = secret(key, value, file)? else {
        return Ok(None);
    };
    if secret.expose().trim_start().starts_with(PEM) {
        return Ok(Some(KeySource::Es256(Secret::new(secret.expose()))));
    }
    let secret = checked(Some(secret), &format!("{key}_file"), config::check::signing)?;
    let bytes = secret.and_then(|secret| secret.key_bytes());
    Ok(bytes.map(|bytes| KeySource::Hs256(bytes.into())))
}

/// The configured cursor key, if there is one.
pub(crate) fn cursor_key(auth: &config::Auth) -> Result<Option<CursorKey>, Failure> {
    let file = auth.cursor_key_file.as_deref();
    let secret = secret("auth.cursor_key", auth.cursor_key.as_ref(), file)?;
    let Some(secret) = checked(secret, "auth.cursor_key_file", config::check::cursor)? else {
        return Ok(None);
    };
    let bytes = secret.key_bytes().and_then(|bytes| bytes.try_into().ok());
    let key = bytes.map(CursorKey::new);
    key.map(Some).ok_or_else(|| Failure::usage("auth.cursor_key is not base64 of 32 bytes"))
}

#[cfg(test)]
mod tests {
    use weir_framework::settings::defaults;

    use super::*;

    #[test]
    fn the_defaults_of_authentication_are_those_of_the_framework() {
        let configured = auth(&defaults()).unwrap();
        assert_eq!(format!("{configured:?}"), format!("{:?}", auth::Settings::default()));
        configured.check().unwrap();
    }
}
