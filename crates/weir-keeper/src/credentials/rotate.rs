//! Rotates credentials: issues a one-time token that the new secret is retrieved with, or takes it back.

use weir_table::expr::{attr, set};
use weir_table::{Backend, Item, Write};

use super::item::{self, PENDING_TOKEN, StoredToken};
use super::{Retrieval, Rotation};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::GRACE_HOURS_MAX;
use crate::error::{Error, Result};
use crate::ids::{RetrievalToken, Scope};
use crate::keeper::Keeper;
use crate::keys;

/// A new retrieval token, and the write that stores it. The client's item must name it too: see [`NewRetrieval::mark`].
pub(crate) struct NewRetrieval {
    pub(crate) retrieval: Retrieval,
    pub(crate) write: Write,
}

impl NewRetrieval {
    /// The item of a new client, with this token as the one to redeem.
    pub(crate) fn mark(&self, client: Item) -> Item {
        client.with(PENDING_TOKEN, self.retrieval.token.hash().as_str())
    }
}

impl<B: Backend> Keeper<B> {
    /// Issues a retrieval token for a new secret, and makes all earlier ones void. The current secret does not change until
    /// the token is redeemed; then it works for the grace period.
    ///
    /// # Errors
    /// The client does not exist, the grace period is too long, or the store fails.
    pub async fn rotate_credentials(
        &self,
        scope: &Scope,
        grace_period_hours: u32,
        actor: &str,
    ) -> Result<Rotation> {
        let now_ms = self.now_ms();
        if grace_period_hours > GRACE_HOURS_MAX {
            let problem = format!("is {grace_period_hours}, must be from 0 to {GRACE_HOURS_MAX}");
            return Err(Error::invalid("grace_period_hours", problem));
        }
        self.read_records(scope.org(), scope.app()).await?;
        let NewRetrieval { retrieval, write } =
            self.new_retrieval(scope, grace_period_hours, now_ms);
        let event = NewAuditEvent {
            action: AuditAction::CredentialsRotated,
            subject: scope.client_id(),
            actor,
            detail: Some(format!("grace_period_hours={grace_period_hours}")),
        };
        let pending = set(PENDING_TOKEN, retrieval.token.hash().as_str());
        let writes = vec![
            Write::update(self.tables().config.clone(), keys::config(scope), pending)
                .when(item::is_active()),
            write,
            self.audit_write(scope.org(), event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Err(scope.not_found());
        }
        self.inner.metrics.retrieval_token_issued();
        let grace_ms = i64::from(grace_period_hours) * 3_600_000;
        Ok(Rotation {
            rotated_at_ms: now_ms,
            old_secret_expires_at_ms: retrieval.expires_at_ms.saturating_add(grace_ms),
            grace_period_hours,
            retrieval,
        })
    }

    /// Cancels the rotation that waits for its token to be redeemed: the token is void, and the current secret stays.
    ///
    /// # Errors
    /// The client does not exist, no rotation waits ([`Error::NotFound`]), or the store fails.
    pub async fn cancel_rotation(&self, scope: &Scope, actor: &str) -> Result<()> {
        let now_ms = self.now_ms();
        self.read_records(scope.org(), scope.app()).await?;
        let event = NewAuditEvent {
            action: AuditAction::RotationCancelled,
            subject: scope.client_id(),
            actor,
            detail: None,
        };
        let void = weir_table::expr::Update::default().remove(PENDING_TOKEN);
        let writes = vec![
            Write::update(self.tables().config.clone(), keys::config(scope), void)
                .when(item::is_active().and(attr(PENDING_TOKEN).exists())),
            self.audit_write(scope.org(), event, now_ms)?,
        ];
        match self.commit(writes).await? {
            true => Ok(()),
            false => Err(Error::not_found("pending rotation of", scope.client_id())),
        }
    }

    /// A new retrieval token, and the write that stores it.
    pub(crate) fn new_retrieval(
        &self,
        scope: &Scope,
        grace_hours: u32,
        now_ms: i64,
    ) -> NewRetrieval {
        let token = RetrievalToken::random();
        let lifetime = i64::from(self.settings().retrieval_token_secs);
        let expires_at_epoch = now_ms.div_euclid(1000).saturating_add(lifetime);
        let record = StoredToken { expires_at_epoch, is_used: false, grace_hours };
        let item = record.encode(keys::item(keys::retrieval(&token.hash())), scope, now_ms);
        let table = self.tables().secret_retrieval_tokens.clone();
        let write = Write::put(table, item).when(attr("PK").absent());
        let expires_at_ms = expires_at_epoch.saturating_mul(1000);
        NewRetrieval { retrieval: Retrieval { token, expires_at_ms }, write }
    }
}
