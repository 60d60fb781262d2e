//! Webhooks, set and read. The few of an org are remembered for a moment, because news come in crowds.

use std::sync::Arc;

use quick_cache::sync::Cache;
use weir_table::expr::attr;
use weir_table::{Backend, Get, Query, Write};

use super::sign::WebhookSecret;
use super::webhook::{PutWebhook, Webhook};
use crate::audit::{Act, NewEvent};
use crate::bounds::{ORGS_REMEMBERED_MAX, TRIES_MAX, WEBHOOKS_MAX};
use crate::error::{Error, Result};
use crate::ids::{OrgId, Scope, WebhookId};
use crate::keeper::Keeper;
use crate::keys;
use crate::retry::pause;

/// The webhooks of orgs, as they are remembered, each with until when.
pub(crate) struct HookCache(Cache<OrgId, (i64, Hooks)>);

/// The webhooks of an org.
pub type Hooks = Arc<Vec<Webhook>>;

impl HookCache {
    pub(crate) fn new() -> HookCache {
        HookCache(Cache::new(ORGS_REMEMBERED_MAX))
    }
}

impl<B: Backend> Keeper<B> {
    /// Sets a target of notices. The secret that signs them is told when it is made: for a new target, or when asked to.
    ///
    /// # Errors
    /// The request is wrong, the org does not exist or has too many targets, or the store fails.
    pub async fn put_webhook(
        &self,
        org: &OrgId,
        id: &WebhookId,
        put: &PutWebhook,
        by: &str,
    ) -> Result<(Webhook, Option<WebhookSecret>)> {
        self.effective(org, None).await?;
        let table = self.tables().config.clone();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let now_ms = self.now_ms();
            let all = self.list_webhooks(org).await?;
            let old = all.iter().find(|known| known.id == *id);
            if old.is_none() && all.len() >= WEBHOOKS_MAX {
                let problem = format!("the org has {WEBHOOKS_MAX} already");
                return Err(Error::invalid("webhook", problem));
            }
            let webhook = put.check(id, old, now_ms)?;
            let is_as_read = match old {
                Some(old) => Webhook::is(old),
                None => attr("PK").absent(),
            };
            let write = Write::put(table.clone(), webhook.encode(org)).when(is_as_read);
            let event = self.audit_hook(org, id, Act::WebhookPut, by)?;
            if self.commit(vec![write, event]).await? {
                self.hooks().0.remove(org);
                let is_new = old.is_none_or(|old| !old.has_secret_of(&webhook));
                let secret = WebhookSecret::of(self.store(), org, &webhook)?;
                return Ok((webhook, is_new.then_some(secret)));
            }
        }
        Err(Error::Contended)
    }

    /// A target of notices.
    ///
    /// # Errors
    /// There is none, or the store fails.
    pub async fn webhook(&self, org: &OrgId, id: &WebhookId) -> Result<Webhook> {
        let get = Get::new(self.tables().config.clone(), keys::webhook(org, id));
        let item = self.store().get(&get).await?;
        let item = item.ok_or_else(|| Error::not_found("webhook", id.as_str()))?;
        Webhook::decode(&item)
    }

    /// All targets of an org's notices: at most [`WEBHOOKS_MAX`].
    ///
    /// # Errors
    /// The store fails.
    pub async fn list_webhooks(&self, org: &OrgId) -> Result<Vec<Webhook>> {
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org));
        let page = self.store().query(&query.begins_with(keys::WEBHOOK_PREFIX)).await?;
        page.items.iter().map(Webhook::decode).collect()
    }

    /// Removes a target of notices. What waits for it is not delivered.
    ///
    /// # Errors
    /// There is none, or the store fails.
    pub async fn remove_webhook(&self, org: &OrgId, id: &WebhookId, by: &str) -> Result<()> {
        let delete = Write::delete(self.tables().config.clone(), keys::webhook(org, id));
        let event = self.audit_hook(org, id, Act::WebhookRemoved, by)?;
        if !self.commit(vec![delete.when(attr("PK").exists()), event]).await? {
            return Err(Error::not_found("webhook", id.as_str()));
        }
        self.hooks().0.remove(org);
        Ok(())
    }

    fn audit_hook(&self, org: &OrgId, id: &WebhookId, act: Act, by: &str) -> Result<Write> {
        let subject = Scope::Org(org.clone()).client_id();
        let event = NewEvent { act, subject, actor: by, detail: Some(id.to_string()) };
        self.audit_write(org, event, self.now_ms())
    }

    /// The webhooks of an org, remembered as long as its configuration is.
    pub(crate) async fn webhooks_of(&self, org: &OrgId, now_ms: i64) -> Result<Hooks> {
        if let Some((until_ms, hooks)) = self.hooks().0.get(org)
            && now_ms < until_ms
        {
            return Ok(hooks);
        }
        let hooks = Arc::new(self.list_webhooks(org).await?);
        let until_ms = now_ms.saturating_add(self.settings().config_ttl_ms);
        self.hooks().0.insert(org.clone(), (until_ms, Arc::clone(&hooks)));
        Ok(hooks)
    }
}
