//! The users whose rollup of a day has to be computed again. Pure.

use std::collections::{BTreeMap, BTreeSet};

use weir_calendar::Day;
use weir_table::KeyValue;
use weir_table::feed::{Change, Merge};

use crate::ids::UserId;
use crate::keys;

/// Users whose counters changed, by day.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageDirtySet {
    days: BTreeMap<Day, BTreeSet<UserId>>,
}

impl UsageDirtySet {
    /// The users whose counters these changes affect. Changes of other items are ignored, and so are removed counters: they
    /// expire long after they were rolled up.
    #[must_use]
    pub fn from_changes(changes: &[Change]) -> UsageDirtySet {
        let mut dirty = UsageDirtySet::default();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            let partition = change.key.partition.to_value();
            let sort = change.key.sort.as_ref().map(KeyValue::to_value);
            let counted = sort.as_ref().and_then(|sort| keys::parse_action_count(sort.as_s()?));
            let owner = partition.as_s().and_then(keys::parse_usage_day);
            if let (Some(_), Some((user, day))) = (counted, owner) {
                dirty.mark(day, user);
            }
        }
        dirty
    }

    /// The feed may merge all changes: only the set of changed counters matters.
    #[must_use]
    pub fn merge() -> Merge {
        Merge { items: |_| true, within_ms: u64::MAX, counted: |_| false }
    }

    /// Marks a user of a day.
    pub fn mark(&mut self, day: Day, user: UserId) {
        self.days.entry(day).or_default().insert(user);
    }

    /// Adds all entries of another set.
    pub fn add(&mut self, other: UsageDirtySet) {
        for (day, users) in other.days {
            self.days.entry(day).or_default().extend(users);
        }
    }

    /// Number of users and days.
    #[must_use]
    pub fn len(&self) -> usize {
        self.days.values().map(BTreeSet::len).sum()
    }

    /// Whether nothing is dirty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    /// The days, each with its users.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Day, Vec<UserId>)> + '_ {
        self.days.iter().map(|(day, users)| (*day, users.iter().cloned().collect()))
    }
}
