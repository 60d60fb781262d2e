//! Rollups as items.

use weir_calendar::Day;
use weir_table::Item;
use weir_table::expr::{Condition, attr};

use crate::error::Result;
use crate::fields::Fields;
use crate::ids::UserId;
use crate::item::{Data, UPDATED, VERSION, data, entity};
use crate::keys::{self, List, find};
use crate::kinds::{Action, EntityType};
use crate::plans::count_of;
use crate::table::TTL;

/// How often each action was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageCounts {
    /// Hints given.
    pub hints: u64,
    /// Executions of code.
    pub executions: u64,
}

impl UsageCounts {
    /// All actions together.
    #[must_use]
    pub fn total(self) -> u64 {
        self.hints.saturating_add(self.executions)
    }

    /// Of both together.
    #[must_use]
    pub fn plus(self, other: UsageCounts) -> UsageCounts {
        UsageCounts {
            hints: self.hints.saturating_add(other.hints),
            executions: self.executions.saturating_add(other.executions),
        }
    }

    /// Without `other`; never below zero.
    #[must_use]
    pub fn minus(self, other: UsageCounts) -> UsageCounts {
        UsageCounts {
            hints: self.hints.saturating_sub(other.hints),
            executions: self.executions.saturating_sub(other.executions),
        }
    }

    /// The counters of a user and a day among `items`; `None` if there are none, because nothing was used or they expired.
    pub(super) fn of_counters(items: &[Item], user: &UserId, day: Day) -> Option<UsageCounts> {
        let counter = |action| find(items, &keys::action_count(user, day, action));
        let (hints, executions) = (counter(Action::Hint), counter(Action::Execution));
        hints.or(executions)?;
        Some(UsageCounts { hints: count_of(hints), executions: count_of(executions) })
    }

    fn read(item: &Item) -> Result<UsageCounts> {
        let fields = Fields::of(item)?;
        let count =
            |name: &str| u64::try_from(fields.number(name)?).map_err(|_| fields.wrong(name));
        Ok(UsageCounts { hints: count("hints")?, executions: count("executions")? })
    }

    fn data(self) -> Data {
        Data::new().with("hints", self.hints).with("executions", self.executions)
    }
}

/// The rollup of a user and a day.
pub(super) fn user_item(
    (day, user): (Day, &UserId),
    counts: UsageCounts,
    (now_s, expires_s): (i64, i64),
) -> Item {
    let key = keys::user_rollup(day, user);
    let item = entity(key, EntityType::UserRollup, counts.data(), now_s).with(TTL, expires_s);
    List::top_user(day, counts.total(), user).index.put_on(item)
}

/// The rollup of a user is what it was when it was read.
pub(super) fn still(before: Option<UsageCounts>) -> Condition {
    match before {
        None => attr("PK").absent(),
        Some(UsageCounts { hints, executions }) => {
            data("hints").eq(hints).and(data("executions").eq(executions))
        }
    }
}

/// Reads the rollup of a user and a day.
pub(super) fn read_user(item: &Item) -> Result<UsageCounts> {
    UsageCounts::read(item)
}

/// The rollup of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DayRollup {
    pub(super) counts: UsageCounts,
    pub(super) active_users: u64,
    pub(super) created_s: Option<i64>,
    pub(super) version: Option<i64>,
}

impl DayRollup {
    pub(super) fn read(item: Option<&Item>) -> Result<DayRollup> {
        let Some(item) = item else { return Ok(DayRollup::default()) };
        let users = Fields::of(item)?.number("users")?;
        Ok(DayRollup {
            counts: UsageCounts::read(item)?,
            active_users: u64::try_from(users).unwrap_or_default(),
            created_s: Some(Fields::of(item)?.created_s()?),
            version: item.i64(VERSION),
        })
    }

    pub(super) fn to_item(self, day: Day, (now_s, expires_s): (i64, i64)) -> Item {
        let data = self.counts.data().with("users", self.active_users);
        let created_s = self.created_s.unwrap_or(now_s);
        entity(keys::rollup(day), EntityType::UsageRollup, data, created_s)
            .with(UPDATED, now_s)
            .with(TTL, expires_s)
            .with(VERSION, self.version.unwrap_or_default() + 1)
    }
}
