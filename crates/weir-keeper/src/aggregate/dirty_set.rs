//! The set of totals that have to be recomputed. Pure.

use std::collections::BTreeMap;

use weir_table::feed::{Change, Merge};

use crate::day::OrgDay;
use crate::ids::{Label, Scope};
use crate::keys;

/// The total of a model of a scope on a day.
pub(crate) type TotalId = (Scope, Label, OrgDay);

/// Totals whose shards changed, each with the time of the first change, in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DirtySet {
    totals: BTreeMap<TotalId, i64>,
}

impl DirtySet {
    /// The totals that these feed changes affect. Changes of other items are ignored, and so are removed shards: they
    /// were aggregated long before they expired.
    #[must_use]
    pub fn from_changes(changes: &[Change]) -> DirtySet {
        let mut dirty = DirtySet::default();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            let at_ms = i64::try_from(change.first_ms()).unwrap_or(i64::MAX);
            let pk = change.key.partition.to_value();
            let sk = change.key.sort.as_ref().map(weir_table::KeyValue::to_value);
            let shard = pk.as_s().and_then(keys::parse_usage);
            let day = sk.as_ref().and_then(|sk| keys::parse_day(sk.as_s()?));
            if let (Some((scope, label, _)), Some(day)) = (shard, day) {
                dirty.mark(scope, label, day, at_ms);
            }
        }
        dirty
    }

    /// The feed may merge all changes: only the set of changed shards and the first time matter.
    #[must_use]
    pub fn merge() -> Merge {
        Merge { items: |_| true, within_ms: u64::MAX, counted: |_| false }
    }

    /// Marks a total as dirty.
    pub fn mark(&mut self, scope: Scope, label: Label, day: OrgDay, at_ms: i64) {
        let first = self.totals.entry((scope, label, day)).or_insert(at_ms);
        *first = at_ms.min(*first);
    }

    /// Adds all entries of another set.
    pub fn add(&mut self, other: DirtySet) {
        for ((scope, label, day), at_ms) in other.totals {
            self.mark(scope, label, day, at_ms);
        }
    }

    /// Number of dirty totals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.totals.len()
    }

    /// Whether nothing is dirty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.totals.is_empty()
    }

    /// All dirty totals with the time of their first change, grouped by scope.
    pub fn iter(&self) -> impl Iterator<Item = (&Scope, &Label, OrgDay, i64)> {
        self.totals.iter().map(|((scope, label, day), at_ms)| (scope, label, *day, *at_ms))
    }

    /// The scopes and days of all dirty totals.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = (&Scope, OrgDay)> {
        let mut seen = std::collections::BTreeSet::new();
        let all = self.totals.keys().map(|(scope, _, day)| (scope, *day));
        all.filter(move |one| seen.insert(*one))
    }
}

#[cfg(test)]
mod tests {
    use weir_table::{Item, Key};

    use super::*;
    use crate::ids::OrgId;

    const ORG: &str = "550e8400-e29b-41d4-a716-446655440000";

    fn change(key: Key, at_ms: u64, new: Option<Item>) -> Change {
        let (new, position) = (new.map(Into::into), "".into());
        Change {
            table: "t".into(),
            key,
            old: None,
            new,
            at_ms,
            expired: false,
            position,
            merged: None,
        }
    }

    #[test]
    fn changes_of_one_model_mark_it_once() {
        let scope = Scope::Org(OrgId::new(ORG).unwrap());
        let label = Label::new("premium").unwrap();
        let day = OrgDay::from_compact("20260123").unwrap();
        let at = |shard| keys::usage(&scope, &label, shard, day);
        let dirty = DirtySet::from_changes(&[
            change(at(3), 70, Some(Item::new())),
            change(at(1), 50, Some(Item::new())),
            change(at(1), 60, Some(Item::new())),
            change(at(2), 10, None),
            change(Key::new("ORGS", "x"), 5, Some(Item::new())),
            change(Key::partition("REQ#x"), 5, Some(Item::new())),
        ]);
        assert_eq!(dirty.iter().collect::<Vec<_>>(), [(&scope, &label, day, 50)]);
        let mut both = DirtySet::default();
        both.mark(scope.clone(), label.clone(), day, 40);
        both.mark(scope.clone(), Label::new("standard").unwrap(), day, 40);
        both.add(dirty);
        assert_eq!((both.len(), both.scopes().count()), (2, 1));
    }
}
