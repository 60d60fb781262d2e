//! Reads and lists entities.

use weir_table::expr::attr;
use weir_table::retry::Listed;
use weir_table::{Backend, Get, Item, Query, Value, limits};

use super::record::{self, StoredEntity};
use super::{Entity, parents};
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
    /// Reads an entity.
    ///
    /// # Errors
    /// The entity does not exist, or the store fails.
    pub async fn entity(&self, id: &EntityId) -> Result<Entity> {
        let stored = self.read_entity(id).await?;
        stored.map(|stored| stored.entity).ok_or_else(|| Error::not_found("entity", id.as_str()))
    }

    /// Lists entities, a page at a time.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn entities(&self, limit: u32, cursor: Option<String>) -> Result<Listed<Entity>> {
        self.list_entities(self.all_entities(), limit, cursor).await
    }

    /// Lists the entities whose ids begin with a text that could be an id, a page at a time.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn entities_beginning_with(
        &self,
        prefix: &EntityId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<Entity>> {
        let query = match self.limiter.settings().is_shared() {
            true => {
                let prefix = format!("{}{prefix}", keys::entities_prefix(&self.id));
                let table = self.limiter.table();
                Query::partition(table, self.id.as_str())
                    .index(GSI4)
                    .begins_with(prefix)
                    .filter(attr("SK").eq(keys::META))
            }
            false => self.all_entities().begins_with(prefix.as_str()),
        };
        self.list_entities(query, limit, cursor).await
    }

    async fn list_entities(
        &self,
        query: Query,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<Entity>> {
        let page = self.limiter.store().page(query, limit, cursor).await?;
        let gets: Vec<Get> = page
            .items
            .iter()
            .filter_map(|item| Some(Get::new(self.limiter.table(), key_of(item)?)))
            .collect();
        let found = match gets.is_empty() {
            true => Vec::new(),
            false => self.limiter.store().batch_get(&gets).await?,
        };
        let items = found.iter().flatten().filter_map(decode).collect();
        Ok(Listed { items, cursor: page.cursor })
    }

    /// The keys of all entities. Entities of zae-limiter are not in our index, so in a shared table everything that belongs to
    /// entities is searched.
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

    /// Lists the children of an entity, a page at a time.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn children(
        &self,
        id: &EntityId,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<Entity>> {
        let page = self.limiter.store().page(self.all_children(id), limit, cursor).await?;
        Ok(page.listed(decode))
    }

    fn all_children(&self, id: &EntityId) -> Query {
        Query::partition(self.limiter.table(), keys::gsi1_parent(&self.id, id)).index(GSI1)
    }

    /// Whether the entity's parent pays too, and the parent: read strongly consistent. An entity without a record does not
    /// cascade.
    pub(crate) async fn cascade_of(&self, id: &EntityId) -> Result<(bool, Option<EntityId>)> {
        let get =
            Get::new(self.limiter.table(), record::key(&self.id, id)).project([CASCADE, PARENT]);
        let Some(found) = self.limiter.store().get(&get).await? else { return Ok((false, None)) };
        let cascade = found.get(CASCADE).and_then(Value::as_bool).unwrap_or_default();
        Ok((cascade, found.s(PARENT).map(EntityId::stored)))
    }

    /// Reads an entity, strongly consistent.
    pub(super) async fn read_entity(&self, id: &EntityId) -> Result<Option<StoredEntity>> {
        let get = Get::new(self.limiter.table(), record::key(&self.id, id));
        Ok(self.limiter.store().get(&get).await?.as_ref().and_then(record::decode))
    }

    /// Refuses an entity that has children. Returns whether its stored count is wrong and must be reset to zero.
    ///
    /// The count is exact in a table of our own. zae-limiter does not maintain it, so in a shared table the index decides: it
    /// shows children that were not counted, and lacks counted ones that are gone.
    pub(super) async fn check_childless(
        &self,
        stored: &StoredEntity,
        now_ms: i64,
        advice: &str,
    ) -> Result<bool> {
        let id = &stored.entity.id;
        let counted = stored.children > 0;
        if !self.limiter.settings().is_shared() {
            return if counted { Err(parents::has_children(id, advice)) } else { Ok(false) };
        }
        let page = self.limiter.store().query(&self.all_children(id).limit(1)).await?;
        let index_is_current = now_ms.saturating_sub(stored.children_changed_ms) > INDEX_LAG_MAX_MS;
        if !page.items.is_empty() || (counted && !index_is_current) {
            return Err(parents::has_children(id, advice));
        }
        Ok(counted)
    }
}

fn decode(item: &Item) -> Option<Entity> {
    record::decode(item).map(|stored| stored.entity)
}
