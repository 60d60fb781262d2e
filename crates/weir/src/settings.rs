//! What the configuration means to the server.

use std::fs;
use std::path::Path;
use std::time::Duration;

use weir_framework::auth::signing::KeySource;
use weir_framework::auth::{self, Secret};
use weir_framework::listen::{self, TlsFiles};
use weir_framework::{Settings, edge};
use weir_server::{keeper, limiter};
use weir_table::cursor::CursorKey;

use crate::config::{self, Config};
use crate::failure::Failure;

/// Keys, bounds and jobs.
pub(crate) fn server(config: &Config) -> Result<Settings, Failure> {
    let edge = edge::Settings {
        body_bytes_max: config.server.body_bytes_max,
        request_timeout: Duration::from_secs(config.server.request_timeout_secs),
        requests_max: config.server.requests_max,
        compression: config.server.compression,
    };
    Ok(Settings {
        auth: auth(&config.auth)?,
        edge,
        run_jobs: config.jobs.enabled,
        ..Settings::default()
    })
}

/// How the listener treats its clients.
pub(crate) fn listener(server: &config::Server) -> listen::Settings {
    let tls = server.tls_cert.clone().zip(server.tls_key.clone());
    listen::Settings {
        connections_max: server.connections_max,
        header_timeout: Duration::from_secs(server.header_timeout_secs),
        drain_timeout: Duration::from_secs(server.drain_timeout_secs),
        tls: tls.map(|(cert, key)| TlsFiles { cert, key }),
        ..listen::Settings::default()
    }
}

/// Rate limits.
pub(crate) fn limiter(config: &Config) -> limiter::Settings {
    let limits = &config.limiter;
    limiter::Settings {
        table: limits.table.clone(),
        compat: match limits.compat {
            config::Compat::Own => limiter::Compat::Own,
            config::Compat::Zae => limiter::Compat::Zae,
        },
        config_ttl: Duration::from_secs(limits.config_ttl_secs),
        counts_usage: limits.counts_usage(),
        audit_retention_days: u32::try_from(limits.audit_retention_days).unwrap_or(u32::MAX),
        audit_archive: limits.audit_archive.clone(),
        aggregate_every: Duration::from_secs(config.jobs.aggregate_interval_secs),
    }
}

/// Budgets.
pub(crate) fn keeper(config: &Config) -> Result<keeper::Settings, Failure> {
    let budgets = &config.keeper;
    let labels =
        labels(config).map_err(|problem| Failure::usage(format!("keeper.labels {problem}")))?;
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Ok(keeper::Settings {
        labels,
        retention_days: number(budgets.retention_days),
        export: budgets.export.clone(),
        aggregate_every: Duration::from_secs(config.jobs.aggregate_interval_secs),
        catch_up_every: Duration::from_secs(budgets.catch_up_secs),
        config_ttl: Duration::from_secs(budgets.config_ttl_secs),
        prices: budgets.prices.clone(),
        secret_retrieval_secs: number(budgets.secret_retrieval_secs),
        bcrypt_cost: number(budgets.bcrypt_cost),
        bcrypt_at_once: usize::try_from(budgets.bcrypt_at_once).unwrap_or(usize::MAX),
        rates: keeper::Rates {
            token_per_client: budgets.token_rate,
            token_per_address: budgets.token_address_rate,
            token_in_all: budgets.token_total_rate,
            refresh: budgets.refresh_rate,
            aggregates: budgets.aggregates_rate,
            selection: budgets.selection_rate,
            writes: budgets.write_rate,
            rotations: budgets.rotate_rate,
            submissions: budgets.submission_rate,
        },
    })
}

/// The catalogue of labels: the configured one, else the one built in.
///
/// # Errors
/// Says what is wrong with it.
pub(crate) fn labels(config: &Config) -> Result<keeper::Catalogue, String> {
    match &config.keeper.labels {
        None => Ok(keeper::Catalogue::default()),
        Some(config::Labels(table)) => {
            let labels = toml::Value::Table(table.clone()).try_into();
            let labels = labels.map_err(|error: toml::de::Error| error.message().to_owned())?;
            keeper::Catalogue::new(labels).map_err(|error| error.to_string())
        }
    }
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

/// The key that the configuration names: in itself, or in a file.
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

/// The key that seals cursors, when one is configured.
pub(crate) fn cursor_key(auth: &config::Auth) -> Result<Option<CursorKey>, Failure> {
    let Some(secret) = &auth.cursor_key else {
        return Ok(None);
    };
    let bytes = secret.key_bytes().and_then(|bytes| bytes.try_into().ok());
    let key = bytes.map(CursorKey::new);
    key.map(Some).ok_or_else(|| Failure::usage("auth.cursor_key is not base64 of 32 bytes"))
}
