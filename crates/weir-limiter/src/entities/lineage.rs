//! Who may be whose parent, and the writes that keep it so.

use weir_table::expr::{Condition, Update, attr, set};
use weir_table::{Kind, Name, Write};

use super::Entity;
use super::record::{self, CHILDREN, CHILDREN_CHANGED, Kept};
use crate::error::{Error, Result};
use crate::ids::{EntityId, NamespaceId};
use crate::item::PARENT;

/// Checks that an entity may have its parent. `parent` is that parent as it was read.
pub(super) fn check(entity: &Entity, parent: Option<&Kept>) -> Result<()> {
    let Some(wanted) = &entity.parent else { return Ok(()) };
    let id = &entity.id;
    let wrong = |problem: String| Err(Error::invalid("parent", problem));
    if wanted == id {
        return wrong(format!("{id:?} cannot be its own parent"));
    }
    let Some(parent) = parent else {
        return wrong(format!("there is no entity {wanted:?}"));
    };
    match &parent.entity.parent {
        Some(above) => {
            wrong(format!("{wanted:?} has a parent itself, {above:?}; there are two levels only"))
        }
        None => Ok(()),
    }
}

/// What an entity with children cannot get or do.
pub(super) fn has_children(id: &EntityId, so: &str) -> Error {
    Error::Conflict(format!("entity {id:?} has children; {so}"))
}

/// Holds while an entity has no children.
pub(super) fn childless() -> Condition {
    attr(CHILDREN).absent().or(attr(CHILDREN).le(0))
}

/// The writes to the old and the new parent, which count the entity as their child. Each parent is given as it was read; an
/// old one that is gone, or that never counted this child, needs no write.
pub(super) fn writes(
    table: &Name,
    ns: &NamespaceId,
    before: Option<&Kept>,
    after: Option<&Entity>,
    now_ms: i64,
) -> Vec<Write> {
    let mut writes = Vec::new();
    let same = before.map(|kept| &kept.entity.id) == after.map(|parent| &parent.id);
    if let Some(kept) = before.filter(|kept| !same && kept.children > 0) {
        let key = record::key(ns, &kept.entity.id);
        let counted = attr(CHILDREN).ge(1);
        writes.push(Write::update(table.clone(), key, count(-1, now_ms)).when(counted));
    }
    if let Some(parent) = after {
        let key = record::key(ns, &parent.id);
        let on_top = attr(PARENT).absent().or(attr(PARENT).is_kind(Kind::Null));
        let may_be = attr("PK").exists().and(on_top);
        writes.push(match same {
            true => Write::check(table.clone(), key, may_be),
            false => Write::update(table.clone(), key, count(1, now_ms)).when(may_be),
        });
    }
    writes
}

fn count(by: i64, now_ms: i64) -> Update {
    set(CHILDREN_CHANGED, now_ms).add(CHILDREN, by)
}
