//! Names a record on either side.

use weir_calendar::Day;
use weir_table::event_ids::derived_number;
use weir_table::{Item, Key};

use super::entity::Entity;
use crate::ids::{EventId, HistoryId, PlanId, ProblemRef, TestCaseId, UserId};
use crate::keys::{self, META};
use crate::kinds::Action;

/// Names a record. Keys of one kind sort together, those that others refer to first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKey {
    /// A plan.
    Plan(PlanId),
    /// A user.
    User(UserId),
    /// A problem.
    Problem(ProblemRef),
    /// A test case of a problem.
    TestCase(ProblemRef, TestCaseId),
    /// A recorded run.
    Run(HistoryId),
    /// An action of a user.
    Usage {
        /// The user.
        user: UserId,
        /// The day on which it counts.
        day: Day,
        /// When it was done, in milliseconds since 1970.
        at_ms: i64,
        /// The action.
        action: Action,
        /// The id.
        id: EventId,
    },
}

impl RecordKey {
    /// The kind.
    #[must_use]
    pub fn entity(&self) -> Entity {
        match self {
            RecordKey::Plan(_) => Entity::Plans,
            RecordKey::User(_) => Entity::Users,
            RecordKey::Problem(_) => Entity::Problems,
            RecordKey::TestCase(..) => Entity::TestCases,
            RecordKey::Run(_) => Entity::History,
            RecordKey::Usage { .. } => Entity::Usage,
        }
    }

    /// The key of its item.
    #[must_use]
    pub fn table_key(&self) -> Key {
        match self {
            RecordKey::Plan(id) => keys::plan(*id),
            RecordKey::User(id) => keys::user(id),
            RecordKey::Problem(at) => keys::problem(at),
            RecordKey::TestCase(at, id) => keys::test_case(at, id),
            RecordKey::Run(id) => keys::history(id),
            RecordKey::Usage { user, day, at_ms, action, id } => {
                keys::usage_log(user, *day, *at_ms, *action, id)
            }
        }
    }

    /// The record of an item; `None` for items that are no records.
    #[must_use]
    pub fn of_item(item: &Item) -> Option<RecordKey> {
        RecordKey::parse(item.s("PK")?, item.s("SK")?)
    }

    /// The record with a key; `None` for keys of other items.
    #[must_use]
    pub fn parse(partition: &str, sort: &str) -> Option<RecordKey> {
        if sort == META {
            return keys::parse_plan(partition)
                .map(RecordKey::Plan)
                .or_else(|| keys::parse_problem(partition).map(RecordKey::Problem))
                .or_else(|| keys::parse_history(partition).map(RecordKey::Run))
                .or_else(|| keys::parse_user(partition).map(RecordKey::User));
        }
        if let Some(at) = keys::parse_problem(partition) {
            return Some(RecordKey::TestCase(at, keys::parse_test_case(sort)?));
        }
        let (user, day) = keys::parse_usage_day(partition)?;
        let (at_ms, action, id) = keys::parse_usage_log(sort)?;
        Some(RecordKey::Usage { user, day, at_ms, action, id: id? })
    }

    /// The id of the row, if the id of the record derives from it.
    #[must_use]
    pub fn derived_row(&self) -> Option<i64> {
        match self {
            RecordKey::Plan(id) => i64::try_from(id.get()).ok(),
            RecordKey::User(id) => row_number(id.as_str()),
            RecordKey::TestCase(_, id) => row_number(id.as_str()),
            RecordKey::Run(id) => row_number(id.as_str()),
            RecordKey::Usage { id, .. } => i64::try_from(derived_number(id.as_str())?).ok(),
            RecordKey::Problem(_) => None,
        }
    }

    /// The id of the record, unique among those of its kind.
    #[must_use]
    pub fn id_text(&self) -> String {
        match self {
            RecordKey::Plan(id) => id.to_string(),
            RecordKey::User(id) => id.to_string(),
            RecordKey::Problem(at) => at.to_string(),
            RecordKey::TestCase(at, id) => format!("{at}/{id}"),
            RecordKey::Run(id) => id.to_string(),
            RecordKey::Usage { user, id, .. } => format!("{user}/{id}"),
        }
    }
}

impl std::fmt::Display for RecordKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.entity(), self.id_text())
    }
}

/// The number of an id that is one, in its one form.
pub(super) fn row_number(id: &str) -> Option<i64> {
    id.parse::<i64>().ok().filter(|number| *number > 0 && number.to_string() == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Platform, ProblemId};

    #[test]
    fn keys_are_read_back() {
        let user = UserId::new("12").unwrap();
        let at = ProblemRef {
            platform: Platform::new("baekjoon").unwrap(),
            id: ProblemId::new("1000").unwrap(),
        };
        let id = EventId::new(weir_table::event_ids::derived(1_759_917_600_123, 9)).unwrap();
        let day = Day::from_compact("20251008").unwrap();
        let usage = RecordKey::Usage {
            user: user.clone(),
            day,
            at_ms: 1_759_917_600_123,
            action: Action::Hint,
            id,
        };
        for (key, row) in [
            (RecordKey::Plan(PlanId::PRO), Some(2)),
            (RecordKey::User(user), Some(12)),
            (RecordKey::Problem(at.clone()), None),
            (RecordKey::TestCase(at, TestCaseId::new("7").unwrap()), Some(7)),
            (RecordKey::Run(HistoryId::new("0007").unwrap()), None),
            (usage, Some(9)),
        ] {
            let table_key = key.table_key();
            let item = keys::item(table_key);
            assert_eq!(RecordKey::of_item(&item).as_ref(), Some(&key));
            assert_eq!(key.derived_row(), row, "{key}");
        }
        for other in [keys::plan_users(PlanId::PRO), keys::plan_sequence(), keys::feed_days()] {
            assert_eq!(RecordKey::of_item(&keys::item(other)), None);
        }
    }
}
