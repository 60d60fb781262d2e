//! The settings of authentication.

use weir_table::{Error, Result};

use super::claims::ID_MAX;
use super::secret::Secret;
use super::signing::KeySource;
use super::token::LIFETIME_MAX_SECS;

/// Maximum cache time. A revocation takes effect within it.
pub const CACHE_MAX_SECS: u64 = 60 * 60;

/// The settings of authentication.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The admin key, instead of the generated one.
    pub admin_key: Option<Secret>,
    /// The issuer (`iss`) of tokens (`weir`).
    pub issuer: String,
    /// The signing key; none for the one in the data folder.
    pub signing: Option<KeySource>,
    /// The previous signing key, whose tokens stay valid.
    pub previous: Option<KeySource>,
    /// Lifetime of access tokens (1 h).
    pub access_secs: u64,
    /// Lifetime of refresh tokens (30 d).
    pub refresh_secs: u64,
    /// Time within which a revocation or a new admin key takes effect on all instances (60 s).
    pub cache_secs: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            admin_key: None,
            issuer: "weir".to_owned(),
            signing: None,
            previous: None,
            access_secs: 60 * 60,
            refresh_secs: 30 * 24 * 60 * 60,
            cache_secs: 60,
        }
    }
}

impl Settings {
    /// Checks the settings, without the store and the keys.
    ///
    /// # Errors
    /// A setting is invalid; the error names it.
    pub fn check(&self) -> Result<()> {
        let within = |field: &str, value: usize, max: u64| {
            if (1..=max).contains(&(value as u64)) {
                return Ok(());
            }
            let problem = format!("is {value}; 1 to {max} are allowed");
            Err(Error::invalid(field, problem))
        };
        let secs = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        within("issuer (its length)", self.issuer.len(), ID_MAX as u64)?;
        within("access_secs", secs(self.access_secs), LIFETIME_MAX_SECS)?;
        within("refresh_secs", secs(self.refresh_secs), LIFETIME_MAX_SECS)?;
        within("cache_secs", secs(self.cache_secs), CACHE_MAX_SECS)?;
        // The record of a revoked refresh token expires with it, so access tokens must not outlive it.
        if self.refresh_secs < self.access_secs {
            let problem = "is shorter than access_secs";
            return Err(Error::invalid("refresh_secs", problem));
        }
        if self.signing.is_none() && self.previous.is_some() {
            let problem = "is set without signing.key, the current one";
            return Err(Error::invalid("signing.previous", problem));
        }
        Ok(())
    }
}
