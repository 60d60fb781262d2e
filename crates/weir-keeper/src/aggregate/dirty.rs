//! What has to be summed up again. Pure.

use std::collections::BTreeMap;

use weir_table::feed::{Change, Merge};

use crate::day::OrgDay;
use crate::ids::{Label, Scope};
use crate::keys;

/// A model of a scope on a day.
pub(crate) type Spot = (Scope, Label, OrgDay);

/// Models whose counters changed, each with when that was first, in milliseconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dirty {
    spots: BTreeMap<Spot, i64>,
}

impl Dirty {
    /// What these changes of counters make dirty. Changes of other items are passed over, and so are counters that were
    /// removed: they were summed up long ago.
    #[must_use]
    pub fn of(changes: &[Change]) -> Dirty {
        let mut dirty = Dirty::default();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            let at_ms = i64::try_from(change.first_ms()).unwrap_or(i64::MAX);
            let pk = change.key.partition.to_value();
            let sk = change.key.sort.as_ref().map(weir_table::KeyValue::to_value);
            let spot = pk.as_s().and_then(keys::parse_usage);
            let day = sk.as_ref().and_then(|sk| keys::parse_day(sk.as_s()?));
            if let (Some((scope, label, _)), Some(day)) = (spot, day) {
                dirty.mark(scope, label, day, at_ms);
            }
        }
        dirty
    }

    /// Which changes may be told as one: all, because it matters only which counters changed and when first.
    #[must_use]
    pub fn merge() -> Merge {
        Merge { items: |_| true, within_ms: u64::MAX, counted: |_| false }
    }

    /// Marks a model.
    pub fn mark(&mut self, scope: Scope, label: Label, day: OrgDay, at_ms: i64) {
        let first = self.spots.entry((scope, label, day)).or_insert(at_ms);
        *first = at_ms.min(*first);
    }

    /// Marks all that is marked in the other.
    pub fn add(&mut self, other: Dirty) {
        for ((scope, label, day), at_ms) in other.spots {
            self.mark(scope, label, day, at_ms);
        }
    }

    /// How many models are marked.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spots.is_empty()
    }

    /// All that is marked, with when that was first: those of one scope one after the other.
    pub fn iter(&self) -> impl Iterator<Item = (&Scope, &Label, OrgDay, i64)> {
        self.spots.iter().map(|((scope, label, day), at_ms)| (scope, label, *day, *at_ms))
    }

    /// Scopes and days with a model that is marked.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = (&Scope, OrgDay)> {
        let mut seen = std::collections::BTreeSet::new();
        let all = self.spots.keys().map(|(scope, _, day)| (scope, *day));
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
    fn changes_of_one_model_make_it_dirty_once() {
        let scope = Scope::Org(OrgId::new(ORG).unwrap());
        let label = Label::new("premium").unwrap();
        let day = OrgDay::from_compact("20260123").unwrap();
        let at = |shard| keys::usage(&scope, &label, shard, day);
        let dirty = Dirty::of(&[
            change(at(3), 70, Some(Item::new())),
            change(at(1), 50, Some(Item::new())),
            change(at(1), 60, Some(Item::new())),
            change(at(2), 10, None),
            change(Key::new("ORGS", "x"), 5, Some(Item::new())),
            change(Key::partition("REQ#x"), 5, Some(Item::new())),
        ]);
        assert_eq!(dirty.iter().collect::<Vec<_>>(), [(&scope, &label, day, 50)]);
        let mut both = Dirty::default();
        both.mark(scope.clone(), label.clone(), day, 40);
        both.mark(scope.clone(), Label::new("standard").unwrap(), day, 40);
        both.add(dirty);
        assert_eq!((both.len(), both.scopes().count()), (2, 1));
    }
}
