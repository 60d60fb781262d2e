//! Which resources have levels, so that listing them is a read and not a scan.
//!
//! Every config item is counted, whether it has limits or says something else: a resource's in the set of `#RESOURCES`, an
//! entity's as one more under the resource's name in `#ENTITY_CONFIG_RESOURCES`. They change in the transaction that makes
//! or removes the item.

use weir_table::expr::{Update, attr};
use weir_table::{Backend, Get, Item, Key, Name, Query, Value, Write};

use super::level::LevelRef;
use crate::error::Result;
use crate::ids::{EntityId, Resource};
use crate::keys;
use crate::limiter::Namespace;
use crate::table::GSI3;

const RESOURCES: &str = "resources";

/// What a registry knows of the resource of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Registry {
    /// Entities with limits of their own on it.
    count: i64,
}

impl Registry {
    /// The registry that counts a level, if one does.
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

    /// The write that goes with a level that was there or not, and is to be there or not.
    pub(super) fn write(self, table: Name, at: LevelRef<'_>, was: bool, is: bool) -> Option<Write> {
        let key = Registry::key(at)?;
        let name = at.named_resource()?;
        let found = Update::default()
            .set_if_absent("GSI4PK", at.ns.as_str())
            .set_if_absent("GSI4SK", key.partition.to_value());
        let write = |update| Write::update(table, key, update);
        if at.entity.is_none() {
            let names = Value::strings([name]);
            // Adding what is there already changes nothing, and mends a registry that missed it.
            return Some(write(if is {
                found.add(RESOURCES, names)
            } else {
                found.delete_from(RESOURCES, names)
            }));
        }
        match (was, is) {
            (false, true) => Some(write(found.add(name, 1))),
            (true, false) if self.count > 1 => {
                Some(write(found.add(name, -1)).when(attr(name).gt(1)))
            }
            (true, false) if self.count == 1 => {
                Some(write(found.remove(name)).when(attr(name).eq(1)))
            }
            _ => None,
        }
    }
}

impl<B: Backend> Namespace<B> {
    pub(super) async fn registered_resources(&self) -> Result<Vec<Resource>> {
        let get = Get::new(self.limiter.table(), keys::resources(&self.id));
        let item = self.limiter.store().get(&get).await?;
        let names = item.as_ref().and_then(|item| match item.get(RESOURCES)? {
            Value::Ss(names) => Some(names.iter().map(|name| Resource::stored(name)).collect()),
            _ => None,
        });
        Ok(names.unwrap_or_default())
    }

    /// Resources on which an entity is counted. The level on all resources is none of them.
    pub(super) async fn registered_entity_resources(&self) -> Result<Vec<Resource>> {
        let get = Get::new(self.limiter.table(), keys::entity_config_resources(&self.id));
        let Some(item) = self.limiter.store().get(&get).await? else { return Ok(Vec::new()) };
        // The item's keys are texts, so that what is a number is a count.
        let counted = |name: &&Name| item.i64(name).is_some_and(|count| count > 0);
        let names = item.attrs().keys().filter(counted);
        Ok(names.filter_map(|name| Resource::new(name.as_str()).ok()).collect())
    }

    pub(super) async fn registered_entities(
        &self,
        resource: Option<&Resource>,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<(Vec<EntityId>, Option<String>)> {
        let partition = keys::gsi3_entity_config(&self.id, resource);
        let query = Query::partition(self.limiter.table(), partition).index(GSI3);
        let page = self.limiter.page(query, limit, cursor).await?;
        let ids = page.items.iter().filter_map(|item| item.s("GSI3SK")).map(EntityId::stored);
        Ok((ids.collect(), page.cursor))
    }
}
