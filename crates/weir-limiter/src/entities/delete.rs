//! Deletes entities.
//!
//! The entity's own item is deleted last: a call that fails half-way leaves the entity, so it can be repeated. Buckets are
//! deleted once more afterwards, because requests create them while the entity exists. A bucket that the index does not show
//! yet loses its parent through propagation, and expires.

use weir_table::expr::attr;
use weir_table::{Backend, Query, Write};

use super::parents;
use super::record::{self, CHILDREN, StoredEntity};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::{CALL_PAGES_MAX, TRIES_MAX};
use crate::config::Level;
use crate::error::{Error, Result};
use crate::ids::{EntityId, Resource};
use crate::limiter::Namespace;
use crate::{keys, retry};

const ADVICE: &str = "delete them or give them another parent first";

impl<B: Backend> Namespace<B> {
    /// Deletes an entity with its limits and buckets. Usage and audit events remain.
    ///
    /// # Errors
    /// The entity does not exist or has children, or the store fails.
    pub async fn delete_entity(&self, id: &EntityId, actor: &str) -> Result<()> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let now_ms = self.limiter.now_ms();
            let stored = self.read_entity(id).await?;
            let stored = stored.ok_or_else(|| Error::not_found("entity", id.as_str()))?;
            let miscounted = self.check_childless(&stored, now_ms, ADVICE).await?;
            // Buckets first: then the deleted limits affect none of them.
            self.delete_buckets(id).await?;
            self.delete_levels(id, actor).await?;
            let writes = self.deletion_writes(&stored, miscounted, actor, now_ms).await?;
            if self.limiter.try_transact(writes).await? {
                let removed = self.delete_buckets(id).await;
                self.limiter.inner.bucket_cache.invalidate(&self.id, id, None);
                return removed;
            }
        }
        Err(Error::Contended)
    }

    /// The transaction that deletes the entity's own item.
    async fn deletion_writes(
        &self,
        stored: &StoredEntity,
        miscounted: bool,
        actor: &str,
        now_ms: i64,
    ) -> Result<Vec<Write>> {
        let table = self.limiter.table();
        let id = &stored.entity.id;
        let childless = match miscounted {
            true => attr(CHILDREN).eq(stored.children),
            false => parents::childless(),
        };
        let parent = match &stored.entity.parent {
            Some(parent) => self.read_entity(parent).await?,
            None => None,
        };
        let event = NewAuditEvent {
            action: AuditAction::EntityDeleted,
            subject: id.as_str(),
            actor,
            resource: None,
            before: Some(record::audit_details(&stored.entity)),
            after: None,
        };
        let own = Write::delete(table.clone(), record::key(&self.id, id));
        let mut writes = vec![own.when(stored.unchanged().and(childless))];
        writes.extend(parents::writes(&table, &self.id, parent.as_ref(), None, now_ms));
        writes.push(self.limiter.audit_write(self.id.as_str(), event, now_ms)?);
        Ok(writes)
    }

    /// Deletes the limits of an entity on every resource.
    async fn delete_levels(&self, id: &EntityId, actor: &str) -> Result<()> {
        let prefix = keys::entity_config_prefix();
        let query = Query::partition(self.limiter.table(), keys::entity_partition(&self.id, id))
            .begins_with(prefix.as_str())
            .project(["SK"]);
        for _ in 0..CALL_PAGES_MAX {
            // Always the first page: what was on it is deleted.
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
                self.delete_limits(&Level::Entity(id.clone(), resource), actor).await?;
            }
        }
        Err(Error::Contended)
    }
}
