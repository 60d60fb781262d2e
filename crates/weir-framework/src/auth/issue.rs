//! Issues and revokes tokens.
//!
//! The time of issue of a new token is later than the last revocation of all tokens of its subject, and an access
//! token never outlives its refresh token. A revocation therefore covers every token issued before it and none issued
//! after it.

use std::sync::Arc;

use weir_table::retry::Listed;
use weir_table::{Backend, Error, Result, Write};

use super::Auth;
use super::claims::{Claims, ID_MAX, TokenType};
use super::error::{AuthError, TokenError};
use super::grant::Grants;
use super::issued::{self, IssuedToken};
use super::revocation::ToRevoke;
use super::token::{Mint, Minted};

/// The tokens that a client gets for its secret.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The access token, for requests.
    pub access: Minted,
    /// The refresh token, which gets further access tokens.
    pub refresh: Minted,
}

/// The client and the scope of new tokens.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    /// The client id.
    pub subject: &'a str,
    /// The org.
    pub org_id: Option<&'a str>,
    /// The app.
    pub app_id: Option<&'a str>,
    /// The scope.
    pub grants: &'a Grants,
}

impl<B: Backend> Auth<B> {
    /// Issues a pair of tokens. The access token is valid only as long as the refresh token.
    ///
    /// # Errors
    /// A value of the holder is out of bounds, or the store fails.
    pub async fn issue_pair(&self, holder: Holder<'_>) -> Result<Pair> {
        let issued_ms = self.issue_time(holder.subject).await?;
        let refresh = holder.mint(TokenType::Refresh, self.refresh_secs, None);
        let refresh = self.tokens.mint(&refresh, issued_ms)?;
        let parent = Some(refresh.claims.jti.as_str());
        let access = holder.mint(TokenType::Access, self.access_secs, parent);
        let access = self.tokens.mint(&access, issued_ms)?;
        Ok(Pair { access, refresh })
    }

    /// Issues an access token for a refresh token.
    ///
    /// # Errors
    /// The refresh token is not valid, or the store fails.
    pub async fn refresh(&self, token: &str) -> Result<Minted, AuthError> {
        let now_ms = self.clock.now_ms();
        let verified = self.tokens.verify_as(TokenType::Refresh, token, now_ms)?;
        let claims = &verified.claims;
        self.check_in_store(&verified.identity, now_ms).await?;
        let holder = Holder {
            subject: &claims.sub,
            org_id: claims.org_id.as_deref(),
            app_id: claims.app_id.as_deref(),
            grants: &verified.identity.grants,
        };
        // Not before the refresh token, which may come from a clock that is ahead; and not longer than
        // it, because the record of its revocation expires with it.
        let issued_ms = now_ms.max(claims.issued_ms());
        let left_secs = claims.exp.saturating_sub(issued_ms / 1000);
        let lifetime_secs = self.access_secs.min(left_secs);
        let access = holder.mint(TokenType::Access, lifetime_secs, Some(&claims.jti));
        Ok(self.tokens.mint(&access, issued_ms)?)
    }

    /// Issues a single access token to an operator, and lists it under `name`.
    ///
    /// # Errors
    /// The name or the lifetime is out of bounds, or the store fails.
    pub async fn issue_operator(
        &self,
        name: &str,
        grants: &Grants,
        lifetime_secs: u64,
    ) -> Result<Minted> {
        if name.is_empty() {
            return Err(Error::invalid("name", "is empty"));
        }
        let subject = issued::subject(name);
        let holder = Holder { subject: &subject, org_id: None, app_id: None, grants };
        let issued_ms = self.issue_time(&subject).await?;
        let access = holder.mint(TokenType::Access, lifetime_secs, None);
        let minted = self.tokens.mint(&access, issued_ms)?;
        self.issued.record(name, &minted.claims).await?;
        Ok(minted)
    }

    /// Lists operators' tokens, the newest first.
    ///
    /// # Errors
    /// The limit or the cursor is invalid, or the store fails.
    pub async fn operator_tokens(
        &self,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Listed<IssuedToken>> {
        self.issued.list(limit, cursor, self.clock.now_ms()).await
    }

    /// Revokes an operator's token. Returns none if there is no token with this id.
    ///
    /// # Errors
    /// The id is malformed, or the store fails.
    pub async fn revoke_operator(&self, jti: &str) -> Result<Option<IssuedToken>> {
        let now_ms = self.clock.now_ms();
        let Some(token) = self.issued.find(jti, now_ms).await? else {
            return Ok(None);
        };
        let subject = token.subject();
        let revoked = ToRevoke {
            jti: &token.jti,
            token_type: token.token_type(),
            subject: &subject,
            exp: token.expires,
        };
        self.revocations.revoke(revoked, now_ms).await?;
        self.issued.mark_revoked(jti, now_ms).await?;
        Ok(Some(token))
    }

    /// Revokes a token of either type and returns its claims. Returns none if the token is not valid anyway, which
    /// RFC 7009 treats as success.
    ///
    /// # Errors
    /// The store fails.
    pub async fn revoke(&self, token: &str) -> Result<Option<Arc<Claims>>> {
        let now_ms = self.clock.now_ms();
        let Ok(verified) = self.tokens.verify(token, now_ms) else {
            return Ok(None);
        };
        let claims = Arc::clone(&verified.claims);
        self.revocations.revoke((&*claims).into(), now_ms).await?;
        if issued::is_operator(&claims.sub) || claims.token_type == TokenType::Session {
            self.issued.mark_revoked(&claims.jti, now_ms).await?;
        }
        Ok(Some(claims))
    }

    /// Revokes all tokens of the subject of this valid token. Returns the subject.
    ///
    /// # Errors
    /// The token is not valid, or the store fails.
    pub async fn revoke_all_of(&self, token: &str) -> Result<String, AuthError> {
        let now_ms = self.clock.now_ms();
        let verified = self.tokens.verify(token, now_ms)?;
        // A session works in its cookie only, and ending it leaves the subject's tokens alone.
        if verified.claims.token_type == TokenType::Session {
            return Err(TokenError::WrongType.into());
        }
        self.check_in_store(&verified.identity, now_ms).await?;
        self.revocations.revoke_all(&verified.claims.sub, now_ms).await?;
        Ok(verified.claims.sub.clone())
    }

    /// Revokes all tokens of a subject that were issued so far.
    ///
    /// # Errors
    /// The subject is out of bounds, or the store fails.
    pub async fn revoke_all(&self, subject: &str) -> Result<()> {
        if !(1..=ID_MAX).contains(&subject.len()) {
            let problem = format!("has 1 to {ID_MAX} bytes");
            return Err(Error::invalid("subject", problem));
        }
        let now_ms = self.clock.now_ms();
        self.revocations.revoke_all(subject, now_ms).await
    }

    /// The write that revokes all tokens of a subject that were issued so far, for a transaction of the caller; see
    /// [`Revocations::revoke_all_write`](super::revocation::Revocations::revoke_all_write).
    ///
    /// # Errors
    /// The store fails.
    pub async fn revoke_all_write(&self, subject: &str) -> Result<Write> {
        self.revocations.revoke_all_write(subject, self.clock.now_ms()).await
    }

    /// Forgets what is cached of a subject after the commit of [`Auth::revoke_all_write`].
    pub fn forget_subject(&self, subject: &str) {
        self.revocations.forget(subject);
    }

    /// The time of issue of a new token: later than the last revocation of all tokens of its subject,
    /// which may be in this millisecond or, by another clock, in a later one.
    pub(super) async fn issue_time(&self, subject: &str) -> Result<u64> {
        let now_ms = self.clock.now_ms();
        let after = self.revocations.valid_after_ms(subject).await?;
        Ok(after.map_or(now_ms, |after| now_ms.max(after.saturating_add(1))))
    }
}

impl<'a> Holder<'a> {
    fn mint(
        &self,
        token_type: TokenType,
        lifetime_secs: u64,
        parent_jti: Option<&'a str>,
    ) -> Mint<'a> {
        Mint {
            subject: self.subject,
            org_id: self.org_id,
            app_id: self.app_id,
            grants: self.grants,
            token_type,
            parent_jti,
            root_jti: None,
            parent_kid: None,
            lifetime_secs,
        }
    }
}
