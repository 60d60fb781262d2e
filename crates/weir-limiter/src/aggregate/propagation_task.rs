//! A propagation task: live buckets must get new limits or a new parent. Its item is `{ns}/ERRAND#…`, indexed by due time.
//!
//! A task waits a little before it runs, because buckets are found through indexes that lag. A setting that changes again
//! meanwhile raises the task's version and drops its cursor, so the task starts over; it is deleted only at the version that
//! ran to its end.

use weir_table::expr::{add, attr, set};
use weir_table::feed::Change;
use weir_table::{Item, Key, KeyValue, Name, Write};

use crate::ids::{EntityId, NamespaceId, Resource};
use crate::item::{CASCADE, PARENT};
use crate::keys;

/// How long a task waits for lagging indexes. Buckets that are created later find the new setting themselves.
pub(crate) const INDEX_LAG_MS: i64 = 5_000;

const VERSION: &str = "version";
const CURSOR: &str = "cursor";

/// The buckets that a setting applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PropagationScope {
    /// All buckets of the namespace.
    Namespace,
    /// All buckets of a resource.
    Resource(Resource),
    /// All buckets of an entity.
    Entity(EntityId),
}

/// A task to bring live buckets up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PropagationTask {
    pub(super) ns: NamespaceId,
    pub(super) scope: PropagationScope,
    pub(super) version: i64,
    /// Where to continue.
    pub(super) cursor: Option<String>,
}

impl PropagationTask {
    pub(super) fn decode(item: &Item) -> Option<PropagationTask> {
        let (ns, scope) = keys::parse_propagation_task(item.s("PK")?)?;
        let cursor = item.s(CURSOR).map(str::to_owned);
        Some(PropagationTask { ns, scope, version: item.i64(VERSION)?, cursor })
    }

    fn key(&self) -> Key {
        keys::propagation_task(&self.ns, &self.scope)
    }

    /// Stores the cursor, unless the task starts over.
    pub(super) fn advance(&self, table: Name, cursor: &str) -> Write {
        let unchanged = attr(VERSION).eq(self.version);
        Write::update(table, self.key(), set(CURSOR, cursor)).when(unchanged)
    }

    /// Deletes the task, unless it starts over.
    pub(super) fn complete(&self, table: Name) -> Write {
        Write::delete(table, self.key()).when(attr(VERSION).eq(self.version))
    }
}

/// Schedules a task, or makes an existing one start over. The due time stays, or a task that is scheduled again and again
/// would never run.
pub(super) fn schedule(
    table: Name,
    ns: &NamespaceId,
    scope: &PropagationScope,
    now_ms: i64,
) -> Write {
    let due_ms = now_ms.saturating_add(INDEX_LAG_MS);
    let key = keys::propagation_task(ns, scope);
    let partition = key.partition.to_value();
    let update = add(VERSION, 1)
        .remove(CURSOR)
        .set_if_absent("GSI2PK", keys::gsi2_propagation_tasks())
        .set_if_absent("GSI2SK", keys::gsi2_propagation_task(due_ms, ns, scope))
        .set_if_absent("GSI4PK", ns.as_str())
        .set_if_absent("GSI4SK", partition);
    Write::update(table, key, update)
}

/// The scope that a change must be propagated to, if any.
pub(super) fn required_by(
    change: &Change,
) -> weir_table::Result<Option<(NamespaceId, PropagationScope)>> {
    let (KeyValue::S(pk), Some(KeyValue::S(sk))) = (&change.key.partition, &change.key.sort) else {
        return Ok(None);
    };
    let Some((ns, scope, setting)) = keys::parse_setting(pk, sk) else { return Ok(None) };
    let differs = match setting {
        keys::Setting::Limits => limits_differ(change)?,
        keys::Setting::Cascade => cascade_differs(change)?,
    };
    Ok(differs.then_some((ns, scope)))
}

fn limits_differ(change: &Change) -> weir_table::Result<bool> {
    let (old, new) = change.pick(|name| name.starts_with("l_"))?;
    Ok(old.unwrap_or_default() != new.unwrap_or_default())
}

fn cascade_differs(change: &Change) -> weir_table::Result<bool> {
    let cascade = |item: Option<Item>| {
        let item = item?;
        let cascade = item.get(CASCADE).and_then(weir_table::Value::as_bool).unwrap_or_default();
        Some((cascade, item.s(PARENT).map(str::to_owned)))
    };
    let (old, new) = change.pick(|name| name == CASCADE || name == PARENT)?;
    // An entity that was created or deleted has buckets only if they were made before it.
    Ok(cascade(old) != cascade(new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(pk: &str, sk: &str, old: Option<Item>, new: Option<Item>) -> Change {
        let key = Key::new(pk, sk);
        let position = "1".into();
        let (old, new) = (old.map(Into::into), new.map(Into::into));
        Change {
            table: "t".into(),
            key,
            old,
            new,
            at_ms: 0,
            expired: false,
            position,
            merged: None,
        }
    }

    #[test]
    fn only_changes_that_affect_buckets_are_propagated() {
        let limit = |capacity: i64| Some(Item::new().with("l_rpm_cp", capacity));
        let version =
            |item: Option<Item>, version: i64| Some(item?.with("config_version", version));
        let meta = |name: &str, parent: &str| {
            Some(Item::new().with("name", name).with(CASCADE, true).with(PARENT, parent))
        };
        let ns = "abcdefghijk";
        let changes = [
            change(&format!("{ns}/SYSTEM#"), "#CONFIG", None, limit(5)),
            change(&format!("{ns}/RESOURCE#gpt-4"), "#CONFIG", limit(5), None),
            change(&format!("{ns}/RESOURCE#gpt-4"), "#CONFIG", None, limit(6)),
            change(&format!("{ns}/RESOURCE#same"), "#CONFIG", limit(5), version(limit(5), 2)),
            change(&format!("{ns}/ENTITY#a"), "#CONFIG#gpt-4", limit(5), limit(6)),
            change(&format!("{ns}/ENTITY#b"), "#META", meta("x", "p"), meta("x", "q")),
            change(&format!("{ns}/ENTITY#c"), "#META", meta("x", "p"), meta("y", "p")),
            change(&format!("{ns}/ENTITY#d"), "#USAGE#gpt-4#2026-01", None, limit(1)),
            change("_/SYSTEM#", "#VERSION", None, limit(1)),
        ];
        let tasks: std::collections::BTreeSet<_> =
            changes.iter().filter_map(|change| required_by(change).unwrap()).collect();
        let keys: Vec<String> = tasks
            .iter()
            .map(|(ns, scope)| match &schedule("t".into(), ns, scope, 0).action {
                weir_table::request::Action::Update(key, _) => key.to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = ["SYSTEM", "RESOURCE#gpt-4", "ENTITY#a", "ENTITY#b"];
        assert_eq!(keys, expected.map(|tail| format!("{ns}/ERRAND#{tail} | #ERRAND")));
    }
}
