//! Redeeming a one-time token: the only moment at which a secret is made, and shown.

use weir_table::{Backend, Get, Item, Write};

use super::Redeemed;
use super::item::{self, NewHash, Token};
use super::secret::{ClientSecret, id_of};
use crate::audit::{Act, NewEvent};
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::{RetrievalToken, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

/// A token that is good, and the client whose secret it promises.
struct Ready {
    token: Token,
    client: Item,
}

impl<B: Backend> Keeper<B> {
    /// Makes the secret that a token promises. Of many who redeem one token at once, one gets it.
    ///
    /// When the store fails in the middle and stays away, the token may be used and its secret lost. The client then goes
    /// on with its old one for the grace period, and another rotation promises another.
    ///
    /// # Errors
    /// Too many secrets are hashed already, or the store fails.
    pub async fn redeem(&self, scope: &Scope, token: &str) -> Result<Redeemed> {
        let now_ms = self.now_ms();
        let redeemed = match RetrievalToken::new(token) {
            Ok(token) => self.redeem_once(scope, &token, now_ms).await?,
            Err(_) => Redeemed::Wrong,
        };
        self.inner.counts.retrieved(matches!(redeemed, Redeemed::Secret { .. }));
        Ok(redeemed)
    }

    async fn redeem_once(
        &self,
        scope: &Scope,
        token: &RetrievalToken,
        now_ms: i64,
    ) -> Result<Redeemed> {
        // Twice, so that a wrong token waits for no seat, and one that was used meanwhile costs no hashing.
        if let Err(answer) = self.look(scope, token, now_ms).await? {
            return Ok(answer);
        }
        let seat = self.inner.hashing.seat().await?;
        let mut ready = match self.look(scope, token, now_ms).await? {
            Ok(ready) => ready,
            Err(answer) => return Ok(answer),
        };
        let secret = ClientSecret::random()?;
        let hash = self.inner.hashing.hash(seat, &secret).await?;
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let writes = self.redemption(scope, token, &ready, (&secret, &hash), now_ms)?;
            if self.commit(writes).await? {
                return Ok(Redeemed::Secret {
                    client_id: scope.client_id(),
                    client_secret: secret,
                    retrieved_at_ms: now_ms,
                    expires_at_ms: ready.token.expires_at_epoch.saturating_mul(1000),
                });
            }
            ready = match self.look(scope, token, now_ms).await? {
                Ok(ready) => ready,
                Err(answer) => return Ok(answer),
            };
        }
        Err(Error::Contended)
    }

    /// The token and its client, or why there is nothing to be had.
    async fn look(
        &self,
        scope: &Scope,
        token: &RetrievalToken,
        now_ms: i64,
    ) -> Result<Result<Ready, Redeemed>> {
        let tables = self.tables();
        let gets = [
            Get::new(tables.secret_retrieval_tokens.clone(), keys::retrieval(token)),
            Get::new(tables.config.clone(), keys::config(scope)),
        ];
        let mut found = self.store().batch_get(&gets).await?.into_iter();
        let (Some(item), Some(client)) = (found.next().flatten(), found.next().flatten()) else {
            return Ok(Err(Redeemed::Wrong));
        };
        Ok(match Token::decode(&item, scope)? {
            None => Err(Redeemed::Wrong),
            Some(token) if token.is_used => Err(Redeemed::Used),
            Some(token) if token.expires_at_epoch <= now_ms.div_euclid(1000) => {
                Err(Redeemed::Expired)
            }
            Some(token) => Ok(Ready { token, client }),
        })
    }

    fn redemption(
        &self,
        scope: &Scope,
        token: &RetrievalToken,
        ready: &Ready,
        (secret, hash): (&ClientSecret, &str),
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let tables = self.tables();
        let grace_hours = ready.token.grace_hours;
        let new = NewHash { hash, id: id_of(secret.expose()), grace_hours };
        let replace = item::replace(&ready.client, &new, now_ms);
        let client_id = scope.client_id();
        let event = NewEvent {
            act: Act::SecretRetrieved,
            subject: client_id,
            actor: "a one-time token",
            detail: None,
        };
        let used = item::used(now_ms);
        Ok(vec![
            Write::update(tables.secret_retrieval_tokens.clone(), keys::retrieval(token), used)
                .when(item::is_good(now_ms)),
            Write::update(tables.config.clone(), keys::config(scope), replace)
                .when(item::is_as(&ready.client)),
            self.audit_write(scope.org(), event, now_ms)?,
        ])
    }
}
