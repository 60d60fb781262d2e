//! Imports log items of a user. A transaction has log items of one day, all of them new, and the counters; so counters equal
//! the log whenever an import stops.

use std::collections::BTreeMap;

use weir_calendar::Day;
use weir_table::expr::attr;
use weir_table::limits::TRANSACT_MAX;
use weir_table::retry::{TRIES_MAX, pause};
use weir_table::{Backend, Key, Transacted, Value, Verdict, Write};

use super::request::UsageRequest;
use super::take::latest_day;
use crate::error::{Error, Result};
use crate::ids::{EventId, ProblemId, UserId};
use crate::item::{COUNT, TYPE};
use crate::keys::{self, key_of};
use crate::kinds::{Action, EntityType};
use crate::practice::Practice;

/// Log items of a transaction; beside them are the user, the latest day and a counter for each action.
const TOGETHER_MAX: usize = TRANSACT_MAX - 2 - Action::ALL.len();

/// An action of a user, as a record of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    /// The user.
    pub user: UserId,
    /// The id.
    pub id: EventId,
    /// When the action was done, in milliseconds since 1970.
    pub at_ms: i64,
    /// The action.
    pub action: Action,
    /// The problem it was about.
    pub problem_id: Option<ProblemId>,
    /// Further details: a map.
    pub metadata: Option<Value>,
}

impl UsageRecord {
    fn to_request(&self) -> UsageRequest {
        UsageRequest {
            problem_id: self.problem_id.clone(),
            metadata: self.metadata.clone(),
            ..UsageRequest::new(self.action)
        }
    }

    /// Checks a record from elsewhere.
    pub(crate) fn check_import(&self) -> Result<()> {
        self.to_request().check()
    }
}

impl<B: Backend> Practice<B> {
    /// Logs and counts actions of one user that are not logged yet, whatever the plan says. Returns how many were new.
    ///
    /// # Errors
    /// A record is invalid, the user does not exist, or the store fails.
    pub(crate) async fn import_usage(&self, user: &UserId, records: &[UsageRecord]) -> Result<u64> {
        let mut days = BTreeMap::<Day, Vec<&UsageRecord>>::new();
        for record in records {
            record.check_import()?;
            days.entry(self.day_of(record.at_ms)).or_default().push(record);
        }
        let mut created = 0;
        for (day, records) in days {
            for some in records.chunks(TOGETHER_MAX) {
                created += self.import_day(user, day, some).await?;
            }
        }
        Ok(created)
    }

    async fn import_day(&self, user: &UserId, day: Day, records: &[&UsageRecord]) -> Result<u64> {
        let mut new = records.to_vec();
        for attempt in 0..TRIES_MAX {
            pause(attempt).await;
            if attempt > 0 {
                new = self.not_logged(day, records).await?;
            }
            if new.is_empty() {
                return Ok(0);
            }
            let writes = self.import_writes_of_day(user, day, &new).await?;
            match self.transact(writes).await? {
                Transacted::Applied => return Ok(new.len() as u64),
                Transacted::Refused(verdicts) => {
                    // The log of a deleted user stays, and gets no more items.
                    if matches!(verdicts.first(), Some(Verdict::Failed(_)))
                        && !self.not_logged(day, records).await?.is_empty()
                    {
                        return Err(Error::not_found("user", user));
                    }
                }
            }
        }
        Err(Error::Contended)
    }

    async fn import_writes_of_day(
        &self,
        user: &UserId,
        day: Day,
        new: &[&UsageRecord],
    ) -> Result<Vec<Write>> {
        let is_user = attr(TYPE).eq(EntityType::User.as_str());
        let mut writes = vec![Write::check(self.table().clone(), keys::user(user), is_user)];
        let last_ms = new.iter().map(|record| record.at_ms).max().unwrap_or_default();
        let latest = latest_day(self.item(keys::latest_day(user)).await?.as_ref());
        if latest.is_none_or(|latest| latest < day) {
            writes.push(self.new_day_write(user, day, last_ms));
        }
        for action in Action::ALL {
            let count = new.iter().filter(|record| record.action == *action).count();
            if count > 0 {
                let update = self.counter_update(day, last_ms).add(COUNT, count as u64);
                let key = keys::action_count(user, day, *action);
                writes.push(Write::update(self.table().clone(), key, update));
            }
        }
        for record in new {
            let item = self.log_item((user, &record.id), &record.to_request(), day, record.at_ms);
            let put = Write::put(self.table().clone(), item);
            writes.push(put.when(attr("PK").absent()));
        }
        Ok(writes)
    }

    /// The records that are not in the log yet.
    async fn not_logged<'a>(
        &self,
        day: Day,
        records: &[&'a UsageRecord],
    ) -> Result<Vec<&'a UsageRecord>> {
        let stored = self.items(records.iter().map(|one| log_key(one, day)).collect()).await?;
        let stored: std::collections::BTreeSet<_> =
            stored.iter().filter_map(key_of).map(|key| key.to_string()).collect();
        let is_new = |one: &&&UsageRecord| !stored.contains(&log_key(one, day).to_string());
        Ok(records.iter().filter(is_new).copied().collect())
    }
}

fn log_key(record: &UsageRecord, day: Day) -> Key {
    keys::usage_log(&record.user, day, record.at_ms, record.action, &record.id)
}
