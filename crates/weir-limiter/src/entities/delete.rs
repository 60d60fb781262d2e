//! Removing entities.
//!
//! The entity's own item goes last: a call that failed half-way finds the entity still there and can be made again. Buckets go
//! once more after it, because requests make them anew while there is an entity; one the index does not show yet forgets its
//! parent when the change feed is followed, and expires.

use weir_table::expr::attr;
use weir_table::{Backend, Query, Write};

use super::lineage;
use super::record::{self, CHILDREN, Kept};
use crate::audit::{Action, NewEvent};
use crate::bounds::{CALL_PAGES_MAX, TRIES_MAX};
use crate::config::Level;
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::limiter::Namespace;
use crate::{keys, retry};

const STAYS: &str = "delete them or give them another parent first";

impl<B: Backend> Namespace<B> {
    /// Removes an entity with its limits and buckets. Usage and audit stay.
    ///
    /// # Errors
    /// There is none, it has children, or the store fails.
    pub async fn delete_entity(&self, id: &EntityId, by: &str) -> Result<()> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let now_ms = self.limiter.now_ms();
            let kept = self.kept(id).await?;
            let kept = kept.ok_or_else(|| Error::not_found("entity", id.as_str()))?;
            let miscounted = self.childless(&kept, now_ms, STAYS).await?;
            // Buckets first: then removed limits reach none of them.
            self.remove_buckets(id).await?;
            self.delete_levels(id, by).await?;
            let writes = self.removal(&kept, miscounted, by, now_ms).await?;
            if self.limiter.try_transact(writes).await? {
                let removed = self.remove_buckets(id).await;
                self.limiter.inner.known.forget(&self.id, id, None);
                return removed;
            }
        }
        Err(Error::Contended)
    }

    /// The transaction that removes the entity's own item.
    async fn removal(
        &self,
        kept: &Kept,
        miscounted: bool,
        by: &str,
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let table = self.limiter.table();
        let id = &kept.entity.id;
        let childless = match miscounted {
            true => attr(CHILDREN).eq(kept.children),
            false => lineage::childless(),
        };
        let parent = match &kept.entity.parent {
            Some(parent) => self.kept(parent).await?,
            None => None,
        };
        let event = NewEvent {
            action: Action::EntityDeleted,
            subject: id.as_str(),
            principal: by,
            resource: None,
            before: Some(record::shown(&kept.entity)),
            after: None,
        };
        let own = Write::delete(table.clone(), record::key(&self.id, id));
        let mut writes = vec![own.when(kept.unchanged().and(childless))];
        writes.extend(lineage::writes(&table, &self.id, parent.as_ref(), None, now_ms));
        writes.push(self.limiter.audit_write(self.id.as_str(), event, now_ms));
        Ok(writes)
    }

    /// Removes the limits of an entity on every resource.
    async fn delete_levels(&self, id: &EntityId, by: &str) -> Result<()> {
        let prefix = keys::entity_config_prefix();
        let query = Query::partition(self.limiter.table(), keys::entity_partition(&self.id, id))
            .begins_with(prefix.as_str())
            .project(["SK"]);
        for _ in 0..CALL_PAGES_MAX {
            // Always from the beginning: what was there is gone.
            let page = self.limiter.store().query(&query).await?;
            if page.items.is_empty() {
                return Ok(());
            }
            for item in &page.items {
                let Some(resource) = item.s("SK").and_then(|sk| sk.strip_prefix(prefix.as_str()))
                else {
                    continue;
                };
                let all = resource == keys::DEFAULT_RESOURCE;
                let resource = (!all).then(|| Resource::stored(resource));
                self.delete_limits(&Level::Entity(id.clone(), resource), by).await?;
            }
        }
        Err(Error::Contended)
    }
}
