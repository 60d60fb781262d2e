//! Retrieves a secret with a one-time token: the only time a secret is made and returned.

use weir_table::{Backend, Get, Item, Write};

use super::RetrievalOutcome;
use super::item::{self, NewHash, StoredToken};
use super::secret::{ClientSecret, id_of};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::{RetrievalToken, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

/// A valid token, and the item of its client.
struct RedeemableToken {
    token: StoredToken,
    client: Item,
}

impl<B: Backend> Keeper<B> {
    /// Makes and returns the secret of a one-time token. Of concurrent retrievals with one token, exactly one succeeds.
    ///
    /// When the store fails midway and stays unavailable, the token may be used and its secret lost. The client's old
    /// secret then works for the grace period, and another rotation issues another token.
    ///
    /// # Errors
    /// Too many secrets are being hashed, or the store fails.
    pub async fn retrieve_secret(&self, scope: &Scope, token: &str) -> Result<RetrievalOutcome> {
        let now_ms = self.now_ms();
        let outcome = match RetrievalToken::new(token) {
            Ok(token) => self.retrieve_once(scope, &token, now_ms).await?,
            Err(_) => RetrievalOutcome::Unknown,
        };
        self.inner.metrics.secret_retrieved(matches!(outcome, RetrievalOutcome::Secret { .. }));
        Ok(outcome)
    }

    async fn retrieve_once(
        &self,
        scope: &Scope,
        token: &RetrievalToken,
        now_ms: i64,
    ) -> Result<RetrievalOutcome> {
        // Checked twice: an invalid token does not wait for a permit, and one used meanwhile is not hashed for.
        if let Err(outcome) = self.redeemable(scope, token, now_ms).await? {
            return Ok(outcome);
        }
        let permit = self.inner.hasher.permit().await?;
        let mut ready = match self.redeemable(scope, token, now_ms).await? {
            Ok(ready) => ready,
            Err(outcome) => return Ok(outcome),
        };
        let secret = ClientSecret::random()?;
        let hash = self.inner.hasher.hash(permit, &secret).await?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let writes = self.redemption(scope, token, &ready, (&secret, &hash), now_ms)?;
            if self.commit(writes).await? {
                return Ok(RetrievalOutcome::Secret {
                    client_id: scope.client_id(),
                    client_secret: secret,
                    retrieved_at_ms: now_ms,
                    expires_at_ms: ready.token.expires_at_epoch.saturating_mul(1000),
                });
            }
            ready = match self.redeemable(scope, token, now_ms).await? {
                Ok(ready) => ready,
                Err(outcome) => return Ok(outcome),
            };
        }
        Err(Error::Contended)
    }

    /// The token and its client, or the outcome that refuses the retrieval.
    async fn redeemable(
        &self,
        scope: &Scope,
        token: &RetrievalToken,
        now_ms: i64,
    ) -> Result<Result<RedeemableToken, RetrievalOutcome>> {
        let tables = self.tables();
        let gets = [
            Get::new(tables.secret_retrieval_tokens.clone(), keys::retrieval(token)),
            Get::new(tables.config.clone(), keys::config(scope)),
        ];
        let mut found = self.store().batch_get(&gets).await?.into_iter();
        let (Some(item), Some(client)) = (found.next().flatten(), found.next().flatten()) else {
            return Ok(Err(RetrievalOutcome::Unknown));
        };
        Ok(match StoredToken::decode(&item, scope)? {
            None => Err(RetrievalOutcome::Unknown),
            Some(token) if token.is_used => Err(RetrievalOutcome::AlreadyUsed),
            Some(token) if token.expires_at_epoch <= now_ms.div_euclid(1000) => {
                Err(RetrievalOutcome::Expired)
            }
            Some(token) => Ok(RedeemableToken { token, client }),
        })
    }

    fn redemption(
        &self,
        scope: &Scope,
        token: &RetrievalToken,
        ready: &RedeemableToken,
        (secret, hash): (&ClientSecret, &str),
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let tables = self.tables();
        let grace_hours = ready.token.grace_hours;
        let new = NewHash { hash, id: id_of(secret.expose()), grace_hours };
        let replace = item::replace(&ready.client, &new, now_ms);
        let client_id = scope.client_id();
        let event = NewAuditEvent {
            action: AuditAction::SecretRetrieved,
            subject: client_id,
            actor: "a one-time token",
            detail: None,
        };
        let used = item::mark_used(now_ms);
        Ok(vec![
            Write::update(tables.secret_retrieval_tokens.clone(), keys::retrieval(token), used)
                .when(item::is_redeemable(now_ms)),
            Write::update(tables.config.clone(), keys::config(scope), replace)
                .when(item::is_unchanged(&ready.client)),
            self.audit_write(scope.org(), event, now_ms)?,
        ])
    }
}
