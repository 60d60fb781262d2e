//! The registry of resources that have config levels, so that listing them is a read and not a scan.
//!
//! Every config item is registered, whatever it sets: a resource's in the set `#RESOURCES`, an entity's in a count under the
//! resource's name in `#ENTITY_CONFIG_RESOURCES`. The registry changes in the transaction that creates or deletes the item.

use weir_table::expr::{Update, attr};
use weir_table::retry::Listed;
use weir_table::{Backend, Get, Item, Key, Name, Query, Value, Write};

use super::level::LevelRef;
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::keys;
use crate::limiter::Namespace;
use crate::table::GSI3;

const RESOURCES: &str = "resources";

/// The registry's entry for the resource of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Registry {
    /// Number of entities with limits of their own on the resource.
    count: i64,
}

impl Registry {
    /// The registry of a level; the system level has none.
    pub(super) fn key(at: LevelRef<'_>) -> Option<Key> {
        match (at.entity, at.resource) {
            (Some(_), _) => Some(keys::entity_config_resources(at.ns)),
            (None, Some(_)) => Some(keys::resources(at.ns)),
            (None, None) => None,
        }
    }

    pub(super) fn read(at: LevelRef<'_>, item: Option<&Item>) -> Registry {
        let count = item.and_then(|item| item.i64(at.named_resource()?));
        Registry { count: count.unwrap_or_default() }
    }

    /// The write for a level that existed before (`was`) and exists afterwards (`is`).
    pub(super) fn write(self, table: Name, at: LevelRef<'_>, was: bool, is: bool) -> Option<Write> {
        let key = Registry::key(at)?;
        let name = at.named_resource()?;
        let index_keys = Update::default()
            .set_if_absent("GSI4PK", at.ns.as_str())
            .set_if_absent("GSI4SK", key.partition.to_value());
        let write = |update| Write::update(table, key, update);
        if at.entity.is_none() {
            let names = Value::strings([name]);
            // Adding an existing name changes nothing, and repairs a registry that lacks it.
            return Some(write(if is {
                index_keys.add(RESOURCES, names)
            } else {
                index_keys.delete_from(RESOURCES, names)
            }));
        }
        match (was, is) {
            (false, true) => Some(write(index_keys.add(name, 1))),
            (true, false) if self.count > 1 => {
                Some(write(index_keys.add(name, -1)).when(attr(name).gt(1)))
            }
            (true, false) if self.count == 1 => {
                Some(write(index_keys.remove(name)).when(attr(name).eq(1)))
            }
            _ => None,
        }
    }
}

impl<B: Backend> Namespace<B> {
    /// Lists the resources that have limits for all entities, sorted.
    ///
    /// # Errors
    /// The store fails.
    pub async fn resources(&self) -> Result<Vec<Resource>> {
        let get = Get::new(self.limiter.table(), keys::resources(&self.id));
        let item = self.limiter.store().get(&get).await?;
        let names = item.as_ref().and_then(|item| match item.get(RESOURCES)? {
            Value::Ss(names) => Some(names.iter().map(|name| Resource::stored(name)).collect()),
            _ => None,
        });
        Ok(names.unwrap_or_default())
    }

    /// Lists the resources on which entities have limits of their own, sorted, without `_default_`. They need not have limits
    /// themselves.
    ///
    /// # Errors
    /// The store fails.
    pub async fn resources_of_entities(&self) -> Result<Vec<Resource>> {
        let get = Get::new(self.limiter.table(), keys::entity_config_resources(&self.id));
        let Some(item) = self.limiter.store().get(&get).await? else { return Ok(Vec::new()) };
        // The keys of the item are texts, so a number is a count.
        let is_registered = |name: &&Name| item.i64(name).is_some_and(|count| count > 0);
        let names = item.attrs().keys().filter(is_registered);
        Ok(names.filter_map(|name| Resource::new(name.as_str()).ok()).collect())
    }

    /// Lists the entities that have limits of their own on a resource (none: on all resources), a page at a time.
    ///
    /// # Errors
    /// The cursor belongs to another list, or the store fails.
    pub async fn entities_with_limits(
        &self,
        resource: Option<&Resource>,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<Listed<EntityId>> {
        let partition = keys::gsi3_entity_config(&self.id, resource);
        let query = Query::partition(self.limiter.table(), partition).index(GSI3);
        let page = self.limiter.store().page(query, limit, cursor).await?;
        Ok(page.listed(|item| item.s("GSI3SK").map(EntityId::stored)))
    }
}
