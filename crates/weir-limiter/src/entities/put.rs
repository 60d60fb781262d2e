//! Creates and changes entities.

use weir_table::expr::attr;
use weir_table::{Backend, Write};

use super::record::{self, CHILDREN, StoredEntity};
use super::{Entity, NewEntity, parents};
use crate::audit::{AuditAction, NewAuditEvent};
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::EntityId;
use crate::limiter::Namespace;
use crate::retry;

const ADVICE: &str = "it cannot have a parent itself: only two levels are allowed";

impl<B: Backend> Namespace<B> {
    /// Creates or replaces an entity. Returns whether it is new. Its live buckets get a new parent or cascade flag at once.
    ///
    /// # Errors
    /// The parent is missing, is the entity itself or has a parent of its own; the entity has children and gets a parent; or
    /// the store fails.
    pub async fn put_entity(
        &self,
        id: &EntityId,
        entity: NewEntity,
        actor: &str,
    ) -> Result<(Entity, bool)> {
        record::check(&entity)?;
        self.write_entity(id, actor, AuditAction::EntityUpdated, |_| Ok(entity.clone())).await
    }

    /// Sets or removes the parent of an entity. Without a parent it does not cascade.
    ///
    /// # Errors
    /// The entity does not exist; otherwise as [`Namespace::put_entity`].
    pub async fn set_parent(
        &self,
        id: &EntityId,
        parent: Option<&EntityId>,
        actor: &str,
    ) -> Result<Entity> {
        let action = AuditAction::EntityParentChanged;
        let written = self.write_entity(id, actor, action, |old| {
            let old = old.ok_or_else(|| Error::not_found("entity", id.as_str()))?;
            Ok(NewEntity {
                name: old.name.clone(),
                parent: parent.cloned(),
                cascade: old.cascade && parent.is_some(),
                metadata: old.metadata.clone(),
            })
        });
        Ok(written.await?.0)
    }

    async fn write_entity(
        &self,
        id: &EntityId,
        actor: &str,
        action: AuditAction,
        decide: impl Fn(Option<&Entity>) -> Result<NewEntity>,
    ) -> Result<(Entity, bool)> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let now_ms = self.limiter.now_ms();
            let old = self.read_entity(id).await?;
            let new = decide(old.as_ref().map(|stored| &stored.entity))?;
            let after = updated_entity(id, old.as_ref(), new, now_ms);
            let written = match &old {
                Some(stored) if has_same_values(&stored.entity, &after) => true,
                _ => {
                    let change = Change { old: old.as_ref(), after: &after, action, actor, now_ms };
                    let writes = self.entity_writes(change).await?;
                    self.limiter.try_transact(writes).await?
                }
            };
            if written {
                // Also if nothing changed: an earlier call may have failed before this.
                self.apply_cascade(id).await?;
                let is_new = old.is_none();
                let stored = old
                    .map(|stored| stored.entity)
                    .filter(|stored| has_same_values(stored, &after));
                return Ok((stored.unwrap_or(after), is_new));
            }
        }
        Err(Error::Contended)
    }

    /// The transaction of a change: the entity, the counts of its old and new parent, the audit event.
    async fn entity_writes(&self, change: Change<'_>) -> Result<Vec<Write>> {
        let Change { old, after, now_ms, .. } = change;
        let new_parent = match &after.parent {
            Some(parent) => self.read_entity(parent).await?,
            None => None,
        };
        parents::check(after, new_parent.as_ref())?;
        let mut update = record::update(&self.id, after);
        let mut unchanged = old.map_or_else(|| attr("PK").absent(), StoredEntity::unchanged);
        if let Some(stored) = old.filter(|_| after.parent.is_some()) {
            if self.check_childless(stored, now_ms, ADVICE).await? {
                update = update.set(CHILDREN, 0);
                unchanged = unchanged.and(attr(CHILDREN).eq(stored.children));
            } else {
                unchanged = unchanged.and(parents::childless());
            }
        }
        let old_parent = match old.and_then(|stored| stored.entity.parent.as_ref()) {
            Some(parent) if after.parent.as_ref() == Some(parent) => new_parent.clone(),
            Some(parent) => self.read_entity(parent).await?,
            None => None,
        };
        let table = self.limiter.table();
        let key = record::key(&self.id, &after.id);
        let mut writes = vec![Write::update(table.clone(), key, update).when(unchanged)];
        let new_parent = new_parent.as_ref().map(|stored| &stored.entity);
        writes.extend(parents::writes(&table, &self.id, old_parent.as_ref(), new_parent, now_ms));
        writes.extend(self.entity_events(change)?);
        Ok(writes)
    }

    fn entity_events(&self, change: Change<'_>) -> Result<Vec<Write>> {
        let Change { old, after, action, actor, now_ms } = change;
        let event = |action| {
            let event = NewAuditEvent {
                action,
                subject: after.id.as_str(),
                actor,
                resource: None,
                before: old.map(|stored| record::audit_details(&stored.entity)),
                after: Some(record::audit_details(after)),
            };
            self.limiter.audit_write(self.id.as_str(), event, now_ms)
        };
        let Some(stored) = old else { return Ok(vec![event(AuditAction::EntityCreated)?]) };
        let moved =
            stored.entity.parent != after.parent && action != AuditAction::EntityParentChanged;
        let moved = moved.then(|| event(AuditAction::EntityParentChanged));
        [event(action)].into_iter().chain(moved).collect()
    }
}

/// A change of an entity that is about to be written.
#[derive(Clone, Copy)]
struct Change<'a> {
    old: Option<&'a StoredEntity>,
    after: &'a Entity,
    action: AuditAction,
    actor: &'a str,
    now_ms: i64,
}

fn updated_entity(
    id: &EntityId,
    old: Option<&StoredEntity>,
    new: NewEntity,
    now_ms: i64,
) -> Entity {
    let name = if new.name.is_empty() { id.to_string() } else { new.name };
    Entity {
        id: id.clone(),
        name,
        parent: new.parent,
        cascade: new.cascade,
        metadata: new.metadata,
        created_ms: old.map_or(now_ms, |stored| stored.entity.created_ms),
        updated_ms: now_ms,
        version: old.map_or(1, |stored| stored.entity.version + 1),
    }
}

/// Whether two entities agree in everything that a caller sets.
fn has_same_values(a: &Entity, b: &Entity) -> bool {
    (&a.name, &a.parent, a.cascade, &a.metadata) == (&b.name, &b.parent, b.cascade, &b.metadata)
}
