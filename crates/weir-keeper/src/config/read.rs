//! Reading what holds for an org or an app, from memory where it is fresh.

use std::sync::Arc;

use weir_table::{Backend, Get, Item, Key};

use super::cache::Whose;
use super::{AppRecord, Effective, OrgRecord};
use crate::error::{Error, Result};
use crate::ids::{AppId, OrgId};
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// What holds now for an org as a whole, or for an app of it. Remembered for `config_ttl_ms`, and not longer than until
    /// something pending comes into force; what this process writes is seen at once.
    ///
    /// # Errors
    /// There is no such org or app, or the store fails.
    pub async fn effective(&self, org: &OrgId, app: Option<&AppId>) -> Result<Arc<Effective>> {
        self.effective_at(org, app, self.now_ms()).await
    }

    /// The same at a moment that the caller knows to be now.
    ///
    /// # Errors
    /// As [`Keeper::effective`].
    pub(crate) async fn effective_at(
        &self,
        org: &OrgId,
        app: Option<&AppId>,
        now_ms: i64,
    ) -> Result<Arc<Effective>> {
        let (configs, whose) = (&self.inner.configs, Whose { org, app });
        if let Some(known) = configs.fresh(whose, now_ms) {
            return Ok(known);
        }
        let epoch = configs.epoch();
        let (record, of_app) = self.read_records(org, app).await?;
        let effective = match &of_app {
            Some((app, _)) => Effective::of_app(&record.0, app, now_ms),
            None => Effective::of_org(&record.0, now_ms),
        };
        let effective = Arc::new(effective);
        let change = record.0.pending.as_ref().map(|pending| pending.at_ms);
        let until_ms = change.filter(|at| *at > now_ms).unwrap_or(i64::MAX);
        configs.keep(whose, &effective, (now_ms, until_ms), epoch);
        Ok(effective)
    }

    /// The records of an org and of an app of it, with their items.
    ///
    /// # Errors
    /// There is no such org or app, or the store fails.
    pub(crate) async fn read_records(
        &self,
        org: &OrgId,
        app: Option<&AppId>,
    ) -> Result<((OrgRecord, Item), Option<(AppRecord, Item)>)> {
        let (of_org, of_app) = match app {
            None => (self.read_config(keys::org(org)).await?, None),
            Some(app) => self.read_both(org, app).await?,
        };
        let of_org = of_org.ok_or_else(|| Error::not_found("org", org.as_str()))?;
        let of_org = (OrgRecord::decode(org.clone(), &of_org)?, of_org);
        let Some(app) = app else { return Ok((of_org, None)) };
        let item = of_app.ok_or_else(|| Error::not_found("app", app.as_str()))?;
        let record = AppRecord::decode(org.clone(), app.clone(), &item)?;
        Ok((of_org, Some((record, item))))
    }

    /// An item of the config table.
    pub(crate) async fn read_config(&self, key: Key) -> Result<Option<Item>> {
        Ok(self.store().get(&Get::new(self.tables().config.clone(), key)).await?)
    }

    /// The items of an org and of an app of it, where there are any.
    pub(crate) async fn read_both(
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
