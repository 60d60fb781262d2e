//! Fallbacks that last for the day: read, moved on, chosen by an administrator, forgotten.
//!
//! Any number of instances may find at once that a chain has to move on. Each writes on condition that it moves on
//! ([`Sticky::put`]), so one of them does it, and who is refused reads again. Notices of the move are queued in the same
//! transaction: one for each move that happened.

mod item;

use std::sync::Arc;

use weir_table::expr::attr;
use weir_table::{Backend, Error as Fault, Get, Item, Transaction, Write};

use crate::audit::{Act, NewEvent};
use crate::bounds::TRIES_MAX;
use crate::config::{Effective, QuotaScope};
use crate::day::{DaySpan, OrgDay};
use crate::decide::{Flip, Sticky, StickyReason};
use crate::error::{Error, Result};
use crate::ids::{Label, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::notices::News;
use crate::retry::pause;
use crate::table::TTL;

impl<B: Backend> Keeper<B> {
    /// The fallback of a scope on a day, if there is one.
    ///
    /// # Errors
    /// The store fails.
    pub async fn sticky(&self, scope: &Scope, day: OrgDay) -> Result<Option<Sticky>> {
        let get = Get::new(self.tables().sticky_state.clone(), keys::sticky(scope, day));
        let item = self.store().get(&get).await?;
        read(item.as_ref(), self.now_ms())
    }

    /// Moves a scope's chain on. Tells whether this call did: not, when the chain is there already or further on.
    ///
    /// # Errors
    /// The store fails, or too many write at once.
    pub async fn flip(
        &self,
        effective: &Effective,
        flip: &Flip,
        today: DaySpan,
        now_ms: i64,
    ) -> Result<bool> {
        let sticky = Sticky::of_flip(flip, effective.config_version, now_ms);
        let scope = effective.scope();
        let table = self.tables().sticky_state.clone();
        let write = sticky.put(table, &scope, today, &effective.model_ordering, now_ms);
        let news = News::Flip { scope, day: today.day, sticky };
        let moved = self.move_on(&news, [write], now_ms).await?;
        if moved {
            self.meters().flipped();
        }
        Ok(moved)
    }

    /// Sets the model of a scope for the rest of its day. Fallbacks go on from there.
    ///
    /// # Errors
    /// The scope has no quotas of its own, the label is not in its chain, or the store fails.
    pub async fn override_sticky(&self, scope: &Scope, label: &Label, by: &str) -> Result<Sticky> {
        let now_ms = self.now_ms();
        let effective = self.effective_of_quota(scope).await?;
        let place = effective.model_ordering.iter().position(|known| known == label);
        let Some(index) = place else {
            let chain: Vec<&str> = effective.model_ordering.iter().map(Label::as_str).collect();
            let problem = format!("{label} is not in the chain: {}", chain.join(", "));
            return Err(Error::label("model_label", problem));
        };
        let today = effective.timezone.span_of(now_ms);
        let before = self.sticky(scope, today.day).await?;
        let sticky = Sticky {
            label: label.clone(),
            config_version: effective.config_version,
            reason: StickyReason::ManualOverride,
            previous: before.map(|before| before.label),
            activated_at_epoch: now_ms.div_euclid(1000),
        };
        let item = sticky.encode(scope, today, index);
        let write = Write::put(self.tables().sticky_state.clone(), item);
        let event = NewEvent {
            act: Act::StickyOverridden,
            subject: scope.client_id(),
            actor: by,
            detail: Some(format!("{today}: {label}", today = today.day)),
        };
        let event = self.audit_write(scope.org(), event, now_ms)?;
        let news = News::Flip { scope: scope.clone(), day: today.day, sticky: sticky.clone() };
        self.move_on(&news, [write, event], now_ms).await?;
        Ok(sticky)
    }

    /// Forgets the fallback of a scope. Tells whether there was one.
    ///
    /// # Errors
    /// The scope has no quotas of its own, or the store fails.
    pub async fn reset_sticky(&self, scope: &Scope, by: &str) -> Result<bool> {
        let now_ms = self.now_ms();
        let effective = self.effective_of_quota(scope).await?;
        let today = effective.timezone.day_of(now_ms);
        let event = NewEvent {
            act: Act::StickyReset,
            subject: scope.client_id(),
            actor: by,
            detail: Some(today.to_string()),
        };
        let event = self.audit_write(scope.org(), event, now_ms)?;
        let table = self.tables().sticky_state.clone();
        let delete = Write::delete(table, keys::sticky(scope, today)).when(attr("PK").exists());
        self.commit(vec![delete, event]).await
    }

    /// What holds for a scope that has quotas of its own.
    pub(crate) async fn effective_of_quota(&self, scope: &Scope) -> Result<Arc<Effective>> {
        let effective = self.effective(scope.org(), scope.app()).await?;
        if has_quotas(scope, &effective) {
            return Ok(effective);
        }
        let problem = match scope {
            Scope::Org(_) => "the quotas of this org are those of its apps: name one",
            Scope::App(..) => "the quotas of this app are its org's: name the org alone",
        };
        Err(Error::invalid("scope", problem))
    }

    /// Writes a fallback, with the notices of it in the same transaction.
    async fn move_on(
        &self,
        news: &News,
        writes: impl IntoIterator<Item = Write>,
        now_ms: i64,
    ) -> Result<bool> {
        let hooks = self.webhooks_of(news.scope().org(), now_ms).await?;
        let deliveries = self.deliveries(news, &hooks, now_ms);
        let count = deliveries.len() as u64;
        let writes: Vec<Write> = writes.into_iter().chain(deliveries).collect();
        let moved = self.write_together(writes).await?;
        if moved {
            self.meters().queued(count);
        }
        Ok(moved)
    }

    /// Does all writes or none; one alone needs no transaction. Tells whether they were done.
    pub(crate) async fn write_together(&self, writes: Vec<Write>) -> Result<bool> {
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

/// Whether the quotas in force are for this scope.
pub(crate) fn has_quotas(scope: &Scope, effective: &Effective) -> bool {
    match scope {
        Scope::Org(_) => effective.quota_scope == QuotaScope::Org,
        Scope::App(..) => effective.quota_scope == QuotaScope::App,
    }
}

/// The fallback in an item; none when it has expired, which a read may still see.
pub(crate) fn read(item: Option<&Item>, now_ms: i64) -> Result<Option<Sticky>> {
    let now = now_ms.div_euclid(1000);
    let lasts = |item: &&Item| item.i64(TTL).is_none_or(|until| until > now);
    item.filter(lasts).map(Sticky::decode).transpose()
}
