//! Reads and lists orgs.

use weir_table::retry::Listed;
use weir_table::{Backend, Get, Query};

use crate::config::{EffectiveConfig, OrgRecord};
use crate::deletion::Deleted;
use crate::error::Result;
use crate::ids::OrgId;
use crate::keeper::Keeper;
use crate::keys;

impl<B: Backend> Keeper<B> {
    /// The configuration of an org in force now, read from the store.
    ///
    /// # Errors
    /// The org does not exist, or the store fails.
    pub async fn get_org(&self, org: &OrgId) -> Result<EffectiveConfig> {
        let now_ms = self.now_ms();
        let ((record, _), _) = self.read_records(org, None).await?;
        Ok(EffectiveConfig::for_org(&record, now_ms))
    }

    /// All orgs, by id, paginated. A page can be short although more pages follow.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn list_orgs(
        &self,
        limit: u32,
        cursor: Option<String>,
        deleted: Deleted,
    ) -> Result<Listed<EffectiveConfig>> {
        let now_ms = self.now_ms();
        let found = self.list_org_records(limit, cursor, deleted).await?;
        let items = found.items.iter().map(|record| EffectiveConfig::for_org(record, now_ms));
        Ok(Listed { items: items.collect(), cursor: found.cursor })
    }

    /// The records of all orgs, by id, paginated. A page can be short although more pages follow.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn list_org_records(
        &self,
        limit: u32,
        cursor: Option<String>,
        deleted: Deleted,
    ) -> Result<Listed<OrgRecord>> {
        let table = &self.tables().config;
        let page =
            self.store().page(Query::partition(table.clone(), keys::ORGS), limit, cursor).await?;
        let entries = page.items.iter().filter_map(|item| keys::parse_org_entry(item.s("SK")?));
        let orgs: Vec<OrgId> = entries.collect();
        let gets: Vec<Get> =
            orgs.iter().map(|org| Get::new(table.clone(), keys::org(org))).collect();
        let found =
            if gets.is_empty() { Vec::new() } else { self.store().batch_get(&gets).await? };
        let mut items = Vec::with_capacity(found.len());
        for (org, item) in orgs.into_iter().zip(found) {
            let Some(item) = item else { continue };
            let record = OrgRecord::decode(org, &item)?;
            if deleted.includes(record.deleted_at_epoch) {
                items.push(record);
            }
        }
        Ok(Listed { items, cursor: page.cursor })
    }
}
