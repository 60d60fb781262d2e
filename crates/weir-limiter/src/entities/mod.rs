//! Who is limited: entities, at most two levels deep.
//!
//! An entity with a parent names it; a parent counts its children. Whoever gives an entity a parent raises that parent's count in
//! the same transaction, on condition that the parent has no parent; whoever gives a parent to an entity does so on condition
//! that its count is zero. Both conditions stand on the same item, so of two that together would make a third level or
//! a circle only one is done.

mod buckets;
mod delete;
mod find;
mod lineage;
mod put;
mod record;

use std::collections::BTreeMap;

use crate::ids::EntityId;

/// An entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its id.
    pub id: EntityId,
    /// Its name, for people.
    pub name: String,
    /// Its parent, if it has one.
    pub parent: Option<EntityId>,
    /// Whether every acquire also takes from the parent.
    pub cascade: bool,
    /// What else is known about it.
    pub metadata: BTreeMap<String, String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it was changed.
    pub updated_ms: i64,
    /// How often it was written.
    pub version: u64,
}

/// An entity as it is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewEntity {
    /// Its name; the id when empty.
    pub name: String,
    /// Its parent.
    pub parent: Option<EntityId>,
    /// Whether every acquire also takes from the parent.
    pub cascade: bool,
    /// What else is to be known about it.
    pub metadata: BTreeMap<String, String>,
}
