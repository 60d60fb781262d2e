//! Apps of an org: put, get, list.
//!
//! An app is validated against its org, so it is written only if the org has not changed since.

use weir_table::expr::{add, attr};
use weir_table::retry::Listed;
use weir_table::{Backend, Item, Query, Write};

use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::config::{
    AppConfig, AppRecord, DELETED_AT, EffectiveConfig, OrgRecord, PURGED_AT, PutApp, Unpriced,
    VERSION, changed_fields,
};
use crate::credentials::NewRetrieval;
use crate::deletion::{Deleted, deleted_id};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};
use crate::item_diff::{unchanged_since, update_between};
use crate::keeper::Keeper;
use crate::keys;
use crate::orgs::{OWN_CHAINS, PutOutcome, decode_app};
use crate::prices::PriceQuery;
use crate::retry::pause;

/// An org as read: its record and its item.
struct OrgSnapshot<'a> {
    record: &'a OrgRecord,
    item: &'a Item,
}

impl<B: Backend> Keeper<B> {
    /// Creates or changes an app. A put without a difference changes nothing.
    ///
    /// # Errors
    /// The org does not exist, the request is invalid, or the store fails.
    pub async fn put_app(
        &self,
        org: &OrgId,
        app: &AppId,
        request: &PutApp,
        actor: &str,
    ) -> Result<PutOutcome> {
        let now_ms = self.now_ms();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            let (item, old) = self.read_org_and_app(org, app).await?;
            let item = item.filter(|item| item.get(DELETED_AT).is_none());
            let item = item.ok_or_else(|| Error::not_found("org", org.as_str()))?;
            let record = OrgRecord::decode(org.clone(), &item)?;
            let (purged, old) = match old {
                Some(old) if old.get(PURGED_AT).is_some() => (Some(old), None),
                old => (None, old),
            };
            if let Some(at) = old.as_ref().and_then(|old| old.i64(DELETED_AT)) {
                return Err(deleted_id(&Scope::App(org.clone(), app.clone()), at));
            }
            let names_labels = request.model_ordering.is_some() || request.quotas.is_some();
            let profiles =
                if names_labels { self.profile_labels(org, app).await? } else { Vec::new() };
            let decode = |item| AppRecord::decode(org.clone(), app.clone(), item);
            let old_record = old.as_ref().map(decode).transpose()?;
            let old_config = old_record.as_ref().map(|record| &record.config);
            let config = request.check(self.catalog(), &profiles, &record, old_config)?;
            self.check_profiles_priced((org, app), &config, &record, now_ms).await?;
            let snapshot = OrgSnapshot { record: &record, item: &item };
            let put = match &old {
                None => {
                    let id = (app, purged.as_ref());
                    self.create_app(&snapshot, id, config, actor, now_ms).await?
                }
                Some(old) => self.change_app(&snapshot, (app, old), config, actor, now_ms).await?,
            };
            if let Some(put) = put {
                return Ok(put);
            }
        }
        Err(Error::Contended)
    }

    /// Checks that each inference profile of a chain has a price: a model that is recommended can be submitted.
    async fn check_profiles_priced(
        &self,
        (org, app): (&OrgId, &AppId),
        config: &AppConfig,
        record: &OrgRecord,
        now_ms: i64,
    ) -> Result<()> {
        if record.config.unpriced == Unpriced::Zero {
            return Ok(());
        }
        for label in config.model_ordering.iter().flatten() {
            let profile = match self.catalog().get(label) {
                Some(_) => None,
                None => self.stored_profile(org, app, label).await?,
            };
            let Some(profile) = profile else { continue };
            let arn = &profile.inference_profile_arn;
            let query = PriceQuery::new(arn);
            if self.price_by_label(&query, (label, Some(&profile)), now_ms).await?.is_none() {
                let problem = format!(
                    "no price is known for {label}, so its usage could not be recorded: register it with the `model_id` that \
                     it stands for, or import a price for {arn}"
                );
                return Err(Error::config("model_ordering", problem));
            }
        }
        Ok(())
    }

    /// `None` when a concurrent writer was faster. The new app replaces a purged one, and inherits nothing from it.
    async fn create_app(
        &self,
        org: &OrgSnapshot<'_>,
        (app, purged): (&AppId, Option<&Item>),
        config: AppConfig,
        actor: &str,
        now_ms: i64,
    ) -> Result<Option<PutOutcome>> {
        let id = &org.record.org;
        let scope = Scope::App(id.clone(), app.clone());
        let record = AppRecord::new(id.clone(), app.clone(), config, now_ms);
        let new = self.new_retrieval(&scope, 0, now_ms);
        let subject = scope.client_id();
        let event = NewAuditEvent { action: AuditAction::AppCreated, subject, actor, detail: None };
        let put = Write::put(self.tables().config.clone(), new.mark(record.encode(None)));
        let is_free = match purged {
            Some(purged) => unchanged_since(purged, PURGED_AT),
            None => attr("PK").absent(),
        };
        let NewRetrieval { retrieval, write } = new;
        let writes = vec![
            put.when(is_free),
            self.check_org_unchanged(org, &record.config),
            write,
            self.audit_write(id, event, now_ms)?,
        ];
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.invalidate(id);
        self.inner.metrics.retrieval_token_issued();
        let effective = EffectiveConfig::for_app(org.record, &record, now_ms);
        Ok(Some(PutOutcome { created: true, effective, retrieval: Some(retrieval) }))
    }

    /// `None` when a concurrent writer was faster.
    async fn change_app(
        &self,
        org: &OrgSnapshot<'_>,
        (app, old): (&AppId, &Item),
        config: AppConfig,
        actor: &str,
        now_ms: i64,
    ) -> Result<Option<PutOutcome>> {
        let id = &org.record.org;
        let record = AppRecord::decode(id.clone(), app.clone(), old)?;
        let put = |record: &AppRecord| {
            let effective = EffectiveConfig::for_app(org.record, record, now_ms);
            Some(PutOutcome { created: false, effective, retrieval: None })
        };
        if record.config == config {
            return Ok(put(&record));
        }
        let new = record.changed(config, now_ms);
        let update = update_between(old, &new.encode(Some(old)));
        let subject = Scope::App(id.clone(), app.clone()).client_id();
        let detail = Some(changed_fields(&record.config, &new.config));
        let event = NewAuditEvent { action: AuditAction::AppUpdated, subject, actor, detail };
        let write = Write::update(self.tables().config.clone(), keys::app(id, app), update);
        let mut writes = vec![
            write.when(unchanged_since(old, VERSION)),
            self.check_org_unchanged(org, &new.config),
            self.audit_write(id, event, now_ms)?,
        ];
        writes.extend(self.keep_version(&record, org.record, now_ms));
        if !self.commit(writes).await? {
            return Ok(None);
        }
        self.inner.configs.invalidate(id);
        Ok(put(&new))
    }

    /// The write that checks that the org has not changed. An app with a chain of its own also increments
    /// [`OWN_CHAINS`], so that the org cannot switch to a shared chain concurrently.
    fn check_org_unchanged(&self, org: &OrgSnapshot<'_>, config: &AppConfig) -> Write {
        let (table, key) = (self.tables().config.clone(), keys::org(&org.record.org));
        let unchanged = unchanged_since(org.item, VERSION);
        if config.has_own_chain() {
            Write::update(table, key, add(OWN_CHAINS, 1)).when(unchanged)
        } else {
            Write::check(table, key, unchanged)
        }
    }

    /// The configuration of an app in force now, read from the store.
    ///
    /// # Errors
    /// The org or app does not exist, or the store fails.
    pub async fn get_app(&self, org: &OrgId, app: &AppId) -> Result<EffectiveConfig> {
        let now_ms = self.now_ms();
        let ((org_record, _), app_record) = self.read_records(org, Some(app)).await?;
        let (app_record, _) = app_record.ok_or_else(|| Error::not_found("app", app.as_str()))?;
        Ok(EffectiveConfig::for_app(&org_record, &app_record, now_ms))
    }

    /// All apps of an org, by id, paginated. A page can be short although more pages follow.
    ///
    /// # Errors
    /// The org does not exist, the cursor is not of this list, or the store fails.
    pub async fn list_apps(
        &self,
        org: &OrgId,
        limit: u32,
        cursor: Option<String>,
        deleted: Deleted,
    ) -> Result<Listed<EffectiveConfig>> {
        let ((org_record, _), _) = self.records_or_deleted(org, None).await?;
        if !deleted.includes(org_record.deleted_at_epoch) {
            return Err(Error::not_found("org", org.as_str()));
        }
        let is_listed = |app: &AppRecord| !app.is_purged && deleted.includes(app.deleted_at_epoch);
        let now_ms = self.now_ms();
        let query = Query::partition(self.tables().config.clone(), keys::org_partition(org))
            .begins_with(keys::APP_PREFIX);
        let page = self.store().page(query, limit, cursor).await?;
        let mut items = Vec::with_capacity(page.items.len());
        for item in &page.items {
            let app = decode_app(org, item)?;
            if is_listed(&app) {
                items.push(EffectiveConfig::for_app(&org_record, &app, now_ms));
            }
        }
        Ok(Listed { items, cursor: page.cursor })
    }
}
