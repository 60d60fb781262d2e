//! The rules for parents, and the writes that maintain the number of children.

use weir_table::expr::{Condition, Update, attr, set};
use weir_table::{Kind, Name, Write};

use super::Entity;
use super::record::{self, CHILDREN, CHILDREN_CHANGED, StoredEntity};
use crate::error::{Error, Result};
use crate::ids::{EntityId, NamespaceId};
use crate::item::PARENT;

/// Checks that an entity may have its parent. `parent` is that parent as it was read.
pub(super) fn check(entity: &Entity, parent: Option<&StoredEntity>) -> Result<()> {
    let Some(wanted) = &entity.parent else { return Ok(()) };
    let id = &entity.id;
    let invalid = |problem: String| Err(Error::invalid("parent", problem));
    if wanted == id {
        return invalid(format!("{id:?} cannot be its own parent"));
    }
    let Some(parent) = parent else {
        return invalid(format!("entity not found: {wanted:?}"));
    };
    match &parent.entity.parent {
        Some(above) => invalid(format!(
            "{wanted:?} has a parent itself ({above:?}); only two levels are allowed"
        )),
        None => Ok(()),
    }
}

/// The error for an entity with children; `advice` says what to do.
pub(super) fn has_children(id: &EntityId, advice: &str) -> Error {
    Error::Conflict(format!("entity {id:?} has children; {advice}"))
}

/// The condition that an entity has no children.
pub(super) fn childless() -> Condition {
    attr(CHILDREN).absent().or(attr(CHILDREN).le(0))
}

/// The writes to the old and the new parent, which count the entity as their child. An old parent that is gone, or never
/// counted this child, needs no write.
pub(super) fn writes(
    table: &Name,
    ns: &NamespaceId,
    before: Option<&StoredEntity>,
    after: Option<&Entity>,
    now_ms: i64,
) -> Vec<Write> {
    let mut writes = Vec::new();
    let same = before.map(|stored| &stored.entity.id) == after.map(|parent| &parent.id);
    if let Some(stored) = before.filter(|stored| !same && stored.children > 0) {
        let key = record::key(ns, &stored.entity.id);
        let counted = attr(CHILDREN).ge(1);
        writes.push(Write::update(table.clone(), key, count(-1, now_ms)).when(counted));
    }
    if let Some(parent) = after {
        let key = record::key(ns, &parent.id);
        let is_top_level = attr(PARENT).absent().or(attr(PARENT).is_kind(Kind::Null));
        let can_be_parent = attr("PK").exists().and(is_top_level);
        writes.push(match same {
            true => Write::check(table.clone(), key, can_be_parent),
            false => Write::update(table.clone(), key, count(1, now_ms)).when(can_be_parent),
        });
    }
    writes
}

fn count(by: i64, now_ms: i64) -> Update {
    set(CHILDREN_CHANGED, now_ms).add(CHILDREN, by)
}
