//! Stores and reads the webhooks of an org, with a short-lived cache, because events come in bursts.

use std::sync::Arc;

use quick_cache::sync::Cache;
use weir_table::expr::attr;
use weir_table::{Backend, Get, Query, Write};

use super::signature::WebhookSecret;
use super::webhook::{PutWebhook, Webhook};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::{TRIES_MAX, WEBHOOK_ORGS_CACHED_MAX, WEBHOOKS_MAX};
use crate::error::{Error, Result};
use crate::ids::{OrgId, Scope, WebhookId};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

/// Webhooks by org, each entry with its expiry in milliseconds since 1970.
pub(crate) struct WebhookCache(Cache<OrgId, (i64, Arc<Vec<Webhook>>)>);

impl WebhookCache {
    pub(crate) fn new() -> WebhookCache {
        WebhookCache(Cache::new(WEBHOOK_ORGS_CACHED_MAX))
    }
}

/// A webhook that was created or changed.
#[derive(Debug)]
pub struct WebhookPut {
    /// The webhook.
    pub webhook: Webhook,
    /// Whether the write created it.
    pub created: bool,
    /// Its signing secret when that is new: for a new webhook, or after a rotation.
    pub secret: Option<WebhookSecret>,
}

impl<B: Backend> Keeper<B> {
    /// Creates or changes a webhook.
    ///
    /// # Errors
    /// The request is invalid, the org does not exist or has too many webhooks, or the store fails.
    pub async fn put_webhook(
        &self,
        org: &OrgId,
        id: &WebhookId,
        put: &PutWebhook,
        actor: &str,
    ) -> Result<WebhookPut> {
        self.effective_config(org, None).await?;
        let table = self.tables().config.clone();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let now_ms = self.now_ms();
            let all = self.list_webhooks(org).await?;
            let old = all.iter().find(|webhook| webhook.id == *id);
            if old.is_none() && all.len() >= WEBHOOKS_MAX {
                let problem = format!("the org already has {WEBHOOKS_MAX}; remove one first");
                return Err(Error::invalid("webhook", problem));
            }
            let policy = &self.settings().webhook_addresses;
            let webhook = put.check(id, old, policy, now_ms)?;
            let is_unchanged = match old {
                Some(old) => old.is_unchanged(),
                None => attr("PK").absent(),
            };
            let write = Write::put(table.clone(), webhook.encode(org)).when(is_unchanged);
            let audit = self.audit_webhook(org, id.to_string(), AuditAction::WebhookPut, actor)?;
            if self.commit(vec![write, audit]).await? {
                self.inner.webhooks.0.remove(org);
                let is_new_secret = old.is_none_or(|old| old.generation != webhook.generation);
                let secret = WebhookSecret::derive(self.store(), org, &webhook)?;
                let secret = is_new_secret.then_some(secret);
                return Ok(WebhookPut { webhook, created: old.is_none(), secret });
            }
        }
        Err(Error::Contended)
    }

    /// A webhook.
    ///
    /// # Errors
    /// It does not exist, or the store fails.
    pub async fn webhook(&self, org: &OrgId, id: &WebhookId) -> Result<Webhook> {
        let get = Get::new(self.tables().config.clone(), keys::webhook(org, id));
        let item = self.store().get(&get).await?;
        let item = item.ok_or_else(|| Error::not_found("webhook", id.as_str()))?;
        Webhook::decode(&item)
    }

    /// All webhooks of an org, at most [`WEBHOOKS_MAX`].
    ///
    /// # Errors
    /// The store fails.
    pub async fn list_webhooks(&self, org: &OrgId) -> Result<Vec<Webhook>> {
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org));
        let page = self.store().query(&query.begins_with(keys::WEBHOOK_PREFIX)).await?;
        page.items.iter().map(Webhook::decode).collect()
    }

    /// Removes a webhook and its queue of notices.
    ///
    /// # Errors
    /// It does not exist, or the store fails.
    pub async fn remove_webhook(&self, org: &OrgId, id: &WebhookId, actor: &str) -> Result<()> {
        let delete = Write::delete(self.tables().config.clone(), keys::webhook(org, id));
        let audit = self.audit_webhook(org, id.to_string(), AuditAction::WebhookRemoved, actor)?;
        let table = self.tables().sticky_state.clone();
        let queue = Write::delete(table, keys::delivery_queue(org, id));
        if !self.commit(vec![delete.when(attr("PK").exists()), queue, audit]).await? {
            return Err(Error::not_found("webhook", id.as_str()));
        }
        self.inner.webhooks.0.remove(org);
        Ok(())
    }

    /// The audit event of a webhook, which `detail` names.
    pub(super) fn audit_webhook(
        &self,
        org: &OrgId,
        detail: String,
        action: AuditAction,
        actor: &str,
    ) -> Result<Write> {
        let subject = Scope::Org(org.clone()).client_id();
        let event = NewAuditEvent { action, subject, actor, detail: Some(detail) };
        self.audit_write(org, event, self.now_ms())
    }

    /// The webhooks of an org, cached as long as its configuration.
    pub(crate) async fn cached_webhooks(
        &self,
        org: &OrgId,
        now_ms: i64,
    ) -> Result<Arc<Vec<Webhook>>> {
        if let Some((until_ms, webhooks)) = self.inner.webhooks.0.get(org)
            && now_ms < until_ms
        {
            return Ok(webhooks);
        }
        let webhooks = Arc::new(self.list_webhooks(org).await?);
        let until_ms = now_ms.saturating_add(self.settings().config_ttl_ms);
        self.inner.webhooks.0.insert(org.clone(), (until_ms, Arc::clone(&webhooks)));
        Ok(webhooks)
    }
}
