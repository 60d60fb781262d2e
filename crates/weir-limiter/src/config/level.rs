//! References to config levels: for the cache, the table and the audit trail.

use std::borrow::Cow;
use std::fmt;

use quick_cache::Equivalent;
use weir_table::Key;

use super::Level;
use crate::ids::{EntityId, NamespaceId, Resource};
use crate::keys;

/// A borrowed level of a namespace, so that a lookup allocates nothing. Without entity and resource it is the system
/// level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LevelRef<'a> {
    pub(crate) ns: &'a NamespaceId,
    pub(crate) entity: Option<&'a EntityId>,
    pub(crate) resource: Option<&'a Resource>,
}

/// An owned level. It has the fields of a [`LevelRef`], and so the same hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LevelKey {
    pub(crate) ns: NamespaceId,
    pub(crate) entity: Option<EntityId>,
    pub(crate) resource: Option<Resource>,
}

impl Equivalent<LevelKey> for LevelRef<'_> {
    fn equivalent(&self, key: &LevelKey) -> bool {
        *self == key.borrowed()
    }
}

impl LevelKey {
    fn borrowed(&self) -> LevelRef<'_> {
        LevelRef { ns: &self.ns, entity: self.entity.as_ref(), resource: self.resource.as_ref() }
    }
}

impl fmt::Display for LevelRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.entity, self.resource) {
            (Some(entity), Some(on)) => write!(f, "the config of entity {entity} on resource {on}"),
            (Some(entity), None) => write!(f, "the config of entity {entity} on all resources"),
            (None, Some(resource)) => write!(f, "the config of resource {resource}"),
            (None, None) => f.write_str("the config of the system"),
        }
    }
}

impl<'a> LevelRef<'a> {
    /// A level of a namespace.
    pub(crate) fn of(ns: &'a NamespaceId, level: &'a Level) -> LevelRef<'a> {
        let (entity, resource) = match level {
            Level::System => (None, None),
            Level::Resource(resource) => (None, Some(resource)),
            Level::Entity(entity, resource) => (Some(entity), resource.as_ref()),
        };
        LevelRef { ns, entity, resource }
    }

    /// The levels that apply to an entity on a resource, in order of precedence.
    pub(crate) fn lookup_order(
        ns: &'a NamespaceId,
        entity: &'a EntityId,
        resource: &'a Resource,
    ) -> [LevelRef<'a>; 4] {
        let (entity, resource) = (Some(entity), Some(resource));
        [
            LevelRef { ns, entity, resource },
            LevelRef { ns, entity, resource: None },
            LevelRef { ns, entity: None, resource },
            LevelRef { ns, entity: None, resource: None },
        ]
    }

    pub(crate) fn to_key(self) -> LevelKey {
        let (entity, resource) = (self.entity.cloned(), self.resource.cloned());
        LevelKey { ns: self.ns.clone(), entity, resource }
    }

    /// The key of the level's item.
    pub(crate) fn key(self) -> Key {
        match (self.entity, self.resource) {
            (Some(entity), resource) => keys::entity_config(self.ns, entity, resource),
            (None, Some(resource)) => keys::resource_config(self.ns, resource),
            (None, None) => keys::system_config(self.ns),
        }
    }

    /// The subject of audit events about the level.
    pub(crate) fn subject(self) -> Cow<'a, str> {
        match (self.entity, self.resource) {
            (Some(entity), _) => entity.as_str().into(),
            (None, Some(resource)) => keys::audit_resource(resource).into(),
            (None, None) => keys::AUDIT_SYSTEM.into(),
        }
    }

    /// The resource that the level names; `_default_` for an entity's level on all resources.
    pub(crate) fn named_resource(self) -> Option<&'a str> {
        match (self.entity, self.resource) {
            (_, Some(resource)) => Some(resource.as_str()),
            (Some(_), None) => Some(keys::DEFAULT_RESOURCE),
            (None, None) => None,
        }
    }
}
