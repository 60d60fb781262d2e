//! Making and changing entities.

use weir_table::expr::attr;
use weir_table::{Backend, Write};

use super::record::{self, CHILDREN, Kept};
use super::{Entity, NewEntity, lineage};
use crate::audit::{Action, NewEvent};
use crate::bounds::TRIES_MAX;
use crate::error::{Error, Result};
use crate::ids::EntityId;
use crate::limiter::Namespace;
use crate::retry;

const GETS_NO_PARENT: &str = "it cannot get a parent itself, there are two levels only";

impl<B: Backend> Namespace<B> {
    /// Makes or replaces an entity. Tells whether it is new. Its live buckets learn of a new parent or cascade at once.
    ///
    /// # Errors
    /// The parent is missing, is the entity itself or has a parent of its own, the entity has children and now gets a parent, or the store fails.
    pub async fn put_entity(
        &self,
        id: &EntityId,
        entity: NewEntity,
        by: &str,
    ) -> Result<(Entity, bool)> {
        record::check(&entity)?;
        self.write_entity(id, by, Action::EntityUpdated, |_| Ok(entity.clone())).await
    }

    /// Gives an entity another parent, or none. Without a parent it does not cascade.
    ///
    /// # Errors
    /// There is no such entity; else as [`Namespace::put_entity`].
    pub async fn set_parent(
        &self,
        id: &EntityId,
        parent: Option<&EntityId>,
        by: &str,
    ) -> Result<Entity> {
        let action = Action::EntityParentChanged;
        let written = self.write_entity(id, by, action, |old| {
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
        by: &str,
        action: Action,
        decide: impl Fn(Option<&Entity>) -> Result<NewEntity>,
    ) -> Result<(Entity, bool)> {
        for attempt in 0..TRIES_MAX {
            retry::pause(attempt).await;
            let now_ms = self.limiter.now_ms();
            let old = self.kept(id).await?;
            let new = decide(old.as_ref().map(|kept| &kept.entity))?;
            let after = becomes(id, old.as_ref(), new, now_ms);
            let done = match &old {
                Some(kept) if is_same(&kept.entity, &after) => true,
                _ => {
                    let change = Change { old: old.as_ref(), after: &after, action, by, now_ms };
                    let writes = self.entity_writes(change).await?;
                    self.limiter.try_transact(writes).await?
                }
            };
            if done {
                // Also when nothing changed: an earlier call may not have come this far.
                self.apply_family(id).await?;
                let is_new = old.is_none();
                let kept = old.map(|kept| kept.entity).filter(|kept| is_same(kept, &after));
                return Ok((kept.unwrap_or(after), is_new));
            }
        }
        Err(Error::Contended)
    }

    /// The transaction of a change: the entity, the counts of its old and new parent, the audit trail.
    async fn entity_writes(&self, change: Change<'_>) -> Result<Vec<Write>> {
        let Change { old, after, now_ms, .. } = change;
        let new_parent = match &after.parent {
            Some(parent) => self.kept(parent).await?,
            None => None,
        };
        lineage::check(after, new_parent.as_ref())?;
        let mut update = record::update(&self.id, after);
        let mut unchanged = old.map_or_else(|| attr("PK").absent(), Kept::unchanged);
        if let Some(kept) = old.filter(|_| after.parent.is_some()) {
            if self.childless(kept, now_ms, GETS_NO_PARENT).await? {
                update = update.set(CHILDREN, 0);
                unchanged = unchanged.and(attr(CHILDREN).eq(kept.children));
            } else {
                unchanged = unchanged.and(lineage::childless());
            }
        }
        let old_parent = match old.and_then(|kept| kept.entity.parent.as_ref()) {
            Some(parent) if after.parent.as_ref() == Some(parent) => new_parent.clone(),
            Some(parent) => self.kept(parent).await?,
            None => None,
        };
        let table = self.limiter.table();
        let key = record::key(&self.id, &after.id);
        let mut writes = vec![Write::update(table.clone(), key, update).when(unchanged)];
        let new_parent = new_parent.as_ref().map(|kept| &kept.entity);
        writes.extend(lineage::writes(&table, &self.id, old_parent.as_ref(), new_parent, now_ms));
        writes.extend(self.entity_events(change));
        Ok(writes)
    }

    fn entity_events(&self, change: Change<'_>) -> Vec<Write> {
        let Change { old, after, action, by, now_ms } = change;
        let event = |action| {
            let event = NewEvent {
                action,
                subject: after.id.as_str(),
                principal: by,
                resource: None,
                before: old.map(|kept| record::shown(&kept.entity)),
                after: Some(record::shown(after)),
            };
            self.limiter.audit_write(self.id.as_str(), event, now_ms)
        };
        let Some(kept) = old else { return vec![event(Action::EntityCreated)] };
        let moved = kept.entity.parent != after.parent && action != Action::EntityParentChanged;
        let moved = moved.then(|| event(Action::EntityParentChanged));
        [event(action)].into_iter().chain(moved).collect()
    }
}

/// A change of an entity that is about to be written.
#[derive(Clone, Copy)]
struct Change<'a> {
    old: Option<&'a Kept>,
    after: &'a Entity,
    action: Action,
    by: &'a str,
    now_ms: i64,
}

fn becomes(id: &EntityId, old: Option<&Kept>, new: NewEntity, now_ms: i64) -> Entity {
    let name = if new.name.is_empty() { id.to_string() } else { new.name };
    Entity {
        id: id.clone(),
        name,
        parent: new.parent,
        cascade: new.cascade,
        metadata: new.metadata,
        created_ms: old.map_or(now_ms, |kept| kept.entity.created_ms),
        updated_ms: now_ms,
        version: old.map_or(1, |kept| kept.entity.version + 1),
    }
}

/// Whether they differ in nothing that a caller says.
fn is_same(a: &Entity, b: &Entity) -> bool {
    (&a.name, &a.parent, a.cascade, &a.metadata) == (&b.name, &b.parent, b.cascade, &b.metadata)
}
