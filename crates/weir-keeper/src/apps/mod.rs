//! Apps of an org: put, get, list.
//!
//! An app is checked against its org as it was read, so it is written only if the org is still that one.

use weir_table::expr::{add, attr};
use weir_table::{Backend, Item, Query, Write};

use crate::audit::{Act, NewEvent};
use crate::bounds::TRIES_MAX;
use crate::config::{AppConfig, AppRecord, Effective, OrgRecord, PutApp, VERSION, differing};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;
use crate::orgs::{OWN_CHAINS, Put, app_of};
use crate::paging::Page;
use crate::part::{as_in, difference};
use crate::retry::pause;

/// An org, as it is read and as it is stored.
struct Of<'a> {
    record: &'a OrgRecord,
    item: &'a Item,
}

impl<B: Backend> Keeper<B> {
    /// Sets an app up, or sets it to something else. Asking for what is there already changes nothing.
    ///
    /// # Errors
    /// There is no such org, what is asked for cannot be, or the store fails.
    pub async fn put_app(
        &self,
        org: &OrgId,
        app: &AppId,
        wanted: &PutApp,
        by: &str,
    ) -> Result<Put> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let (item, old) = self.read_both(org, app).await?;
            let item = item.ok_or_else(|| Error::not_found("org", org.as_str()))?;
            let record = OrgRecord::decode(org.clone(), &item)?;
            let names_labels = wanted.model_ordering.is_some() || wanted.quotas.is_some();
            let profiles =
                if names_labels { self.profile_labels(org, app).await? } else { Vec::new() };
            let config = wanted.check(self.labels(), &profiles, &record)?;
            let of = Of { record: &record, item: &item };
            let put = match &old {
                None => self.create_app(&of, app, config, by, now_ms).await?,
                Some(old) => self.change_app(&of, (app, old), config, by, now_ms).await?,
            };
            if let Some(put) = put {
                return Ok(put);
            }
        }
        Err(Error::Contended)
    }

    /// Nothing when another was faster.
    async fn create_app(
        &self,
        org: &Of<'_>,
        app: &AppId,
        config: AppConfig,
        by: &str,
        now_ms: i64,
    ) -> Result<Option<Put>> {
        let id = &org.record.org;
        let scope = Scope::App(id.clone(), app.clone());
        let record = AppRecord::new(id.clone(), app.clone(), config, now_ms);
        let (retrieval, promise) = self.promise(&scope, 0, now_ms);
        let subject = scope.client_id();
        let event = NewEvent { act: Act::AppCreated, subject, actor: by, detail: None };
        let put = Write::put(self.tables().config.clone(), record.encode(None));
        let writes = vec![
            put.when(attr("PK").absent()),
            self.org_as_read(org, &record.config),
            promise,
            self.audit_write(id, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.forget(id);
        self.inner.counts.promised();
        let effective = Effective::of_app(org.record, &record, now_ms);
        Ok(Some(Put { created: true, effective, retrieval: Some(retrieval) }))
    }

    /// Nothing when another was faster.
    async fn change_app(
        &self,
        org: &Of<'_>,
        (app, old): (&AppId, &Item),
        config: AppConfig,
        by: &str,
        now_ms: i64,
    ) -> Result<Option<Put>> {
        let id = &org.record.org;
        let record = AppRecord::decode(id.clone(), app.clone(), old)?;
        let put = |record: &AppRecord| {
            let effective = Effective::of_app(org.record, record, now_ms);
            Some(Put { created: false, effective, retrieval: None })
        };
        if record.config == config {
            return Ok(put(&record));
        }
        let new = record.changed(config, now_ms);
        let update = difference(old, &new.encode(Some(old)));
        let subject = Scope::App(id.clone(), app.clone()).client_id();
        let detail = Some(differing(&record.config, &new.config));
        let event = NewEvent { act: Act::AppUpdated, subject, actor: by, detail };
        let write = Write::update(self.tables().config.clone(), keys::app(id, app), update);
        let writes = vec![
            write.when(as_in(old, VERSION)),
            self.org_as_read(org, &new.config),
            self.audit_write(id, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.forget(id);
        Ok(put(&new))
    }

    /// Holds only while the org is as it was read. An app with a chain of its own leaves a mark there, so that the org
    /// cannot come to share one chain at the same time.
    fn org_as_read(&self, org: &Of<'_>, config: &AppConfig) -> Write {
        let (table, key) = (self.tables().config.clone(), keys::org(&org.record.org));
        let unchanged = as_in(org.item, VERSION);
        if config.has_own_chain() {
            Write::update(table, key, add(OWN_CHAINS, 1)).when(unchanged)
        } else {
            Write::check(table, key, unchanged)
        }
    }

    /// What holds for an app now, as the store has it.
    ///
    /// # Errors
    /// There is no such org or app, or the store fails.
    pub async fn app(&self, org: &OrgId, app: &AppId) -> Result<Effective> {
        let now_ms = self.now_ms();
        let ((of_org, _), of_app) = self.read_records(org, Some(app)).await?;
        let (of_app, _) = of_app.ok_or_else(|| Error::not_found("app", app.as_str()))?;
        Ok(Effective::of_app(&of_org, &of_app, now_ms))
    }

    /// All apps of an org, by id, page by page.
    ///
    /// # Errors
    /// There is no such org, the cursor is not of this list, or the store fails.
    pub async fn list_apps(
        &self,
        org: &OrgId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Page<Effective>> {
        let now_ms = self.now_ms();
        let ((of_org, _), _) = self.read_records(org, None).await?;
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::APP_PREFIX);
        let page = self.store().page(query, limit, cursor).await?;
        let effective = |item: &Item| Ok(Effective::of_app(&of_org, &app_of(org, item)?, now_ms));
        let items = page.items.iter().map(effective).collect::<Result<_>>()?;
        Ok(Page { items, cursor: page.cursor })
    }
}
