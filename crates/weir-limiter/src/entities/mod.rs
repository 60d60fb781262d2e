//! Entities: whom limits apply to, in a hierarchy of at most two levels.
//!
//! A child stores its parent, and a parent the number of its children. Setting a parent raises that parent's count in the
//! same transaction, on condition that the parent has no parent; and the entity that gets a parent must have a count of
//! zero. Both conditions are on the same item, so of two changes that together would create a third level or a cycle only
//! one succeeds.

mod buckets;
mod delete;
mod parents;
mod put;
mod read;
mod record;

use std::collections::BTreeMap;

use crate::ids::EntityId;

/// An entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// The id.
    pub id: EntityId,
    /// The display name.
    pub name: String,
    /// The parent entity.
    pub parent: Option<EntityId>,
    /// Whether every acquire also takes from the parent.
    pub cascade: bool,
    /// Free-form metadata.
    pub metadata: BTreeMap<String, String>,
    /// When the entity was created, in milliseconds since 1970.
    pub created_ms: i64,
    /// When the entity was last updated, in milliseconds since 1970.
    pub updated_ms: i64,
    /// How often the entity was written.
    pub version: u64,
}

/// The values of an entity to create or replace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewEntity {
    /// The display name; the id if empty.
    pub name: String,
    /// The parent entity.
    pub parent: Option<EntityId>,
    /// Whether every acquire also takes from the parent.
    pub cascade: bool,
    /// Free-form metadata.
    pub metadata: BTreeMap<String, String>,
}

/// Decodes an entity. None, if it has no id.
pub(crate) fn decode_entity(item: &weir_table::Item) -> Option<Entity> {
    record::decode(item).map(|stored| stored.entity)
}
