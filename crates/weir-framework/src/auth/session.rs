//! Sessions of the console: a person signs in once with the admin key or an access token, and the browser holds a cookie.
//!
//! The cookie is a token of its own type, so that it works nowhere but in the cookie, is listed with the other tokens, and is
//! revoked like them. Its scope is that of the credential. It ends after [`SESSION_SECS`], when it is signed out, and
//! 1. for an access token: with that token, whatever ends it (its expiry, its revocation, that of its refresh token or of its
//!    subject, or the end of the key that signed it);
//! 2. for the admin key: when the key is rotated.
//!
//! A browser sends cookies also with requests that other sites cause. A request that changes something must therefore carry
//! the session's CSRF token, which only pages of this server can read. It is a code over the session's id, so that every
//! instance can check it and none has to store it.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use subtle::ConstantTimeEq as _;
use weir_table::{Backend, Result};

use super::claims::{Claims, TokenType};
use super::error::{AuthError, TokenError};
use super::token::{Mint, Minted};
use super::{Auth, Identity, signed_by};

/// Lifetime of a session: a working day.
pub const SESSION_SECS: u64 = 12 * 60 * 60;
/// Longest session in bytes. Browsers ignore a cookie of more than 4096 bytes with its name and attributes.
const TOKEN_MAX: usize = 3_900;
/// Label under which the key of CSRF tokens is derived from the store's key.
pub(super) const CSRF_KEY: &str = "weir-console: csrf";
/// Prefix of the subject of sessions of the admin key. No client id has it.
const ADMIN_PREFIX: &str = "admin:";
/// Prefix of the subject whose revocation ends the sessions of a subject, and none of its other tokens.
const SESSIONS_PREFIX: &str = "console:";
/// The subject whose revocation ends all sessions of the admin key.
pub(super) const ADMIN_SESSIONS: &str = "admin";

/// The subjects whose revocation ends a token: its own and, for a session, that of its subject's sessions.
pub(super) fn subjects(claims: &Claims) -> impl Iterator<Item = Cow<'_, str>> {
    let is_session = claims.token_type == TokenType::Session;
    let own = match is_session && claims.sub.starts_with(ADMIN_PREFIX) {
        true => ADMIN_SESSIONS,
        false => &claims.sub,
    };
    let sessions = is_session.then(|| Cow::Owned(sessions_of(&claims.sub)));
    std::iter::once(Cow::Borrowed(own)).chain(sessions)
}

fn sessions_of(subject: &str) -> String {
    format!("{SESSIONS_PREFIX}{subject}")
}

/// The name to show for a subject: without the prefix of an administrator's session.
#[must_use]
pub fn display_name(subject: &str) -> &str {
    subject.strip_prefix(ADMIN_PREFIX).unwrap_or(subject)
}

impl<B: Backend> Auth<B> {
    /// Opens a session for the holder of the admin key or of an access token; `name` is that of the person behind the admin
    /// key.
    ///
    /// # Errors
    /// The credential is not valid or has too long a scope, the name is out of bounds, or the store fails.
    pub async fn open_session(&self, credential: &str, name: &str) -> Result<Minted, AuthError> {
        let caller = self.authenticate_any(credential).await?;
        let parent = caller.claims.as_deref();
        let subject = match parent {
            Some(claims) => claims.sub.clone(),
            None => format!("{ADMIN_PREFIX}{name}"),
        };
        let now_ms = self.session_issue_time(&subject, parent).await?;
        // After the time of issue is known: a session is later than the revocations before it, which would not end it.
        self.recheck(credential, &caller).await?;
        // Not longer than the token, because records about it expire with it.
        let left_secs = parent.map_or(u64::MAX, |claims| claims.exp.saturating_sub(now_ms / 1000));
        let lifetime_secs = SESSION_SECS.min(left_secs);
        if lifetime_secs == 0 {
            return Err(TokenError::Expired.into());
        }
        let mint = Mint {
            subject: &subject,
            org_id: parent.and_then(|claims| claims.org_id.as_deref()),
            app_id: parent.and_then(|claims| claims.app_id.as_deref()),
            grants: &caller.grants,
            token_type: TokenType::Session,
            parent_jti: parent.map(|claims| claims.jti.as_str()),
            root_jti: parent.and_then(|claims| claims.parent_jti.as_deref()),
            parent_kid: signed_by(&caller).next(),
            lifetime_secs,
        };
        let minted = self.tokens.mint(&mint, now_ms)?;
        if minted.token.expose().len() > TOKEN_MAX {
            return Err(AuthError::TooLongForCookie);
        }
        self.issued.record_session(&minted.claims).await?;
        Ok(minted)
    }

    /// The identity of a caller with the admin key or an access token.
    async fn authenticate_any(&self, credential: &str) -> Result<Arc<Identity>, AuthError> {
        match self.authenticate_key(credential).await {
            // A token has three parts.
            Err(AuthError::WrongKey) if credential.matches('.').count() == 2 => {
                self.authenticate_bearer(credential).await
            }
            checked => checked,
        }
    }

    /// Checks a credential once more without the caches, which another instance may have made outdated.
    async fn recheck(&self, credential: &str, caller: &Identity) -> Result<(), AuthError> {
        if caller.claims.is_some() {
            return self.check_in_store(caller, self.clock.now_ms()).await;
        }
        match self.admin_key.check_in_store(credential).await? {
            true => Ok(()),
            false => Err(AuthError::WrongKey),
        }
    }

    /// The identity of the holder of this cookie.
    ///
    /// # Errors
    /// The session has ended or was never one, or the store fails.
    pub async fn authenticate_session(&self, cookie: &str) -> Result<Arc<Identity>, AuthError> {
        self.authenticate(TokenType::Session, cookie).await
    }

    /// Ends a session.
    ///
    /// # Errors
    /// The store fails; the session may or may not have ended.
    pub async fn end_session(&self, session: &Claims) -> Result<()> {
        let now_ms = self.clock.now_ms();
        self.revocations.revoke(session.into(), now_ms).await?;
        self.issued.mark_revoked(&session.jti, now_ms).await
    }

    /// Ends all sessions of the subject of this session, on all instances. Its other tokens stay valid.
    ///
    /// # Errors
    /// The store fails; the sessions may or may not have ended.
    pub async fn end_sessions_of(&self, session: &Claims) -> Result<()> {
        let now_ms = self.clock.now_ms();
        self.revocations.revoke_all(&sessions_of(&session.sub), now_ms).await?;
        self.issued.mark_sessions_revoked(now_ms, |subject| subject == session.sub).await
    }

    /// Records that all sessions of the admin key have ended, because it was replaced.
    pub(super) async fn mark_admin_sessions(&self) -> Result<()> {
        let is_admin = |subject: &str| subject.starts_with(ADMIN_PREFIX);
        self.issued.mark_sessions_revoked(self.clock.now_ms(), is_admin).await
    }

    /// The CSRF token of a session.
    #[must_use]
    pub fn csrf_token(&self, session: &Claims) -> String {
        let code = hmac::sign(&self.csrf_key, session.jti.as_bytes());
        URL_SAFE_NO_PAD.encode(code.as_ref())
    }

    /// Whether `presented` is the CSRF token of a session.
    #[must_use]
    pub fn is_csrf_token(&self, session: &Claims, presented: &[u8]) -> bool {
        self.csrf_token(session).as_bytes().ct_eq(presented).into()
    }

    /// The time of issue of a session: not before its token, which may come from a clock that is ahead, and after the last
    /// revocation of each subject that can end it.
    async fn session_issue_time(&self, subject: &str, parent: Option<&Claims>) -> Result<u64> {
        let own = if parent.is_some() { subject } else { ADMIN_SESSIONS };
        let earliest_ms = parent.map_or(0, Claims::issued_ms);
        let own_ms = self.issue_time(own).await?;
        let sessions_ms = self.issue_time(&sessions_of(subject)).await?;
        Ok(own_ms.max(sessions_ms).max(earliest_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(sub: &str, token_type: TokenType) -> Claims {
        Claims {
            iss: "weir".to_owned(),
            sub: sub.to_owned(),
            org_id: None,
            app_id: None,
            scope: "admin".to_owned(),
            token_type,
            jti: "j".to_owned(),
            parent_jti: None,
            root_jti: None,
            parent_kid: None,
            iat: 1,
            exp: 2,
        }
    }

    #[test]
    fn a_session_ends_with_its_subject_and_with_its_subjects_sessions() {
        for (sub, token_type, expected) in [
            ("org-1", TokenType::Access, &["org-1"][..]),
            ("org-1", TokenType::Session, &["org-1", "console:org-1"]),
            ("admin:ada", TokenType::Session, &["admin", "console:admin:ada"]),
            ("operator:ci", TokenType::Refresh, &["operator:ci"]),
        ] {
            let claims = claims(sub, token_type);
            let found: Vec<_> = subjects(&claims).collect();
            assert_eq!(found, expected, "{sub} {token_type:?}");
        }
        assert_eq!((display_name("admin:ada"), display_name("org-1")), ("ada", "org-1"));
    }
}
