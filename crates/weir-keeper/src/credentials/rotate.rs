//! Rotates credentials: issues a one-time token that the new secret is retrieved with.

use weir_table::expr::attr;
use weir_table::{Backend, Write};

use super::item::{CLIENT_ID, StoredToken};
use super::{Retrieval, Rotation};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::GRACE_HOURS_MAX;
use crate::error::{Error, Result};
use crate::ids::{RetrievalToken, Scope};
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// Issues a retrieval token for a new secret. The current secret does not change until the token is redeemed; then
    /// it works for the grace period.
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
        let (retrieval, token_write) = self.new_retrieval(scope, grace_period_hours, now_ms);
        let event = NewAuditEvent {
            action: AuditAction::CredentialsRotated,
            subject: scope.client_id(),
            actor,
            detail: Some(format!("grace_period_hours={grace_period_hours}")),
        };
        let client_exists = attr(CLIENT_ID).exists();
        let writes = vec![
            Write::check(self.tables().config.clone(), keys::config(scope), client_exists),
            token_write,
            self.audit_write(scope.org(), event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Err(client_not_found(scope));
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

    /// A new retrieval token, and the write that stores it.
    pub(crate) fn new_retrieval(
        &self,
        scope: &Scope,
        grace_hours: u32,
        now_ms: i64,
    ) -> (Retrieval, Write) {
        let token = RetrievalToken::random();
        let lifetime = i64::from(self.settings().retrieval_token_secs);
        let expires_at_epoch = now_ms.div_euclid(1000).saturating_add(lifetime);
        let record = StoredToken { expires_at_epoch, is_used: false, grace_hours };
        let item = record.encode(keys::item(keys::retrieval(&token)), scope, now_ms);
        let table = self.tables().secret_retrieval_tokens.clone();
        let write = Write::put(table, item).when(attr("PK").absent());
        let expires_at_ms = expires_at_epoch.saturating_mul(1000);
        (Retrieval { token, expires_at_ms }, write)
    }
}

pub(super) fn client_not_found(scope: &Scope) -> Error {
    match scope {
        Scope::Org(org) => Error::not_found("org", org.as_str()),
        Scope::App(_, app) => Error::not_found("app", app.as_str()),
    }
}
