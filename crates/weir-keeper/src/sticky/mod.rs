//! Sticky fallbacks: read, recorded, overridden by an administrator, reset.
//!
//! Any number of instances may decide on the same fallback at once. Each writes conditionally ([`StickyState::put`]),
//! so exactly one records it, and the others read again. The webhook notifications are queued in the same transaction,
//! so each fallback is notified once.

mod item;

use std::sync::Arc;

use weir_calendar::DaySpan;
use weir_table::expr::attr;
use weir_table::{Backend, Error as Fault, Get, Item, Transaction, Write};

use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::config::{EffectiveConfig, QuotaScope};
use crate::day::OrgDay;
use crate::decide::{Fallback, StickyReason, StickyState};
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;
use crate::table::TTL;
use crate::webhooks::WebhookEvent;

impl<B: Backend> Keeper<B> {
    /// The sticky state of a scope on a day, if any.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sticky_state(&self, scope: &Scope, day: OrgDay) -> Result<Option<StickyState>> {
        let get = Get::new(self.tables().sticky_state.clone(), keys::sticky(scope, day));
        let item = self.store().get(&get).await?;
        decode_unexpired(item.as_ref(), self.now_ms())
    }

    /// Records a fallback. Returns false when the chain is already there or further.
    ///
    /// # Errors
    /// The store fails, or too many writers compete.
    pub async fn record_fallback(
        &self,
        effective: &EffectiveConfig,
        fallback: &Fallback,
        today: DaySpan,
        now_ms: i64,
    ) -> Result<bool> {
        let sticky = StickyState::from_fallback(fallback, effective.config_version, now_ms);
        let scope = effective.scope();
        let table = self.tables().sticky_state.clone();
        let write = sticky.put(table, &scope, today, &effective.model_ordering, now_ms);
        let event = WebhookEvent::Fallback { scope, day: today.day, sticky };
        let is_recorded = self.queue_notice(&event, vec![write], now_ms).await?;
        if is_recorded {
            self.inner.metrics.fallback_recorded();
        }
        Ok(is_recorded)
    }

    /// Sets the model of a scope for the rest of its day. Later fallbacks continue from there.
    ///
    /// # Errors
    /// The scope has no quotas of its own, the label is not in its chain, or the store fails.
    pub async fn override_sticky(
        &self,
        scope: &Scope,
        label: &Label,
        actor: &str,
    ) -> Result<StickyState> {
        let now_ms = self.now_ms();
        let effective = self.effective_for_quota_scope(scope).await?;
        let index = effective.model_ordering.iter().position(|entry| entry == label);
        let Some(index) = index else {
            let chain: Vec<&str> = effective.model_ordering.iter().map(Label::as_str).collect();
            let problem = format!("{label} is not in the chain; use one of {}", chain.join(", "));
            return Err(Error::label("model_label", problem));
        };
        let today = effective.timezone.span_of(now_ms);
        let before = self.sticky_state(scope, today.day).await?;
        let sticky = StickyState {
            label: label.clone(),
            config_version: effective.config_version,
            reason: StickyReason::ManualOverride,
            previous: before.map(|before| before.label),
            activated_at_epoch: now_ms.div_euclid(1000),
        };
        let item = sticky.encode(scope, today, index);
        let write = Write::put(self.tables().sticky_state.clone(), item);
        let event = NewAuditEvent {
            action: AuditAction::StickyOverridden,
            subject: scope.client_id(),
            actor,
            detail: Some(format!("{today}: {label}", today = today.day)),
        };
        let audit = self.audit_write(scope.org(), event, now_ms)?;
        let event =
            WebhookEvent::Fallback { scope: scope.clone(), day: today.day, sticky: sticky.clone() };
        self.queue_notice(&event, vec![write, audit], now_ms).await?;
        Ok(sticky)
    }

    /// Removes the sticky state of a scope. Returns whether there was one.
    ///
    /// # Errors
    /// The scope has no quotas of its own, or the store fails.
    pub async fn reset_sticky(&self, scope: &Scope, actor: &str) -> Result<bool> {
        let now_ms = self.now_ms();
        let effective = self.effective_for_quota_scope(scope).await?;
        let today = effective.timezone.day_of(now_ms);
        let event = NewAuditEvent {
            action: AuditAction::StickyReset,
            subject: scope.client_id(),
            actor,
            detail: Some(today.to_string()),
        };
        let event = self.audit_write(scope.org(), event, now_ms)?;
        let table = self.tables().sticky_state.clone();
        let delete = Write::delete(table, keys::sticky(scope, today)).when(attr("PK").exists());
        self.commit(vec![delete, event]).await
    }

    /// The configuration of a scope, which must have quotas of its own.
    pub(crate) async fn effective_for_quota_scope(
        &self,
        scope: &Scope,
    ) -> Result<Arc<EffectiveConfig>> {
        let effective = self.effective_config(scope.org(), scope.app()).await?;
        if has_quotas(scope, &effective) {
            return Ok(effective);
        }
        let problem = match scope {
            Scope::Org(_) => "quota_scope is APP, so quotas belong to apps: name an app",
            Scope::App(..) => "quota_scope is ORG, so quotas belong to the org: omit the app",
        };
        Err(Error::invalid("scope", problem))
    }

    /// Applies all writes or none, without an idempotency token; a single write needs no transaction. Returns whether
    /// they were applied.
    pub(crate) async fn write_atomically(&self, writes: Vec<Write>) -> Result<bool> {
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let done = match writes.as_slice() {
                [alone] => self.store().write(alone.clone()).await.map(|done| done.is_applied()),
                _ => {
                    let all = Transaction::new(writes.iter().cloned());
                    self.store().transact(all).await.map(|done| done.is_applied())
                }
            };
            match done {
                Err(Fault::Conflict) => {}
                done => return Ok(done?),
            }
        }
        Err(Error::Contended)
    }
}

/// Whether the quotas in force apply to this scope.
pub(crate) fn has_quotas(scope: &Scope, effective: &EffectiveConfig) -> bool {
    match scope {
        Scope::Org(_) => effective.quota_scope == QuotaScope::Org,
        Scope::App(..) => effective.quota_scope == QuotaScope::App,
    }
}

/// Decodes the state, or `None` when it has expired: a read may still return expired items.
pub(crate) fn decode_unexpired(item: Option<&Item>, now_ms: i64) -> Result<Option<StickyState>> {
    let now = now_ms.div_euclid(1000);
    let lasts = |item: &&Item| item.i64(TTL).is_none_or(|until| until > now);
    item.filter(lasts).map(StickyState::decode).transpose()
}
