//! Reads the effective configuration of an org or app, cached.

use std::sync::Arc;

use weir_table::{Backend, Get, Item, Key};

use super::cache::ConfigKey;
use super::{AppRecord, EffectiveConfig, OrgRecord};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId, Scope};
use crate::keeper::Keeper;
use crate::keys;

/// The records of an org and of one of its apps, with their items.
type Records = ((OrgRecord, Item), Option<(AppRecord, Item)>);

impl<B: Backend> Keeper<B> {
    /// The configuration in force for an org as a whole, or for one of its apps. Cached for `config_ttl_ms`, but not
    /// beyond a pending change; writes of this process are visible at once.
    ///
    /// # Errors
    /// The org or app does not exist or is deleted, or the store fails.
    pub async fn effective_config(
        &self,
        org: &OrgId,
        app: Option<&AppId>,
    ) -> Result<Arc<EffectiveConfig>> {
        let effective = self.config_or_deleted(org, app).await?;
        match effective.deleted_at_epoch {
            None => Ok(effective),
            Some(_) => Err(Scope::of(org, app).not_found()),
        }
    }

    /// As [`Keeper::effective_config`], also of an org or app that is deleted: its totals stay.
    ///
    /// # Errors
    /// The org or app does not exist, or the store fails.
    pub async fn config_or_deleted(
        &self,
        org: &OrgId,
        app: Option<&AppId>,
    ) -> Result<Arc<EffectiveConfig>> {
        match self.inner.configs.get(ConfigKey { org, app }, self.now_ms()) {
            Some(cached) => Ok(cached),
            None => self.stored_config(org, app).await,
        }
    }

    /// As [`Keeper::config_or_deleted`], read from the store: what follows from it cannot be taken back.
    pub(crate) async fn stored_config(
        &self,
        org: &OrgId,
        app: Option<&AppId>,
    ) -> Result<Arc<EffectiveConfig>> {
        let now_ms = self.now_ms();
        let (configs, key) = (&self.inner.configs, ConfigKey { org, app });
        let epoch = configs.epoch();
        let ((record, _), app_record) = self.records_or_deleted(org, app).await?;
        let effective = match &app_record {
            Some((app, _)) => EffectiveConfig::for_app(&record, app, now_ms),
            None => EffectiveConfig::for_org(&record, now_ms),
        };
        let effective = Arc::new(effective);
        let change = record.pending.as_ref().map(|pending| pending.at_ms);
        let until_ms = change.filter(|at| *at > now_ms).unwrap_or(i64::MAX);
        configs.insert(key, &effective, (now_ms, until_ms), epoch);
        Ok(effective)
    }

    /// The records of an org and of one of its apps, with their items.
    ///
    /// # Errors
    /// The org or app does not exist or is deleted, or the store fails.
    pub(crate) async fn read_records(&self, org: &OrgId, app: Option<&AppId>) -> Result<Records> {
        let found = self.records_or_deleted(org, app).await?;
        let ((org_record, _), app_record) = &found;
        if org_record.deleted_at_epoch.is_some() {
            return Err(Scope::Org(org.clone()).not_found());
        }
        match app_record {
            Some((record, _)) if record.deleted_at_epoch.is_some() => {
                Err(Scope::of(org, app).not_found())
            }
            _ => Ok(found),
        }
    }

    /// As [`Keeper::read_records`], deleted or not.
    pub(crate) async fn records_or_deleted(
        &self,
        org: &OrgId,
        app: Option<&AppId>,
    ) -> Result<Records> {
        let (org_item, app_item) = match app {
            None => (self.read_config(keys::org(org)).await?, None),
            Some(app) => self.read_org_and_app(org, app).await?,
        };
        let org_item = org_item.ok_or_else(|| Error::not_found("org", org.as_str()))?;
        let org_record = (OrgRecord::decode(org.clone(), &org_item)?, org_item);
        let Some(app) = app else { return Ok((org_record, None)) };
        let app_item = app_item.ok_or_else(|| Error::not_found("app", app.as_str()))?;
        let app_record = AppRecord::decode(org.clone(), app.clone(), &app_item)?;
        Ok((org_record, Some((app_record, app_item))))
    }

    /// An item of the config table.
    pub(crate) async fn read_config(&self, key: Key) -> Result<Option<Item>> {
        Ok(self.store().get(&Get::new(self.tables().config.clone(), key)).await?)
    }

    /// The items of an org and of one of its apps, where they exist.
    pub(crate) async fn read_org_and_app(
        &self,
        org: &OrgId,
        app: &AppId,
    ) -> Result<(Option<Item>, Option<Item>)> {
        let table = &self.tables().config;
        let gets = [keys::org(org), keys::app(org, app)].map(|key| Get::new(table.clone(), key));
        let mut found = self.store().batch_get(&gets).await?.into_iter();
        Ok((found.next().flatten(), found.next().flatten()))
    }
}
