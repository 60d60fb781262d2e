//! Where a level stands: in memory, in the table, in the audit trail.

use std::borrow::Cow;

use quick_cache::Equivalent;
use weir_table::Key;

use super::Level;
use crate::ids::{EntityId, NamespaceId, Resource};
use crate::keys;

/// A level of a namespace, borrowed, so that looking one up builds no text. Without entity and resource it is
/// the system's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LevelRef<'a> {
    pub(crate) ns: &'a NamespaceId,
    pub(crate) entity: Option<&'a EntityId>,
    pub(crate) resource: Option<&'a Resource>,
}

/// The same, owned. It hashes like a [`LevelRef`], whose fields it has.
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

    /// The levels that are asked for an entity on a resource, the first one first.
    pub(crate) fn asked(
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

    /// Its key in the table.
    pub(crate) fn stored(self) -> Key {
        match (self.entity, self.resource) {
            (Some(entity), resource) => keys::entity_config(self.ns, entity, resource),
            (None, Some(resource)) => keys::resource_config(self.ns, resource),
            (None, None) => keys::system_config(self.ns),
        }
    }

    /// Who it is in the audit trail.
    pub(crate) fn subject(self) -> Cow<'a, str> {
        match (self.entity, self.resource) {
            (Some(entity), _) => entity.as_str().into(),
            (None, Some(resource)) => keys::audit_resource(resource).into(),
            (None, None) => keys::AUDIT_SYSTEM.into(),
        }
    }

    /// The resource its config names, `_default_` for an entity's on all.
    pub(crate) fn named_resource(self) -> Option<&'a str> {
        match (self.entity, self.resource) {
            (_, Some(resource)) => Some(resource.as_str()),
            (Some(_), None) => Some(keys::DEFAULT_RESOURCE),
            (None, None) => None,
        }
    }
}
