//! Setting an org up, and setting it to something else.

use weir_table::expr::attr;
use weir_table::{Backend, Item, Query, Write};

use super::{OWN_CHAINS, Put};
use crate::audit::{Act, NewEvent};
use crate::bounds::{APP_PAGES_MAX, APPS_NAMED_MAX, PAGE_MAX, PAST_MAX, TRIES_MAX};
use crate::config::{AppRecord, Effective, OrgRecord, PutOrg, QuotaScope, VERSION, differing};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::part::{as_in, difference};
use crate::retry::pause;

impl<B: Backend> Keeper<B> {
    /// Sets an org up, or sets it to something else. A new time zone or quota scope holds from the next midnight of the old
    /// zone on. Asking for what is there already changes nothing.
    ///
    /// # Errors
    /// What is asked for cannot be; among that, a chain for all apps while some have their own. Or the store fails.
    pub async fn put_org(&self, org: &OrgId, wanted: &PutOrg, by: &str) -> Result<Put> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let put = match self.read_config(keys::org(org)).await? {
                None => self.create_org(org, wanted, by, now_ms).await?,
                Some(old) => self.change_org(org, &old, wanted, by, now_ms).await?,
            };
            if let Some(put) = put {
                return Ok(put);
            }
        }
        Err(Error::Contended)
    }

    /// Nothing when another was faster.
    async fn create_org(
        &self,
        org: &OrgId,
        wanted: &PutOrg,
        by: &str,
        now_ms: i64,
    ) -> Result<Option<Put>> {
        let scope = Scope::Org(org.clone());
        let record = OrgRecord::new(org.clone(), wanted.check(self.labels(), None)?, now_ms);
        let table = &self.tables().config;
        let (retrieval, promise) = self.promise(&scope, 0, now_ms);
        let event =
            NewEvent { act: Act::OrgCreated, subject: scope.client_id(), actor: by, detail: None };
        let writes = vec![
            Write::put(table.clone(), record.encode(None)).when(attr("PK").absent()),
            Write::put(table.clone(), keys::item(keys::org_entry(org))),
            promise,
            self.audit_write(org, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.forget(org);
        self.inner.counts.promised();
        let effective = Effective::of_org(&record, now_ms);
        Ok(Some(Put { created: true, effective, retrieval: Some(retrieval) }))
    }

    /// Nothing when another was faster.
    async fn change_org(
        &self,
        org: &OrgId,
        old: &Item,
        wanted: &PutOrg,
        by: &str,
        now_ms: i64,
    ) -> Result<Option<Put>> {
        let record = OrgRecord::decode(org.clone(), old)?;
        let config = wanted.check(self.labels(), Some(&record.config))?;
        let new = record.changed(config, now_ms);
        let put = |record: &OrgRecord| {
            let effective = Effective::of_org(record, now_ms);
            Some(Put { created: false, effective, retrieval: None })
        };
        if is_same(&record, &new, now_ms) {
            return Ok(put(&record));
        }
        if new.pending.is_some() && new.past.len() >= PAST_MAX {
            let problem = format!("and quota_scope changed {PAST_MAX} times in a few days; wait");
            return Err(Error::config("timezone", problem));
        }
        let mut unchanged = as_in(old, VERSION);
        if new.coming_scope() == QuotaScope::Org && record.coming_scope() == QuotaScope::App {
            self.check_no_own_chains(org).await?;
            unchanged = unchanged.and(as_in(old, OWN_CHAINS));
        }
        let update = difference(old, &new.encode(Some(old)));
        let subject = Scope::Org(org.clone()).client_id();
        let detail = Some(differing(&record.coming(), &new.coming()));
        let event = NewEvent { act: Act::OrgUpdated, subject, actor: by, detail };
        let writes = vec![
            Write::update(self.tables().config.clone(), keys::org(org), update).when(unchanged),
            self.audit_write(org, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.forget(org);
        Ok(put(&new))
    }

    /// Apps that have a chain or quotas of their own would silently lose them, so they are to be changed first.
    async fn check_no_own_chains(&self, org: &OrgId) -> Result<()> {
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::APP_PREFIX);
        let mut cursor = None;
        let mut named: Vec<AppId> = Vec::new();
        for _ in 0..APP_PAGES_MAX {
            let page = self.store().page(query.clone(), PAGE_MAX, cursor).await?;
            for item in &page.items {
                let app = app_of(org, item)?;
                if app.config.has_own_chain() {
                    named.push(app.app);
                }
            }
            cursor = page.cursor;
            if cursor.is_none() || named.len() > APPS_NAMED_MAX {
                break;
            }
        }
        match (named.is_empty(), cursor) {
            (true, None) => Ok(()),
            (true, Some(_)) => Err(Error::config("quota_scope", "cannot be ORG for so many apps")),
            (false, _) => Err(Error::config("quota_scope", has_own_chains(&named))),
        }
    }
}

fn has_own_chains(apps: &[AppId]) -> String {
    let names: Vec<&str> = apps.iter().take(APPS_NAMED_MAX).map(AppId::as_str).collect();
    let more = if apps.len() > APPS_NAMED_MAX { " and others" } else { "" };
    format!(
        "cannot be ORG while apps have a model_ordering, quotas or sticky_fallback_enabled of their own: {}{more}; \
         put these apps without them first",
        names.join(", ")
    )
}

/// The record of an app's item.
pub(crate) fn app_of(org: &OrgId, item: &Item) -> Result<AppRecord> {
    let app = item.s("SK").and_then(keys::parse_app);
    let app = app.ok_or_else(|| Error::damaged("an app", "its key names none"))?;
    AppRecord::decode(org.clone(), app, item)
}

/// Whether an org would be as it is, now and later.
fn is_same(old: &OrgRecord, new: &OrgRecord, now_ms: i64) -> bool {
    let waits = old.pending.as_ref().filter(|pending| pending.at_ms > now_ms);
    *old.at(now_ms) == new.config && waits == new.pending.as_ref()
}
