//! A note that live buckets are to be brought to what holds: `{ns}/ERRAND#…`, found through an index by when it is due.
//!
//! It waits a little before it is run, because buckets are found through indexes and those lag. A config that changes again
//! meanwhile raises the errand's version and takes away its cursor, so the run begins anew; an errand is removed only at the
//! version that was run to its end.

use weir_table::expr::{add, attr, set};
use weir_table::feed::Change;
use weir_table::{Item, Key, KeyValue, Name, Write};

use crate::ids::{EntityId, NamespaceId, Resource};
use crate::item::{CASCADE, PARENT};
use crate::keys;

/// How long indexes may lag before buckets are missed. What is made later finds the new config by itself.
pub(crate) const SETTLE_MS: i64 = 5_000;

const VERSION: &str = "version";
const CURSOR: &str = "cursor";

/// Whose buckets an errand reaches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// All of the namespace.
    All,
    /// All of a resource.
    Resource(Resource),
    /// All of an entity.
    Entity(EntityId),
}

/// A note that is to be worked off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Errand {
    pub(super) ns: NamespaceId,
    pub(super) whose: Whose,
    pub(super) version: i64,
    /// Where to go on.
    pub(super) cursor: Option<String>,
}

impl Errand {
    pub(super) fn decode(item: &Item) -> Option<Errand> {
        let (ns, whose) = keys::parse_errand(item.s("PK")?)?;
        let cursor = item.s(CURSOR).map(str::to_owned);
        Some(Errand { ns, whose, version: item.i64(VERSION)?, cursor })
    }

    fn key(&self) -> Key {
        keys::errand(&self.ns, &self.whose)
    }

    /// Notes how far it was run, unless it begins anew.
    pub(super) fn goes_on(&self, table: Name, cursor: &str) -> Write {
        let unchanged = attr(VERSION).eq(self.version);
        Write::update(table, self.key(), set(CURSOR, cursor)).when(unchanged)
    }

    /// Removes it, unless it begins anew.
    pub(super) fn ends(&self, table: Name) -> Write {
        Write::delete(table, self.key()).when(attr(VERSION).eq(self.version))
    }
}

/// Notes an errand, or that one begins anew. When it is due does not move, or one that is noted again and again would
/// never be run.
pub(super) fn write(table: Name, ns: &NamespaceId, whose: &Whose, now_ms: i64) -> Write {
    let due_ms = now_ms.saturating_add(SETTLE_MS);
    let key = keys::errand(ns, whose);
    let partition = key.partition.to_value();
    let update = add(VERSION, 1)
        .remove(CURSOR)
        .set_if_absent("GSI2PK", keys::gsi2_errands())
        .set_if_absent("GSI2SK", keys::gsi2_errand(due_ms, ns, whose))
        .set_if_absent("GSI4PK", ns.as_str())
        .set_if_absent("GSI4SK", partition);
    Write::update(table, key, update)
}

/// The errand that a change asks for, if it does.
pub(super) fn asked(change: &Change) -> weir_table::Result<Option<(NamespaceId, Whose)>> {
    let (KeyValue::S(pk), Some(KeyValue::S(sk))) = (&change.key.partition, &change.key.sort) else {
        return Ok(None);
    };
    let Some((ns, whose, setting)) = keys::parse_setting(pk, sk) else { return Ok(None) };
    let differs = match setting {
        keys::Setting::Config => limits_differ(change)?,
        keys::Setting::Family => family_differs(change)?,
    };
    Ok(differs.then_some((ns, whose)))
}

fn limits_differ(change: &Change) -> weir_table::Result<bool> {
    let (old, new) = change.pick(|name| name.starts_with("l_"))?;
    Ok(old.unwrap_or_default() != new.unwrap_or_default())
}

fn family_differs(change: &Change) -> weir_table::Result<bool> {
    let family = |item: Option<Item>| {
        let item = item?;
        let cascade = item.get(CASCADE).and_then(weir_table::Value::as_bool).unwrap_or_default();
        Some((cascade, item.s(PARENT).map(str::to_owned)))
    };
    let (old, new) = change.pick(|name| name == CASCADE || name == PARENT)?;
    // An entity that is new or gone has buckets only if they were made before it.
    Ok(family(old) != family(new))
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
    fn only_changes_that_reach_buckets_are_noted() {
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
        let asked: std::collections::BTreeSet<_> =
            changes.iter().filter_map(|change| asked(change).unwrap()).collect();
        let keys: Vec<String> = asked
            .iter()
            .map(|(ns, whose)| match &write("t".into(), ns, whose, 0).action {
                weir_table::request::Action::Update(key, _) => key.to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = ["SYSTEM", "RESOURCE#gpt-4", "ENTITY#a", "ENTITY#b"];
        assert_eq!(keys, expected.map(|tail| format!("{ns}/ERRAND#{tail} | #ERRAND")));
    }
}
