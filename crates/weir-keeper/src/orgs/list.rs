//! What orgs are set to.

use weir_table::{Backend, Get, Query};

use crate::config::{Effective, OrgRecord};
use crate::error::Result;
use crate::ids::OrgId;
use crate::keeper::Keeper;
use crate::keys;
use crate::paging::Page;

impl<B: Backend> Keeper<B> {
    /// What holds for an org now, as the store has it.
    ///
    /// # Errors
    /// There is no such org, or the store fails.
    pub async fn org(&self, org: &OrgId) -> Result<Effective> {
        let now_ms = self.now_ms();
        let ((record, _), _) = self.read_records(org, None).await?;
        Ok(Effective::of_org(&record, now_ms))
    }

    /// All orgs, by id, page by page.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn list_orgs(&self, limit: u32, cursor: Option<String>) -> Result<Page<Effective>> {
        let now_ms = self.now_ms();
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
            if let Some(item) = item {
                items.push(Effective::of_org(&OrgRecord::decode(org, &item)?, now_ms));
            }
        }
        Ok(Page { items, cursor: page.cursor })
    }
}
