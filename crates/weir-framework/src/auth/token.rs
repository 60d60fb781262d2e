//! Creates and verifies tokens.
//!
//! Verified tokens are cached by the SHA-256 of their text, so that a repeated token costs no signature check and
//! no parsing. Every use checks the times and the key. [`super::revocation`] checks revocation.

use std::sync::Arc;

use parking_lot::RwLock;
use quick_cache::sync::Cache;
use ring::digest;
use weir_table::{Error, Result};

use super::claims::{Claims, TokenType, new_jti};
use super::error::TokenError;
use super::grant::Grants;
use super::jws;
use super::scope_kind::ScopeKinds;
use super::secret::Secret;
use super::signing::{Jwks, Keyring};
use super::{Identity, Proof};

/// Capacity of the cache of verified tokens. Each takes a kilobyte or two.
const VERIFIED_MAX: usize = 8 * 1024;
/// Maximum lifetime of a token: ten years.
pub const LIFETIME_MAX_SECS: u64 = 10 * 366 * 24 * 60 * 60;

/// The claims of a new token.
#[derive(Debug, Clone, Copy)]
pub struct Mint<'a> {
    /// Subject.
    pub subject: &'a str,
    /// Id of the org.
    pub org_id: Option<&'a str>,
    /// Id of the app.
    pub app_id: Option<&'a str>,
    /// Scope.
    pub grants: &'a Grants,
    /// Type of the token.
    pub token_type: TokenType,
    /// Id of the token that it comes from.
    pub parent_jti: Option<&'a str>,
    /// Id of the token that that one comes from.
    pub root_jti: Option<&'a str>,
    /// Id of the key that signed the token that it comes from, for a session.
    pub parent_kid: Option<&'a str>,
    /// Lifetime.
    pub lifetime_secs: u64,
}

/// A new token.
#[derive(Debug, Clone)]
pub struct Minted {
    /// The text of the token.
    pub token: Secret,
    /// The claims.
    pub claims: Claims,
}

/// A token with valid signature, issuer and claims.
#[derive(Debug)]
pub struct Verified {
    /// The claims.
    pub claims: Arc<Claims>,
    /// The identity of the caller.
    pub identity: Arc<Identity>,
    kid: Arc<str>,
}

impl Verified {
    /// The id of the key that signed the token.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }
}

/// Creates and verifies tokens.
#[derive(Debug)]
pub struct Tokens {
    issuer: String,
    keys: RwLock<Arc<Keyring>>,
    scope_kinds: ScopeKinds,
    verified: Cache<[u8; 32], Arc<Verified>>,
}

impl Tokens {
    /// Tokens of `issuer`, signed with `keys`.
    #[must_use]
    pub fn new(issuer: impl Into<String>, keys: Keyring, scope_kinds: ScopeKinds) -> Tokens {
        Tokens {
            issuer: issuer.into(),
            keys: RwLock::new(Arc::new(keys)),
            scope_kinds,
            verified: Cache::new(VERIFIED_MAX),
        }
    }

    /// The kinds of scopes that tokens can have.
    #[must_use]
    pub fn scope_kinds(&self) -> &ScopeKinds {
        &self.scope_kinds
    }

    /// The public keys.
    #[must_use]
    pub fn jwks(&self) -> Jwks {
        self.keys.read().jwks()
    }

    /// The id of the key that signs.
    #[must_use]
    pub fn current_kid(&self) -> String {
        self.keys.read().current().kid().to_owned()
    }

    /// The ids of the keys, the one that signs first.
    #[must_use]
    pub fn kids(&self) -> Vec<String> {
        self.keys.read().keys().map(|key| key.kid().to_owned()).collect()
    }

    /// Whether there is a key with this id.
    #[must_use]
    pub fn has_key(&self, kid: &str) -> bool {
        self.keys.read().find(kid).is_some()
    }

    /// Replaces the keys. Tokens of removed keys are no longer valid.
    pub fn replace_keys(&self, keys: Keyring) {
        *self.keys.write() = Arc::new(keys);
    }

    /// Creates a token with the time of issue `issued_ms`.
    ///
    /// # Errors
    /// An id or the lifetime is out of bounds, or the token would be too long.
    pub fn mint(&self, mint: &Mint<'_>, issued_ms: u64) -> Result<Minted> {
        if !(1..=LIFETIME_MAX_SECS).contains(&mint.lifetime_secs) {
            let problem = format!("is 1 to {LIFETIME_MAX_SECS}");
            return Err(Error::invalid("lifetime_secs", problem));
        }
        let iat = issued_ms / 1000;
        let claims = Claims {
            iss: self.issuer.clone(),
            sub: mint.subject.to_owned(),
            org_id: mint.org_id.map(str::to_owned),
            app_id: mint.app_id.map(str::to_owned),
            scope: mint.grants.to_string(),
            token_type: mint.token_type,
            jti: new_jti(issued_ms)?,
            parent_jti: mint.parent_jti.map(str::to_owned),
            root_jti: mint.root_jti.map(str::to_owned),
            parent_kid: mint.parent_kid.map(str::to_owned),
            iat,
            exp: iat.saturating_add(mint.lifetime_secs),
        };
        if let Some(problem) = claims.problem() {
            return Err(Error::invalid("token", problem));
        }
        let keys = Arc::clone(&self.keys.read());
        let token = Secret::new(jws::seal(keys.current(), &claims)?);
        Ok(Minted { token, claims })
    }

    /// Verifies the token at `now_ms`, without checking revocation.
    ///
    /// # Errors
    /// The token is refused; the error says why.
    pub fn verify(&self, text: &str, now_ms: u64) -> Result<Arc<Verified>, TokenError> {
        if text.len() > jws::TOKEN_MAX {
            return Err(TokenError::Malformed("it is longer than 8 KiB"));
        }
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        let keys = Arc::clone(&self.keys.read());
        if let Some(known) = self.verified.get(&hash)
            && keys.find(&known.kid).is_some()
        {
            known.claims.check_times(now_ms)?;
            return Ok(known);
        }
        let verified = Arc::new(self.open(&keys, text)?);
        verified.claims.check_times(now_ms)?;
        self.verified.insert(hash, Arc::clone(&verified));
        Ok(verified)
    }

    /// Like [`Tokens::verify`], for a token of one type.
    ///
    /// # Errors
    /// The token is refused; the error says why.
    pub fn verify_as(
        &self,
        token_type: TokenType,
        text: &str,
        now_ms: u64,
    ) -> Result<Arc<Verified>, TokenError> {
        let verified = self.verify(text, now_ms)?;
        if verified.claims.token_type != token_type {
            return Err(TokenError::WrongType);
        }
        Ok(verified)
    }

    fn open(&self, keys: &Keyring, text: &str) -> Result<Verified, TokenError> {
        let (claims, key) = jws::open(keys, text)?;
        let claims: Claims = serde_json::from_slice(&claims)
            .map_err(|_| TokenError::Malformed("a claim is missing or of the wrong kind"))?;
        claims.check(&self.issuer)?;
        let grants = Grants::parse(&claims.scope, &self.scope_kinds);
        let grants = grants.map_err(|_| TokenError::Malformed("the scope is not one of ours"))?;
        let (claims, kid) = (Arc::new(claims), Arc::from(key.kid()));
        let identity = Identity {
            subject: claims.sub.clone(),
            grants,
            claims: Some(Arc::clone(&claims)),
            proof: Proof::SignedBy(Arc::clone(&kid)),
        };
        Ok(Verified { claims, identity: Arc::new(identity), kid })
    }

    /// Number of cached tokens.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.verified.len()
    }
}
