//! Reading entities.

use weir_table::expr::attr;
use weir_table::{Backend, Get, Item, Query, Value, limits};

use super::record::{self, Kept};
use super::{Entity, lineage};
use crate::bounds::{INDEX_LAG_MAX_MS, PAGE_MAX};
use crate::error::{Error, Result};
use crate::ids::EntityId;
use crate::item::{CASCADE, PARENT};
use crate::keys;
use crate::limiter::Namespace;
use crate::namespaces::key_of;
use crate::table::{GSI1, GSI2, GSI4};

// A page of entities is one batch get.
const _: () = assert!(PAGE_MAX as usize <= limits::BATCH_GET_MAX);

impl<B: Backend> Namespace<B> {
    /// An entity.
    ///
    /// # Errors
    /// There is none, or the store fails.
    pub async fn entity(&self, id: &EntityId) -> Result<Entity> {
        let kept = self.kept(id).await?;
        kept.map(|kept| kept.entity).ok_or_else(|| Error::not_found("entity", id.as_str()))
    }

    /// Entities, a page of them, and where to go on.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn entities(
        &self,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<(Vec<Entity>, Option<String>)> {
        let page = self.limiter.page(self.all_entities(), limit, cursor).await?;
        let gets: Vec<Get> = page
            .items
            .iter()
            .filter_map(|item| Some(Get::new(self.limiter.table(), key_of(item)?)))
            .collect();
        if gets.is_empty() {
            return Ok((Vec::new(), page.cursor));
        }
        let found = self.limiter.store().batch_get(&gets).await?;
        let entities = found.iter().flatten().filter_map(decode).collect();
        Ok((entities, page.cursor))
    }

    /// The keys of all entities. Those zae-limiter made are not in our list of them, so where it works on the table too, everything
    /// that belongs to entities is gone through.
    fn all_entities(&self) -> Query {
        let table = self.limiter.table();
        if self.limiter.settings().is_shared() {
            return Query::partition(table, self.id.as_str())
                .index(GSI4)
                .begins_with(keys::entities_prefix(&self.id))
                .filter(attr("SK").eq(keys::META));
        }
        Query::partition(table, keys::gsi2_entities(&self.id)).index(GSI2)
    }

    /// The children of an entity.
    ///
    /// # Errors
    /// The cursor is not of this list, or the store fails.
    pub async fn children(
        &self,
        id: &EntityId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<(Vec<Entity>, Option<String>)> {
        let page = self.limiter.page(self.all_children(id), limit, cursor).await?;
        Ok((page.items.iter().filter_map(decode).collect(), page.cursor))
    }

    fn all_children(&self, id: &EntityId) -> Query {
        Query::partition(self.limiter.table(), keys::gsi1_parent(&self.id, id)).index(GSI1)
    }

    /// Whether the entity's parent pays too, and who that is: from its record, strongly read. An entity that has no
    /// record does not cascade.
    pub(crate) async fn family(&self, id: &EntityId) -> Result<(bool, Option<EntityId>)> {
        let get =
            Get::new(self.limiter.table(), record::key(&self.id, id)).project([CASCADE, PARENT]);
        let Some(found) = self.limiter.store().get(&get).await? else { return Ok((false, None)) };
        let cascade = found.get(CASCADE).and_then(Value::as_bool).unwrap_or_default();
        Ok((cascade, found.s(PARENT).map(EntityId::stored)))
    }

    /// An entity as it is now, strongly read.
    pub(super) async fn kept(&self, id: &EntityId) -> Result<Option<Kept>> {
        let get = Get::new(self.limiter.table(), record::key(&self.id, id));
        Ok(self.limiter.store().get(&get).await?.as_ref().and_then(record::decode))
    }

    /// Refuses an entity that has children. Tells whether its count of them is wrong and is to be set to zero.
    ///
    /// The count is exact on a table of our own. zae-limiter does not keep it, so where it works on the table too, the index has a
    /// say: it knows of children that were not counted, and of those counted that are gone.
    pub(super) async fn childless(&self, kept: &Kept, now_ms: i64, so: &str) -> Result<bool> {
        let id = &kept.entity.id;
        let counted = kept.children > 0;
        if !self.limiter.settings().is_shared() {
            return if counted { Err(lineage::has_children(id, so)) } else { Ok(false) };
        }
        let page = self.limiter.store().query(&self.all_children(id).limit(1)).await?;
        let settled = now_ms.saturating_sub(kept.children_changed_ms) > INDEX_LAG_MAX_MS;
        if !page.items.is_empty() || (counted && !settled) {
            return Err(lineage::has_children(id, so));
        }
        Ok(counted)
    }
}

fn decode(item: &Item) -> Option<Entity> {
    record::decode(item).map(|kept| kept.entity)
}
