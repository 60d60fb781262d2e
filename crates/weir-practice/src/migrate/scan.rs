//! Walks over all records of our table, a page at a time.

use weir_table::expr::attr;
use weir_table::{Backend, Item, Query};

use super::Migration;
use super::error::Result;
use super::record_key::RecordKey;
use crate::item::{TYPE, is_expired};
use crate::kinds::EntityType;
use crate::problems::item::is_whole;

/// The types of items that are records.
const TYPES: [EntityType; 6] = [
    EntityType::Plan,
    EntityType::User,
    EntityType::Problem,
    EntityType::TestCase,
    EntityType::History,
    EntityType::UsageLog,
];

/// A walk over all records.
#[derive(Debug)]
pub(super) struct Scan {
    query: Option<Query>,
    since_ms: i64,
}

impl<B: Backend> Migration<B> {
    /// A walk over all records; usage since an instant.
    pub(super) fn scan(&self, since_ms: i64) -> Scan {
        let types = TYPES.map(EntityType::as_str);
        let query = Query::scan(self.practice().table().clone()).filter(attr(TYPE).is_in(types));
        Scan { query: Some(query), since_ms }
    }

    /// The next page of items with their keys; `None` at the end. Expired items are left out, and problems that are being
    /// created or removed.
    pub(super) async fn next_page(
        &self,
        scan: &mut Scan,
    ) -> Result<Option<Vec<(RecordKey, Item)>>> {
        let Some(query) = scan.query.take() else { return Ok(None) };
        let page = self.practice().store().query(&query).await?;
        scan.query = page.cursor.map(|cursor| query.after(cursor));
        let (now_ms, since_ms) = (self.practice().now_ms(), scan.since_ms);
        let record = |item: Item| {
            let key = RecordKey::of_item(&item)?;
            let is_old = matches!(key, RecordKey::Usage { at_ms, .. } if at_ms < since_ms);
            let is_live = !is_old && !is_expired(&item, now_ms) && is_whole(&item);
            is_live.then_some((key, item))
        };
        Ok(Some(page.items.into_iter().filter_map(record).collect()))
    }
}
