//! The stored form of an entity: zae-limiter's attributes, and a version, the time of the last change and the number of
//! children, which zae-limiter ignores.

use serde_json::json;
use weir_table::expr::{Condition, Update, attr, set};
use weir_table::{Item, Key, Value};

use super::{Entity, NewEntity};
use crate::bounds::{ENTITY_NAME_MAX, METADATA_KEY_MAX, METADATA_MAX, METADATA_VALUE_MAX};
use crate::error::{Error, Result};
use crate::ids::{EntityId, NamespaceId};
use crate::item::{CASCADE, PARENT};
use crate::{keys, time};

const ID: &str = "entity_id";
const NAME: &str = "name";
const METADATA: &str = "metadata";
const CREATED: &str = "created_at";
const UPDATED: &str = "updated_at";
const VERSION: &str = "version";
/// Number of children.
pub(super) const CHILDREN: &str = "children";
/// When the number of children changed, in milliseconds since 1970.
pub(super) const CHILDREN_CHANGED: &str = "children_changed_ms";

/// An entity as it was read.
#[derive(Debug, Clone)]
pub(super) struct StoredEntity {
    pub(super) entity: Entity,
    pub(super) children: i64,
    pub(super) children_changed_ms: i64,
    /// The stored version. zae-limiter writes none.
    version: Option<i64>,
}

impl StoredEntity {
    /// The condition that nobody changed the entity itself. Its number of children may have changed.
    pub(super) fn unchanged(&self) -> Condition {
        let version = attr(VERSION);
        let same = self.version.map_or_else(|| attr(VERSION).absent(), |read| version.eq(read));
        attr("PK").exists().and(same)
    }
}

/// Decodes an entity. Only the id is required: zae-limiter may leave out everything else.
pub(super) fn decode(item: &Item) -> Option<StoredEntity> {
    let id = EntityId::stored(item.s(ID)?);
    let created_ms = item.s(CREATED).and_then(time::parse).unwrap_or_default();
    let metadata = match item.get(METADATA) {
        Some(Value::M(fields)) => fields
            .iter()
            .filter_map(|(key, value)| Some((key.to_string(), value.as_s()?.to_owned())))
            .collect(),
        _ => Default::default(),
    };
    let version = item.i64(VERSION);
    let entity = Entity {
        name: item.s(NAME).unwrap_or(id.as_str()).to_owned(),
        id,
        parent: item.s(PARENT).map(EntityId::stored),
        cascade: item.get(CASCADE).and_then(Value::as_bool).unwrap_or_default(),
        metadata,
        created_ms,
        updated_ms: item.s(UPDATED).and_then(time::parse).unwrap_or(created_ms),
        version: version.and_then(|version| u64::try_from(version).ok()).unwrap_or(1),
    };
    Some(StoredEntity {
        entity,
        children: item.i64(CHILDREN).unwrap_or_default(),
        children_changed_ms: item.i64(CHILDREN_CHANGED).unwrap_or_default(),
        version,
    })
}

/// The update that sets all attributes but the number of children.
pub(super) fn update(ns: &NamespaceId, entity: &Entity) -> Update {
    let parent = entity.parent.as_ref();
    let metadata = entity.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let update = set(ID, entity.id.as_str())
        .set(NAME, entity.name.as_str())
        .set(PARENT, parent.map_or(Value::Null, |parent| Value::from(parent.as_str())))
        .set(CASCADE, entity.cascade)
        .set(METADATA, Value::map(metadata))
        .set(CREATED, time::rfc3339(entity.created_ms))
        .set(UPDATED, time::rfc3339(entity.updated_ms))
        .set(VERSION, entity.version)
        // Only entities have these, so a list of entities reads no config and no usage.
        .set("GSI2PK", keys::gsi2_entities(ns))
        .set("GSI2SK", entity.id.as_str())
        .set("GSI4PK", ns.as_str())
        .set("GSI4SK", keys::entity_partition(ns, &entity.id));
    match parent {
        Some(parent) => update
            .set("GSI1PK", keys::gsi1_parent(ns, parent))
            .set("GSI1SK", keys::gsi1_child(&entity.id)),
        None => update.remove("GSI1PK").remove("GSI1SK"),
    }
}

/// The key of an entity's item.
pub(super) fn key(ns: &NamespaceId, id: &EntityId) -> Key {
    keys::entity(ns, id)
}

/// Validates the values of an entity.
pub(super) fn check(new: &NewEntity) -> Result<()> {
    let is_too_long = |text: &str, max: usize| text.chars().count() > max;
    if is_too_long(&new.name, ENTITY_NAME_MAX) {
        let problem = format!("must have at most {ENTITY_NAME_MAX} characters");
        return Err(Error::invalid("name", problem));
    }
    if new.metadata.len() > METADATA_MAX {
        return Err(Error::invalid(
            "metadata",
            format!("must have at most {METADATA_MAX} entries"),
        ));
    }
    for (key, value) in &new.metadata {
        if key.is_empty() || is_too_long(key, METADATA_KEY_MAX) {
            let problem = format!("keys must have 1 to {METADATA_KEY_MAX} characters");
            return Err(Error::invalid("metadata", problem));
        }
        if is_too_long(value, METADATA_VALUE_MAX) {
            let problem = format!("{key:?} must have at most {METADATA_VALUE_MAX} characters");
            return Err(Error::invalid("metadata", problem));
        }
    }
    if new.cascade && new.parent.is_none() {
        return Err(Error::invalid("cascade", "needs a parent"));
    }
    Ok(())
}

/// The details of an entity in the audit trail.
pub(super) fn audit_details(entity: &Entity) -> serde_json::Value {
    json!({
        "name": entity.name,
        "parent_id": entity.parent,
        "cascade": entity.cascade,
        "metadata": entity.metadata,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> NewEntity {
        NewEntity { name: "Ann".to_owned(), ..NewEntity::default() }
    }

    #[test]
    fn bounds_are_counted_in_characters() {
        let entries = |count: usize| (0..count).map(|n| (n.to_string(), "ä".repeat(1024)));
        for good in [
            NewEntity { name: "ä".repeat(256), ..new() },
            NewEntity { metadata: entries(32).collect(), ..new() },
            NewEntity { metadata: [("ä".repeat(64), String::new())].into(), ..new() },
        ] {
            assert!(check(&good).is_ok());
        }
        for bad in [
            NewEntity { name: "a".repeat(257), ..new() },
            NewEntity { metadata: entries(33).collect(), ..new() },
            NewEntity { metadata: [(String::new(), String::new())].into(), ..new() },
            NewEntity { metadata: [("a".repeat(65), String::new())].into(), ..new() },
            NewEntity { metadata: [("a".to_owned(), "a".repeat(1025))].into(), ..new() },
            NewEntity { cascade: true, ..new() },
        ] {
            assert!(check(&bad).is_err());
        }
    }

    #[test]
    fn an_item_with_only_an_id_is_decoded() {
        let stored = decode(&Item::new().with(ID, "ann")).unwrap();
        assert_eq!((stored.entity.name.as_str(), stored.entity.version), ("ann", 1));
        assert_eq!(
            (stored.entity.parent, stored.entity.cascade, stored.children),
            (None, false, 0)
        );
        let null = Item::new().with(ID, "ann").with(PARENT, Value::Null);
        assert_eq!(decode(&null).unwrap().entity.parent, None);
        assert!(decode(&Item::new()).is_none());
    }
}
