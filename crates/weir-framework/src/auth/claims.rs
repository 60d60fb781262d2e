//! The claims of a token.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use weir_table::{Error, Result};

use super::error::TokenError;
use super::secret::random;

/// Maximum length in bytes of a subject, of the id of an org or app, and of an issuer. They become parts of keys.
pub const ID_MAX: usize = 512;
/// Maximum length in bytes of a token's id.
pub const JTI_MAX: usize = 128;
/// Maximum length in bytes of the id of a signing key in a claim.
const KID_MAX: usize = 64;
/// Tolerance for tokens issued in the future, because the clocks of instances differ slightly.
pub const SKEW_SECS: u64 = 60;

/// The type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenType {
    /// An access token, for requests.
    Access,
    /// A refresh token, which gets access tokens.
    Refresh,
    /// A session of the console, which works in its cookie only.
    Session,
}

impl TokenType {
    /// The name of the type in claims and items.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TokenType::Access => "access",
            TokenType::Refresh => "refresh",
            TokenType::Session => "session",
        }
    }
}

/// The claims of a token (RFC 7519). Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Issuer.
    pub iss: String,
    /// Subject: a client or an operator.
    pub sub: String,
    /// Id of the org.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// Id of the app.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub app_id: Option<String>,
    /// Scope, as text.
    pub scope: String,
    /// Type of the token.
    pub token_type: TokenType,
    /// Id of the token.
    pub jti: String,
    /// Id of the token that this one came from: the refresh token of an access token, or the access token of a session.
    /// Revoking that one revokes this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_jti: Option<String>,
    /// Id of the refresh token of the access token of a session. Revoking that one revokes this one, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_jti: Option<String>,
    /// Id of the key that signed the access token of a session. Ending that key ends the session, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_kid: Option<String>,
    /// Time of issue.
    pub iat: u64,
    /// Time of expiry: the first second at which the token is no longer valid.
    pub exp: u64,
}

impl Claims {
    /// Time of issue in milliseconds since 1970. It comes from the id, a UUID of version 7. The claim `iat` has only
    /// seconds, too coarse to compare with the time of a revocation.
    #[must_use]
    pub fn issued_ms(&self) -> u64 {
        let id = Uuid::try_parse(&self.jti).ok();
        let stamp = id.and_then(|id| id.get_timestamp());
        match stamp.map(|stamp| stamp.to_unix()) {
            Some((secs, nanos)) if secs == self.iat => secs * 1000 + u64::from(nanos) / 1_000_000,
            _ => self.iat.saturating_mul(1000),
        }
    }

    /// Checks that the token is valid at `now_ms`. There is no tolerance after expiry, so a record about a token may
    /// expire together with it.
    ///
    /// # Errors
    /// The token has expired or was issued in the future.
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

    /// The problem of the claims themselves, if they have one.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let fits = |text: &str, max: usize| (1..=max).contains(&text.len());
        let ids = [&self.org_id, &self.app_id].into_iter().flatten();
        let jtis = std::iter::once(&self.jti).chain(&self.parent_jti).chain(&self.root_jti);
        if !fits(&self.sub, ID_MAX) {
            Some("the subject is empty or too long")
        } else if !ids.into_iter().all(|id| fits(id, ID_MAX)) {
            Some("the org or app is empty or too long")
        } else if !jtis.into_iter().all(|jti| fits(jti, JTI_MAX)) {
            Some("a token id is empty or too long")
        } else if !self.parent_kid.as_ref().is_none_or(|kid| fits(kid, KID_MAX)) {
            Some("a key id is empty or too long")
        } else if self.exp <= self.iat {
            Some("it expires before it is issued")
        } else {
            None
        }
    }
}

/// An id for a token issued at `issued_ms`.
pub(crate) fn new_jti(issued_ms: u64) -> Result<String> {
    // A version 7 UUID has 48 bits for the time, enough until the year 10889.
    if issued_ms >> 48 != 0 {
        return Err(Error::invalid("iat", "is too far in the future"));
    }
    let random = random::<10>()?;
    let id = uuid::Builder::from_unix_timestamp_millis(issued_ms, &random).into_uuid();
    Ok(id.to_string())
}
