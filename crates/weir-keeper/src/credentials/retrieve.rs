//! Retrieves a secret with a one-time token: the only time a secret is made and returned.

use weir_table::{Backend, Get, Item, Write};

use super::RetrievalOutcome;
use super::item::{self, NewHash, StoredToken};
use super::secret::{ClientSecret, id_of};
use super::tokens::TokenRevocation;
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::config::DELETED_AT;
use crate::error::{Error, Result};
use crate::ids::{RetrievalToken, RetrievalTokenHash, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

/// A valid token, and the item of its client.
struct RedeemableToken {
    token: StoredToken,
    client: Item,
}

impl RedeemableToken {
    /// Whether the client's tokens end with its old secret. Before its first secret a client has none.
    fn ends_tokens(&self) -> bool {
        self.token.grace_hours == 0 && item::has_secret(&self.client)
    }
}

impl<B: Backend> Keeper<B> {
    /// Makes and returns the secret of a one-time token. Of concurrent retrievals with one token, exactly one succeeds.
    /// Where the old secret has no grace period, the client's access and refresh tokens end with it, in one transaction.
    ///
    /// When the store fails midway and stays unavailable, the token may be used and its secret lost. The client's old
    /// secret then works for the grace period, and another rotation issues another token.
    ///
    /// # Errors
    /// Too many secrets are being hashed, or the store fails.
    pub async fn retrieve_secret(
        &self,
        scope: &Scope,
        token: &str,
        tokens: &impl TokenRevocation,
    ) -> Result<RetrievalOutcome> {
        let now_ms = self.now_ms();
        let outcome = match RetrievalToken::new(token) {
            Ok(token) => self.retrieve_once(scope, &token.hash(), tokens, now_ms).await?,
            Err(_) => RetrievalOutcome::Unknown,
        };
        self.inner.metrics.secret_retrieved(matches!(outcome, RetrievalOutcome::Secret { .. }));
        Ok(outcome)
    }

    async fn retrieve_once(
        &self,
        scope: &Scope,
        token: &RetrievalTokenHash,
        tokens: &impl TokenRevocation,
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
        let client_id = scope.client_id();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let mut writes = self.redemption(scope, token, &ready, (&secret, &hash), now_ms)?;
            let ends_tokens = ready.ends_tokens();
            if ends_tokens {
                writes.push(tokens.end_tokens(&client_id).await?);
            }
            let committed = self.commit(writes).await;
            // After a failure too: the outcome is unknown then.
            if ends_tokens {
                tokens.ended(&client_id);
            }
            if committed? {
                return Ok(RetrievalOutcome::Secret {
                    client_id,
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
        token: &RetrievalTokenHash,
        now_ms: i64,
    ) -> Result<Result<RedeemableToken, RetrievalOutcome>> {
        let tables = self.tables();
        let gets = [
            Get::new(tables.secret_retrieval_tokens.clone(), keys::retrieval(token)),
            Get::new(tables.config.clone(), keys::org(scope.org())),
        ];
        let app = scope.app().map(|_| Get::new(tables.config.clone(), keys::config(scope)));
        let gets: Vec<Get> = gets.into_iter().chain(app).collect();
        let mut found = self.store().batch_get(&gets).await?.into_iter();
        let (item, org) = (found.next().flatten(), found.next().flatten());
        let is_active = |item: &Item| item.get(DELETED_AT).is_none();
        let org = org.filter(is_active);
        let client = match scope.app() {
            Some(_) => org.and(found.next().flatten()).filter(is_active),
            None => org,
        };
        let (Some(item), Some(client)) = (item, client) else {
            return Ok(Err(RetrievalOutcome::Unknown));
        };
        let is_pending = item::is_pending(&client, token);
        Ok(match StoredToken::decode(&item, scope)? {
            None => Err(RetrievalOutcome::Unknown),
            Some(stored) if stored.is_used => Err(RetrievalOutcome::AlreadyUsed),
            Some(stored) if stored.expires_at_epoch <= now_ms.div_euclid(1000) => {
                Err(RetrievalOutcome::Expired)
            }
            Some(_) if !is_pending => Err(self.void_or_used(scope, token).await?),
            Some(token) => Ok(RedeemableToken { token, client }),
        })
    }

    /// Why a token is not the one to redeem. It is read again, because a redemption between the reads of the token and of the
    /// client looks like a replacement.
    async fn void_or_used(
        &self,
        scope: &Scope,
        token: &RetrievalTokenHash,
    ) -> Result<RetrievalOutcome> {
        let table = self.tables().secret_retrieval_tokens.clone();
        let item = self.store().get(&Get::new(table, keys::retrieval(token))).await?;
        let stored = item.map(|item| StoredToken::decode(&item, scope)).transpose()?.flatten();
        let is_used = stored.is_some_and(|stored| stored.is_used);
        Ok(if is_used { RetrievalOutcome::AlreadyUsed } else { RetrievalOutcome::Void })
    }

    fn redemption(
        &self,
        scope: &Scope,
        token: &RetrievalTokenHash,
        ready: &RedeemableToken,
        (secret, hash): (&ClientSecret, &str),
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let tables = self.tables();
        let grace_hours = ready.token.grace_hours;
        let new = NewHash { hash, id: id_of(secret.expose()), grace_hours };
        let replace = item::replace(&ready.client, &new, now_ms);
        let event = NewAuditEvent {
            action: AuditAction::SecretRetrieved,
            subject: scope.client_id(),
            actor: "a one-time token",
            detail: ready.ends_tokens().then(|| "ended the tokens of the client".to_owned()),
        };
        let used = item::mark_used(now_ms);
        Ok(vec![
            Write::update(tables.secret_retrieval_tokens.clone(), keys::retrieval(token), used)
                .when(item::is_redeemable(now_ms)),
            Write::update(tables.config.clone(), keys::config(scope), replace)
                .when(item::is_unchanged(&ready.client, token)),
            self.audit_write(scope.org(), event, now_ms)?,
        ])
    }
}
