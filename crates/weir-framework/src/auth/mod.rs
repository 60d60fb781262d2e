//! Authentication, without HTTP.
//!
//! Two kinds of credential give an [`Identity`] with a scope:
//! 1. The admin key ([`admin_key`]) gives full access.
//! 2. A token ([`token`]) is signed ([`signing`], [`jws`]), contains its scope ([`grant`], [`scope`]), and is valid
//!    until it expires, is revoked ([`revocation`]) or its signing key is ended ([`ended_keys`]). Clients get a pair of tokens; operators get single ones,
//!    which are listed ([`issued`]). The console's cookie is a token, too ([`session`]).
//!
//! When the store fails and a credential cannot be checked, the result is an error
//! ([`AuthError::is_unavailable`]), never access. No secret is stored in clear, compared in variable time or shown by
//! `Debug`, except that the signing key of an embedded store is in a file of its own ([`key_file`]).

pub mod admin_key;
pub mod claims;
pub mod ended_keys;
mod error;
pub mod grant;
mod issue;
pub mod issued;
pub mod jws;
pub mod key_file;
pub mod keys;
pub mod revocation;
pub mod scope;
pub mod scope_kind;
mod secret;
pub mod session;
mod settings;
pub mod signing;
#[cfg(test)]
pub(crate) mod test_kinds;
pub mod token;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use ring::hmac;
use weir_table::clock::Clock;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Error, Result, Store};

use admin_key::{AdminKey, Ensured};
use claims::{Claims, TokenType};
use ended_keys::EndedKeys;
pub use error::{AuthError, TokenError};
use grant::Grants;
pub use issue::{Holder, Pair};
use issued::Issued;
use revocation::{RevocationCounts, Revocations};
use scope_kind::ScopeKinds;
pub use secret::Secret;
use session::ADMIN_SESSIONS;
pub use settings::{CACHE_MAX_SECS, Settings};
use signing::{Jwks, Keyring, SigningKey};
use token::Tokens;

/// The authenticated caller of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Name of the caller: `admin`, or the subject of the token.
    pub subject: String,
    /// Scope of the caller.
    pub grants: Grants,
    /// Claims of the token, if the caller sent one.
    pub claims: Option<Arc<Claims>>,
    /// The key that the identity depends on. It holds no longer than that key.
    pub proof: Proof,
}

/// The key that an identity depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The admin key after so many changes, as far as this instance knows.
    AdminKey {
        /// Number of changes.
        changes: u64,
    },
    /// The signing key with this id, of a token or a session.
    SignedBy(Arc<str>),
    /// None: the caller reaches the socket in the data folder.
    Socket,
}

/// Authentication: the admin key, tokens and revocation.
#[derive(Debug)]
pub struct Auth<B> {
    clock: Clock,
    access_secs: u64,
    refresh_secs: u64,
    /// The identity of callers with the admin key, which is a new one whenever the key changes.
    admin: RwLock<Arc<Identity>>,
    admin_key: AdminKey<B>,
    tokens: Tokens,
    revocations: Revocations<B>,
    ended_keys: EndedKeys<B>,
    issued: Issued<B>,
    /// Path of the signing key's file, if it has one.
    key_folder: Option<PathBuf>,
    csrf_key: hmac::Key,
    rotating: tokio::sync::Mutex<()>,
}

impl<B: Backend> Auth<B> {
    /// Opens authentication on `store` and creates its missing tables. `data_dir` is the folder of an embedded store; a
    /// store that instances share has none.
    ///
    /// # Errors
    /// A setting is invalid, a shared store has no configured signing key, the key file cannot be
    /// used, or the store fails.
    pub async fn open(
        store: Store<B>,
        clock: Clock,
        settings: &Settings,
        data_dir: Option<&Path>,
        scope_kinds: ScopeKinds,
    ) -> Result<Auth<B>> {
        settings.check()?;
        let key = settings.admin_key.as_ref();
        let admin_key = AdminKey::new(store.clone(), clock.clone(), settings.cache_secs, key)?;
        let key_folder = data_dir.filter(|_| settings.signing.is_none());
        let keyring = match key_folder {
            Some(folder) => with_key_file(folder, key_file::load).await?,
            None => configured_keys(settings)?,
        };
        for spec in keys::tables() {
            store.ensure_table(&spec).await?;
        }
        let ended_keys = EndedKeys::new(store.clone(), settings.cache_secs);
        if ended_keys.check_in_store(keyring.current().kid(), clock.now_ms()).await? {
            let problem = "was ended, so every token that it signs would be refused; \
                           configure another key";
            return Err(Error::invalid("signing.key", problem));
        }
        Ok(Auth {
            clock,
            access_secs: settings.access_secs,
            refresh_secs: settings.refresh_secs,
            admin: RwLock::new(admin_identity(0)),
            admin_key,
            tokens: Tokens::new(settings.issuer.as_str(), keyring, scope_kinds),
            revocations: Revocations::new(store.clone(), settings.cache_secs),
            csrf_key: hmac::Key::new(hmac::HMAC_SHA256, &store.derived_key(session::CSRF_KEY)?),
            ended_keys,
            issued: Issued::new(store),
            key_folder: key_folder.map(Path::to_owned),
            rotating: tokio::sync::Mutex::default(),
        })
    }

    /// The kinds of scopes that tokens can have.
    #[must_use]
    pub fn scope_kinds(&self) -> &ScopeKinds {
        self.tokens.scope_kinds()
    }

    /// Generates the admin key unless there is one or one is configured. The operator sees the result once; if it is
    /// lost, [`Auth::rotate_admin_key`] generates another.
    ///
    /// # Errors
    /// The store fails.
    pub async fn ensure_admin_key(&self) -> Result<Ensured> {
        self.admin_key.ensure().await
    }

    /// Whether there is an admin key.
    ///
    /// # Errors
    /// The store fails.
    pub async fn has_admin_key(&self) -> Result<bool> {
        self.admin_key.exists().await
    }

    /// Replaces the admin key, and ends the sessions that it opened: both or neither, so that the new key is never lost.
    ///
    /// # Errors
    /// The key is a configured one, or the store fails.
    pub async fn rotate_admin_key(&self) -> Result<Secret> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let end = self.revocations.revoke_all_write(ADMIN_SESSIONS, self.clock.now_ms());
            let rotated = self.admin_key.rotate_with(end.await?).await;
            self.revocations.forget(ADMIN_SESSIONS);
            if let Some(key) = rotated? {
                if let Err(error) = self.mark_admin_sessions().await {
                    tracing::warn!(%error, "sessions that ended are still listed as open");
                }
                return Ok(key);
            }
        }
        Err(Error::Conflict)
    }

    /// The identity of a caller with this admin key.
    ///
    /// # Errors
    /// It is not the key, or the store fails.
    pub async fn authenticate_key(&self, presented: &str) -> Result<Arc<Identity>, AuthError> {
        let changes = self.admin_key.check(presented).await?.ok_or(AuthError::WrongKey)?;
        let admin = Arc::clone(&self.admin.read());
        if admin.proof == (Proof::AdminKey { changes }) {
            return Ok(admin);
        }
        let admin = admin_identity(changes);
        *self.admin.write() = Arc::clone(&admin);
        Ok(admin)
    }

    /// The identity of a caller with this access token.
    ///
    /// # Errors
    /// The token is not valid, or the store fails.
    pub async fn authenticate_bearer(&self, token: &str) -> Result<Arc<Identity>, AuthError> {
        self.authenticate(TokenType::Access, token).await
    }

    /// The identity of a caller with this token of one type.
    async fn authenticate(
        &self,
        token_type: TokenType,
        token: &str,
    ) -> Result<Arc<Identity>, AuthError> {
        let now_ms = self.clock.now_ms();
        let verified = self.tokens.verify_as(token_type, token, now_ms)?;
        // Of other tokens the verification has found the key.
        if token_type == TokenType::Session && !self.has_keys_of(&verified.identity) {
            return Err(TokenError::UnknownKey.into());
        }
        self.check(&verified.identity, now_ms).await?;
        Ok(Arc::clone(&verified.identity))
    }

    /// Whether this instance has the signing keys that an identity depends on.
    fn has_keys_of(&self, identity: &Identity) -> bool {
        signed_by(identity).all(|kid| self.tokens.has_key(kid))
    }

    /// Checks that neither the token of this identity has been revoked nor a key that it depends on has ended.
    async fn check(&self, identity: &Identity, now_ms: u64) -> Result<(), AuthError> {
        let Some(claims) = identity.claims.as_deref() else { return Ok(()) };
        if self.revocations.check(claims, now_ms).await? {
            return Err(TokenError::Revoked.into());
        }
        for kid in signed_by(identity) {
            if self.ended_keys.check(kid, now_ms).await? {
                return Err(TokenError::UnknownKey.into());
            }
        }
        Ok(())
    }

    /// Like [`Auth::check`], but without the caches. For what will last longer than they do.
    async fn check_in_store(&self, identity: &Identity, now_ms: u64) -> Result<(), AuthError> {
        let Some(claims) = identity.claims.as_deref() else { return Ok(()) };
        for kid in signed_by(identity) {
            if self.ended_keys.check_in_store(kid, now_ms).await? {
                return Err(TokenError::UnknownKey.into());
            }
        }
        if self.revocations.check_in_store(claims, now_ms).await? {
            return Err(TokenError::Revoked.into());
        }
        Ok(())
    }

    /// Whether this identity, which was authenticated before, still is: its token or session has neither expired nor been
    /// revoked, and no key that it depends on has ended or been replaced. If the store cannot tell, it is not.
    pub async fn is_valid(&self, identity: &Identity) -> bool {
        let now_ms = self.clock.now_ms();
        if let Proof::AdminKey { changes } = identity.proof {
            return matches!(self.admin_key.is_unchanged(changes).await, Ok(true));
        }
        identity.claims.as_deref().is_none_or(|claims| now_ms / 1000 < claims.exp)
            && self.has_keys_of(identity)
            && self.check(identity, now_ms).await.is_ok()
    }

    /// Whether configuration sets the admin key.
    #[must_use]
    pub fn has_configured_admin_key(&self) -> bool {
        self.admin_key.is_configured()
    }

    /// Generates a new signing key in the data folder. Tokens signed with the old one stay valid. Returns the id of the old
    /// key.
    ///
    /// # Errors
    /// The keys are configured ones, or the file cannot be written.
    pub async fn rotate_signing_key(&self) -> Result<String> {
        let Some(folder) = &self.key_folder else {
            let problem = "is set by configuration; make the current key the previous one there";
            return Err(Error::invalid("signing.key", problem));
        };
        let _rotating = self.rotating.lock().await;
        let old = self.current_kid();
        let keyring = with_key_file(folder, key_file::rotate).await?;
        self.tokens.replace_keys(keyring);
        Ok(old)
    }

    /// Ends a signing key that no longer signs: its tokens are refused, here at once and on other instances within the cache
    /// time. Returns whether there is such a key.
    ///
    /// # Errors
    /// It is the key that signs, or the store or the key file cannot be written.
    pub async fn end_signing_key(&self, kid: &str) -> Result<bool> {
        let _rotating = self.rotating.lock().await;
        if kid == self.current_kid() {
            let problem = "is the key that signs; replace it first";
            return Err(Error::invalid("kid", problem));
        }
        let now_ms = self.clock.now_ms();
        if !self.tokens.has_key(kid) {
            return self.ended_keys.check_in_store(kid, now_ms).await;
        }
        self.ended_keys.end(kid, now_ms).await?;
        if let Some(folder) = &self.key_folder {
            let keyring = with_key_file(folder, key_file::forget_previous).await?;
            self.tokens.replace_keys(keyring);
        }
        Ok(true)
    }

    /// The ids of the keys that verify tokens, the one that signs first.
    ///
    /// # Errors
    /// The store fails.
    pub async fn signing_keys(&self) -> Result<Vec<String>> {
        let now_ms = self.clock.now_ms();
        let mut in_force = Vec::new();
        for kid in self.tokens.kids() {
            if !self.ended_keys.check_in_store(&kid, now_ms).await? {
                in_force.push(kid);
            }
        }
        Ok(in_force)
    }

    /// The public keys that verify tokens.
    ///
    /// # Errors
    /// The store fails.
    pub async fn jwks(&self) -> Result<Jwks> {
        let now_ms = self.clock.now_ms();
        let mut jwks = self.tokens.jwks();
        for kid in self.tokens.kids() {
            if self.ended_keys.check(&kid, now_ms).await? {
                jwks.keys.retain(|key| key.kid() != kid);
            }
        }
        Ok(jwks)
    }

    /// The id of the key that signs.
    #[must_use]
    pub fn current_kid(&self) -> String {
        self.tokens.current_kid()
    }

    /// Counters of revocation, for metrics.
    #[must_use]
    pub fn revocation_counts(&self) -> RevocationCounts {
        self.revocations.counts()
    }
}

/// The identity of callers with the admin key after so many changes.
fn admin_identity(changes: u64) -> Arc<Identity> {
    Arc::new(Identity {
        subject: "admin".to_owned(),
        grants: Grants::admin(),
        claims: None,
        proof: Proof::AdminKey { changes },
    })
}

/// The ids of the signing keys that an identity depends on, each once: of the key that signed its token and, for a session,
/// of the one that signed the token that opened it.
fn signed_by(identity: &Identity) -> impl Iterator<Item = &str> {
    let own = match &identity.proof {
        Proof::SignedBy(kid) => Some(&**kid),
        _ => None,
    };
    let parent = identity.claims.as_deref().and_then(|claims| claims.parent_kid.as_deref());
    own.into_iter().chain(parent.filter(move |parent| Some(*parent) != own))
}

/// Runs an operation on the key file off the async threads.
async fn with_key_file(folder: &Path, act: fn(&Path) -> Result<Keyring>) -> Result<Keyring> {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || act(&folder))
        .await
        .map_err(|source| Error::backend("using the signing key's file", source))?
}

fn configured_keys(settings: &Settings) -> Result<Keyring> {
    let Some(current) = &settings.signing else {
        let problem = "must be configured, because instances that share a store sign alike; \
                       without it each would refuse the others' tokens";
        return Err(Error::invalid("signing.key", problem));
    };
    let current = SigningKey::from_source("signing.key", current)?;
    let previous = settings.previous.as_ref();
    let previous = previous.map(|key| SigningKey::from_source("signing.previous", key));
    Keyring::new(current, previous.transpose()?)
}
