//! What a token says.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use weir_table::{Error, Result};

use super::error::TokenError;
use super::secret::random;

/// Bytes of a subject, of the id of an org or app, and of an issuer: they become parts of keys.
pub const ID_MAX: usize = 512;
/// Bytes of a token's id.
pub const JTI_MAX: usize = 128;
/// How far in the future a token may have been issued: clocks of instances differ a little.
pub const SKEW_SECS: u64 = 60;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenType {
    /// To make requests.
    Access,
    /// To get access tokens.
    Refresh,
}

impl TokenType {
    /// Its name in claims and items.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TokenType::Access => "access",
            TokenType::Refresh => "refresh",
        }
    }
}

/// The claims of a token (RFC 7519). Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who issued it.
    pub iss: String,
    /// Whose it is: a client or an operator.
    pub sub: String,
    /// The org it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The app it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// What it allows, as text.
    pub scope: String,
    /// What it is for.
    pub token_type: TokenType,
    /// Its id.
    pub jti: String,
    /// The refresh token it came from; it counts only as long as that one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_jti: Option<String>,
    /// When it was issued.
    pub iat: u64,
    /// The first second in which it no longer counts.
    pub exp: u64,
}

impl Claims {
    /// Milliseconds since 1970 at which the token was issued. Our ids are UUIDs of version 7, which
    /// hold them; a claim has only the second, too coarse to tell what came before a revocation.
    #[must_use]
    pub fn issued_ms(&self) -> u64 {
        let id = Uuid::try_parse(&self.jti).ok();
        let stamp = id.and_then(|id| id.get_timestamp());
        match stamp.map(|stamp| stamp.to_unix()) {
            Some((secs, nanos)) if secs == self.iat => secs * 1000 + u64::from(nanos) / 1_000_000,
            _ => self.iat.saturating_mul(1000),
        }
    }

    /// Whether the token is valid at `now_ms`. Expiry is exact: a token issued for 3600 seconds is
    /// refused after them, and what is kept about a token until it expires is never missed later.
    ///
    /// # Errors
    /// It has expired or was issued in the future.
    pub fn check_times(&self, now_ms: u64) -> Result<(), TokenError> {
        let now_secs = now_ms / 1000;
        if now_secs >= self.exp {
            return Err(TokenError::Expired);
        }
        if self.iat > now_secs.saturating_add(SKEW_SECS) {
            return Err(TokenError::NotYetValid);
        }
        Ok(())
    }

    pub(super) fn check(&self, issuer: &str) -> Result<(), TokenError> {
        if self.iss != issuer {
            return Err(TokenError::WrongIssuer);
        }
        self.problem().map_or(Ok(()), |what| Err(TokenError::Malformed(what)))
    }

    /// What is wrong with the claims themselves.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let fits = |text: &str, max: usize| (1..=max).contains(&text.len());
        let ids = [&self.org_id, &self.app_id].into_iter().flatten();
        let jtis = std::iter::once(&self.jti).chain(&self.parent_jti);
        if !fits(&self.sub, ID_MAX) {
            Some("the subject is empty or too long")
        } else if !ids.into_iter().all(|id| fits(id, ID_MAX)) {
            Some("the org or app is empty or too long")
        } else if !jtis.into_iter().all(|jti| fits(jti, JTI_MAX)) {
            Some("a token id is empty or too long")
        } else if self.exp <= self.iat {
            Some("it expires before it is issued")
        } else {
            None
        }
    }
}

/// An id for a token issued at `issued_ms`.
pub(super) fn new_jti(issued_ms: u64) -> Result<String> {
    // A version 7 UUID has 48 bits for the time, enough until the year 10889.
    if issued_ms >> 48 != 0 {
        return Err(Error::invalid("iat", "is too far in the future"));
    }
    let random = random::<10>()?;
    let id = uuid::Builder::from_unix_timestamp_millis(issued_ms, &random).into_uuid();
    Ok(id.to_string())
}
